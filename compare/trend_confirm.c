/* A nominated change, compared: the build before it against the build after it, at the shape of the series. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "machine.h"
#include "trend.h"

/* The shape of "family/variant/rows=1,cols=64" as one value for each axis. 0, or -1: it has no such form. */
static int read_shape(const char *kernel, struct sm_list *value, struct sm_pairing_axis *axes, char *text,
                      size_t text_bytes)
{
    const char *shape = strrchr(kernel, '/');
    size_t count = 0;
    if (!shape || strlen(shape) >= text_bytes) return -1;
    strcpy(text, shape + 1);
    for (char *save = NULL, *part = strtok_r(text, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
        char *equals = strchr(part, '='), why[128];
        if (!equals || count == SM_MAX_DIMS) return -1;
        *equals = '\0';
        if (sm_parse_list(equals + 1, &value[count], why, sizeof why) || value[count].count != 1) return -1;
        axes[count] = (struct sm_pairing_axis){part, &value[count]};
        count++;
    }
    axes[count] = (struct sm_pairing_axis){NULL, NULL};
    return 0;
}

static int compare(struct sm_history *h, const struct sm_trend_series *s, const char *before, const char *after,
                   const struct sm_pairing_axis *axes, const struct sm_trend_confirm *how, char *why, size_t why_bytes)
{
    char glob[200];
    struct sm_engine_outcome o;
    snprintf(glob, sizeof glob, "%s", s->kernel);
    *strrchr(glob, '/') = '\0';
    const struct sm_engine_request request = {.purpose = "confirm",
                                              .pairing = {.glob = glob, .axes = axes},
                                              .rounds = {.seed = how->seed,
                                                         .tolerance = how->floor,
                                                         .floor = how->floor,
                                                         .alpha = 0.01,
                                                         .discovery = 1,
                                                         .spending = SM_SPENDING_QUICK,
                                                         .slice_s = 200e-6,
                                                         .pairs = 50,
                                                         .threads = (size_t)s->threads,
                                                         .progress = how->words},
                                              .anew = true,
                                              .history = h,
                                              .words = how->words};
    const int failed = sm_engine_run(before, after, &request, &o, why, why_bytes);
    if (failed) return failed;
    const struct sm_report report = {
        .command = "confirm", .arm = o.arm, .pairing = &o.pairing, .options = &request.rounds, .result = &o.rounds};
    const int code = o.rounds.interrupted                         ? SM_EXIT_INTERRUPTED
                     : sm_history_end(h, &report, why, why_bytes) ? SM_EXIT_USAGE
                                                                  : 0;
    sm_engine_free(&o);
    return code;
}

/* As sessions keep it. */
static void this_machine(char *cpu, size_t bytes)
{
    json_t *machine = sm_machine_json();
    const char *name = json_string_value(json_object_get(machine, "cpu"));
    snprintf(cpu, bytes, "%s", name ? name : "");
    json_decref(machine);
}

int sm_trend_confirm(struct sm_trend *t, struct sm_history *h, const struct sm_trend_confirm *how, char *why,
                     size_t why_bytes)
{
    char here[80];
    this_machine(here, sizeof here);
    for (size_t i = 0; i < t->count; i++)
        for (size_t k = 0; k < t->series[i].change_count; k++) {
            struct sm_trend_series *s = &t->series[i];
            struct sm_trend_change *c = &s->changes[k];
            struct sm_list *value = malloc(SM_MAX_DIMS * sizeof *value);
            struct sm_pairing_axis axes[SM_MAX_DIMS + 1];
            const char *before = s->points[c->before].build, *after = s->points[c->after].build;
            char text[200];
            if (!value || c->state != SM_TREND_CANDIDATE || (c->step < t->least && c->step > -t->least)) {
                free(value);
                continue;
            }
            int code = SM_EXIT_USAGE;
            if (strcmp(s->machine, here))
                snprintf(why, why_bytes, "it was recorded on %s, and this is %s", s->machine, here);
            else if (read_shape(s->kernel, value, axes, text, sizeof text))
                snprintf(why, why_bytes, "%s is no kernel at a shape", s->kernel);
            else
                code = compare(h, s, before, after, axes, how, why, why_bytes);
            free(value);
            if (code == SM_EXIT_INTERRUPTED) return code;
            const int found =
                code ? 0 : sm_history_proof(h, s->kernel, s->machine, before, after, &c->proof, why, why_bytes);
            if (found > 0) c->state = sm_trend_judge(c->step, c->proof.verdict);
            if (code && how->complaints)
                fprintf(how->complaints, "slotmark trend: %s from %s to %s is not confirmed: %s\n", s->kernel, before,
                        after, why);
        }
    return 0;
}
