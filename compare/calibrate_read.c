/* Trials out of a result file. */
#include <math.h>
#include <string.h>

#include "calibrate.h"
#include "copies.h"
#include "machine.h"

struct reader {
    sm_trial_next *next;
    void *state;
    struct sm_calibration *to; /* or NULL */
    struct sm_rounds_options options;
    json_t *machine;
    char *why;
    size_t why_bytes;
    int bad;
};

/* -1: no list of numbers, or too long a one. */
static int read_numbers(const json_t *list, double *to, size_t *count)
{
    *count = json_array_size(list);
    if (!json_is_array(list) || *count > SM_LAUNCHES_MOST) return -1;
    for (size_t i = 0; i < *count; i++) {
        to[i] = json_number_value(json_array_get(list, i));
        if (!json_is_number(json_array_get(list, i)) || !isfinite(to[i])) return -1;
    }
    return 0;
}

/* The verdict is worked out again from the launches, as many as today's rules take. -1: the record makes no sense. */
static int decide(struct reader *r, const json_t *j, struct sm_trial *t)
{
    double d[2][SM_LAUNCHES_MOST];
    size_t count[2];
    struct sm_rounds_options options = r->options;
    if (read_numbers(json_object_get(j, "as_built_log_ratios"), d[0], &count[0]) ||
        read_numbers(json_object_get(j, "log_ratios"), d[1], &count[1]))
        return -1;
    options.place = t->placed ? sm_copies_place : NULL; /* asked only whether it is there */
    for (int half = 0; half < 2; half++)
        for (size_t i = 0; i < count[half] && t->comparison.verdict == SM_VERDICT_OPEN; i++) {
            struct sm_comparison *k = &t->comparison;
            if (k->launches == SM_LAUNCHES_MOST) return -1;
            k->d[k->launches++] = d[half][i];
            sm_rounds_settle(k, &options, 1);
        }
    struct sm_pairing pairing = {&t->comparison, 1};
    struct sm_rounds_result result = {0};
    sm_rounds_decide(&pairing, &options, &result);
    return 0;
}

static int read_trial(void *context, const json_t *record)
{
    struct reader *r = context;
    const json_t *j = json_object_get(record, "trial");
    const char *kind = json_string_value(json_object_get(record, "kind"));
    const char *class = json_string_value(json_object_get(j, "class"));
    struct sm_trial t = {.class = SM_CLASSES, .planted = SM_PLANTED, .seconds = NAN};
    if (!kind || strcmp(kind, "trial")) return 0;
    const json_t *cpu = json_object_get(json_object_get(record, "machine"), "cpu");
    const bool elsewhere = cpu && !json_equal(cpu, json_object_get(r->machine, "cpu"));
    const char *status = json_string_value(json_object_get(record, "status"));
    const bool failed = !status || strcmp(status, "ok");
    if (r->to) r->to->elsewhere += elsewhere;
    if (r->to) r->to->failed += !elsewhere && failed;
    if (failed || (r->to && elsewhere)) return 0;
    for (int i = 0; i < SM_CLASSES; i++)
        if (class && !strcmp(class, sm_class_names[i])) t.class = (enum sm_class)i;
    for (size_t i = 0; i < SM_PLANTED; i++)
        if (json_number_value(json_object_get(j, "planted")) == sm_planted[i]) t.planted = i;
    t.placed = json_is_true(json_object_get(j, "placed"));
    if (json_is_number(json_object_get(j, "seconds"))) t.seconds = json_number_value(json_object_get(j, "seconds"));
    const json_t *load = json_object_get(json_object_get(record, "witnesses"), "load_average");
    if (r->to && json_is_number(load)) {
        r->to->load_least = fmin(r->to->load_least, json_number_value(load));
        r->to->load_most = fmax(r->to->load_most, json_number_value(load));
    }
    r->bad = t.class == SM_CLASSES || t.planted == SM_PLANTED || decide(r, j, &t);
    if (r->bad) snprintf(r->why, r->why_bytes, "a trial in it makes no sense");
    if (!r->bad && r->next(r->state, &t)) {
        r->bad = 1;
        snprintf(r->why, r->why_bytes, "out of memory");
    }
    return r->bad;
}

int sm_trials_read(const char *path, sm_trial_next *next, void *state, struct sm_calibration *to, char *why,
                   size_t why_bytes)
{
    char text[256];
    struct reader r = {next, state, to, sm_calibrate_options(), sm_machine_json(), text, sizeof text, 0};
    struct sm_records_summary summary;
    int bad = sm_records_read(path, read_trial, &r, &summary, why, why_bytes);
    if (!bad && r.bad) {
        snprintf(why, why_bytes, "reading %s: %s", path, text);
        bad = -1;
    }
    json_decref(r.machine);
    return bad;
}
