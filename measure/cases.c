#include "cases.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"

struct sm_cases {
    struct sm_case *items;
    size_t count, capacity;
    json_t *ids; /* to refuse a second case of the same name */
};

struct sm_case_results {
    struct sm_record **records;
    size_t count, capacity;
    const char *out;
    int lost; /* a record could not be kept: no memory */
};

const char *const sm_case_orders[] = {"random", "stated", NULL};

static volatile sig_atomic_t interrupted;

bool sm_cases_interrupted(void)
{
    return interrupted != 0;
}

static void on_signal(int number)
{
    interrupted = 1;
    signal(number, SIG_DFL); /* the second one means it */
}

struct sm_cases *sm_cases_create(void)
{
    struct sm_cases *cases = calloc(1, sizeof *cases);
    if (cases) cases->ids = json_object();
    if (cases && !cases->ids) {
        free(cases);
        cases = NULL;
    }
    return cases;
}

static void free_text(const char *text)
{
    void *memory;
    memcpy(&memory, &text, sizeof memory);
    free(memory);
}

void sm_cases_destroy(struct sm_cases *cases)
{
    if (!cases) return;
    for (size_t i = 0; i < cases->count; i++) {
        free_text(cases->items[i].id);
        free_text(cases->items[i].group);
    }
    json_decref(cases->ids);
    free(cases->items);
    free(cases);
}

int sm_cases_add(struct sm_cases *cases, const char *id, const char *group, double seconds, void *payload)
{
    if (json_object_get(cases->ids, id) || json_object_set_new(cases->ids, id, json_true())) return -1;
    if (cases->count == cases->capacity) {
        const size_t capacity = cases->capacity ? 2 * cases->capacity : 64;
        struct sm_case *grown = realloc(cases->items, capacity * sizeof *grown);
        if (!grown) return -1;
        cases->items = grown;
        cases->capacity = capacity;
    }
    struct sm_case c = {strdup(id), strdup(group), seconds, payload};
    if (!c.id || !c.group) {
        free_text(c.id);
        free_text(c.group);
        return -1;
    }
    cases->items[cases->count++] = c;
    return 0;
}

size_t sm_cases_count(const struct sm_cases *cases)
{
    return cases->count;
}

const struct sm_case *sm_cases_at(const struct sm_cases *cases, size_t i)
{
    return i < cases->count ? &cases->items[i] : NULL;
}

void sm_case_result(struct sm_case_results *results, struct sm_record *record)
{
    if (results->count == results->capacity) {
        const size_t capacity = results->capacity ? 2 * results->capacity : 8;
        struct sm_record **grown = realloc(results->records, capacity * sizeof *grown);
        if (!grown) {
            sm_record_destroy(record);
            results->lost = 1;
            return;
        }
        results->records = grown;
        results->capacity = capacity;
    }
    results->records[results->count++] = record;
    if (!record) results->lost = 1;
}

const char *sm_cases_out(const struct sm_case_results *results)
{
    return results->out;
}

static void forget(struct sm_case_results *results)
{
    for (size_t i = 0; i < results->count; i++) sm_record_destroy(results->records[i]);
    results->count = 0;
}

static int write_out(struct sm_case_results *results, const struct sm_case_options *options, int64_t seed,
                     size_t position, char *why, size_t why_bytes)
{
    if (results->lost) {
        snprintf(why, why_bytes, "cannot keep the records of a case: out of memory");
        return -1;
    }
    for (size_t i = 0; i < results->count; i++) {
        struct sm_record *r = results->records[i];
        sm_record_put_string(r, "order", "order", sm_case_orders[options->order]);
        sm_record_put_json(r, "order", "seed",
                           options->order == SM_CASE_ORDER_RANDOM ? json_integer(seed) : json_null());
        sm_record_put_integer(r, "order", "position", (int64_t)position);
    }
    if (results->count == 0) return 0;
    return sm_records_append(results->records, results->count, results->out, why, why_bytes);
}

FILE *sm_cases_progress(const struct sm_case_options *options)
{
    return options->quiet ? NULL : options->progress;
}

static void list(const struct sm_case_plan *plan, FILE *out)
{
    char text[32];
    for (size_t i = 0; i < plan->count; i++) fprintf(out, "%s\n", plan->cases[i]->id);
    if (plan->seconds > 0)
        fprintf(out, "# %zu cases, about %s\n", plan->count, sm_duration_text(plan->seconds, text, sizeof text));
    else /* nobody has tried how long */
        fprintf(out, "# %zu cases\n", plan->count);
}

static void tell(const struct sm_case_plan *plan, const struct sm_case_options *options)
{
    char text[32];
    FILE *out = sm_cases_progress(options);
    if (!out) return;
    if (plan->torn) fprintf(out, "%s: %zu line(s) cut short were passed over\n", options->resume, plan->torn);
    if (options->resume) fprintf(out, "%s: %zu cases are finished already\n", options->resume, plan->finished);
    if (plan->dropped)
        fprintf(out, "over the budget: %zu cases dropped (about %s), evenly over the families; %zu left\n",
                plan->dropped, sm_duration_text(plan->dropped_seconds, text, sizeof text), plan->count);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int run_planned(const struct sm_case_plan *plan, const struct sm_case_options *options, sm_case_fn *run,
                       void *context, struct sm_case_results *results, char *why, size_t why_bytes)
{
    struct sm_progress progress;
    const double start = now_s();
    double done = 0;
    int code = 0;
    sm_progress_begin(&progress, sm_cases_progress(options), plan->seconds);
    for (size_t i = 0; i < plan->count && !interrupted && code != 2; i++) {
        const struct sm_case *c = plan->cases[i];
        if (options->budget > 0 && now_s() - start >= options->budget) {
            sm_progress_clear(&progress);
            if (sm_cases_progress(options))
                fprintf(sm_cases_progress(options), "budget spent: %zu cases not run\n", plan->count - i);
            break;
        }
        char text[200];
        snprintf(text, sizeof text, "%zu/%zu  %s", i + 1, plan->count, c->id);
        sm_progress_show(&progress, done, text);
        const enum sm_case_outcome outcome = run(context, c, results, why, why_bytes);
        sm_progress_clear(&progress);
        if (outcome == SM_CASE_BROKEN)
            code = 2;
        else if (outcome != SM_CASE_DROPPED && write_out(results, options, plan->seed, i, why, why_bytes))
            code = 2;
        else if (outcome == SM_CASE_WRONG)
            code = 1;
        forget(results);
        done += c->seconds;
    }
    return interrupted && code != 2 ? 130 : code;
}

/* A folder of this run's own: of two runs that start in the same second mkdir lets one have the name. */
static int make_folder(const char *command, char *folder, size_t bytes, char *why, size_t why_bytes)
{
    char when[32];
    const time_t seconds = time(NULL);
    struct tm utc;
    strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", gmtime_r(&seconds, &utc));
    int n = 1, made;
    mkdir("results", 0777); /* mostly there already; what else is in the way is said below */
    do {
        const int length = snprintf(folder, bytes, n > 1 ? "results/%s-%s-%d" : "results/%s-%s", when, command, n);
        made = length >= 0 && (size_t)length < bytes ? mkdir(folder, 0777) : -1;
    } while (made && errno == EEXIST && ++n < 10000);
    if (!made) return 0;
    snprintf(why, why_bytes, "cannot make the folder '%s' for results: %s", folder, strerror(errno));
    return -1;
}

static bool same_file(const char *a, const char *b)
{
    struct stat one, other;
    return !strcmp(a, b) ||
           (!stat(a, &one) && !stat(b, &other) && one.st_dev == other.st_dev && one.st_ino == other.st_ino);
}

/* The file that --out names: FILE.jsonl itself, or COMMAND.jsonl in the folder. */
static int named_path(const struct sm_case_options *options, char *path, size_t bytes, bool *is_file, char *why,
                      size_t why_bytes)
{
    const char *out = options->out;
    const size_t length = strlen(out);
    *is_file = length > 6 && !strcmp(out + length - 6, ".jsonl");
    const int n = *is_file ? snprintf(path, bytes, "%s", out)
                           : snprintf(path, bytes, "%s/%s.jsonl", out, options->command ? options->command : "cases");
    if (n >= 0 && (size_t)n < bytes) return 0;
    snprintf(why, why_bytes, "the path of the results is too long");
    return -1;
}

/* Results go on in the file that is resumed: another place for them would be left without the first half. */
static int check_places(const struct sm_case_options *options, char *why, size_t why_bytes)
{
    char path[SM_CASES_PATH_BYTES];
    bool is_file;
    if (!options->resume || !options->out) return 0;
    if (named_path(options, path, sizeof path, &is_file, why, why_bytes)) return -1;
    if (same_file(path, options->resume)) return 0;
    snprintf(why, why_bytes, "--resume goes on in '%.400s': --out %.400s cannot stand beside it", options->resume,
             options->out);
    return -1;
}

int sm_cases_open(const struct sm_case_options *options, char *path, size_t bytes, enum sm_case_place *place, char *why,
                  size_t why_bytes)
{
    const char *command = options->command ? options->command : "cases";
    char folder[256];
    bool is_file;
    *place = SM_CASE_PLACE_GIVEN;
    if (check_places(options, why, why_bytes)) return -1;
    if (options->resume) {
        if (snprintf(path, bytes, "%s", options->resume) < (int)bytes) return 0;
        snprintf(why, why_bytes, "the path of the results is too long");
        return -1;
    }
    if (options->out) {
        if (named_path(options, path, bytes, &is_file, why, why_bytes)) return -1;
        if (is_file) return 0;
        *place = SM_CASE_PLACE_FILE;
    } else {
        if (make_folder(command, folder, sizeof folder, why, why_bytes)) return -1;
        snprintf(path, bytes, "%s/%s.jsonl", folder, command);
        *place = SM_CASE_PLACE_FOLDER;
    }
    return sm_records_claim(path, why, why_bytes);
}

void sm_cases_take_back(const char *path, enum sm_case_place place)
{
    struct stat written;
    if (place == SM_CASE_PLACE_GIVEN || stat(path, &written) || written.st_size) return;
    unlink(path);
    const char *slash = strrchr(path, '/');
    char *folder = place == SM_CASE_PLACE_FOLDER && slash ? strndup(path, (size_t)(slash - path)) : NULL;
    if (folder) rmdir(folder); /* stays where something else is in it */
    free(folder);
}

int sm_cases_run(const struct sm_cases *cases, const struct sm_case_options *options, sm_case_fn *run, void *context,
                 char *why, size_t why_bytes)
{
    struct sm_case_plan plan;
    if (check_places(options, why, why_bytes) || sm_cases_plan(cases, options, &plan, why, why_bytes)) return 2;
    tell(&plan, options);
    if (options->dry_run) {
        list(&plan, options->listing);
        sm_case_plan_free(&plan);
        return 0;
    }
    char out[SM_CASES_PATH_BYTES];
    enum sm_case_place place;
    if (sm_cases_open(options, out, sizeof out, &place, why, why_bytes)) {
        sm_case_plan_free(&plan);
        return 2;
    }
    struct sm_case_results results = {.out = out};

    struct sigaction action = {.sa_handler = on_signal}, before_int, before_term;
    sigemptyset(&action.sa_mask);
    interrupted = 0;
    sigaction(SIGINT, &action, &before_int);
    sigaction(SIGTERM, &action, &before_term);
    const int code = run_planned(&plan, options, run, context, &results, why, why_bytes);
    sigaction(SIGINT, &before_int, NULL);
    sigaction(SIGTERM, &before_term, NULL);

    struct stat written;
    const bool empty = stat(out, &written) || written.st_size == 0;
    sm_cases_take_back(out, place);
    if (sm_cases_progress(options) && interrupted && empty)
        fprintf(sm_cases_progress(options), "interrupted before the first result\n");
    else if (sm_cases_progress(options) && interrupted)
        fprintf(sm_cases_progress(options), "interrupted; what was measured is in %s (go on with --resume %s)\n",
                results.out, results.out);
    free(results.records);
    sm_case_plan_free(&plan);
    return code;
}
