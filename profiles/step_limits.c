#include "step_limits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workload.h"

#define NAMES_MOST 8
#define REPEATS_MOST 2

/* All steps of a label, in the calls that were timed. */
struct work {
    double ops, bytes, least_s,
        fastest_s;   /* the least time that the ceilings allow; and any way of moving or doing it */
    const char *why; /* there is no such time */
    struct {
        char name[32];
        double s;
    } by[NAMES_MOST];
};

static double axis(const struct sm_step *step, const char *name)
{
    const int d = sm_dim_index(step->family, name);
    return d >= 0 ? (double)step->shape.dim[d] : 0;
}

/* Bytes of the call that are touched again only in the next call of the model. */
static double far_bytes(const struct sm_step *step, enum sm_phase phase, double bytes)
{
    const struct sm_layout *layout = step->variant->layout;
    if (layout && layout->packed_bytes)
        return (double)layout->packed_bytes((size_t)axis(step, "out"), (size_t)axis(step, "in"));
    return !strcmp(step->family->group, "attention") && phase != SM_PHASE_PREFILL ? bytes : 0;
}

/* Steps that write over what they read: the operands of a runtime's plan. */
static bool in_place(const struct sm_step *step)
{
    return step->label == SM_LABEL_HEAD_NORM || step->label == SM_LABEL_ROPE ||
           !strncmp(step->family->name, "gated_", 6);
}

static void add(struct work *w, const struct sm_ceilings *ceilings, const struct sm_step *step,
                const struct sm_step_calls *calls, double whole_bytes, size_t threads, double core_hz)
{
    const struct sm_workload *load = sm_workload_named(step->family->name);
    if (!load || load->refuse(&step->shape)) {
        w->why = load ? load->refuse(&step->shape) : "its family has no workload that counts its operations";
        return;
    }
    const double bytes = load->bytes(&step->shape);
    const struct sm_limited_call call = {.family = step->family->name,
                                         .group = step->family->group,
                                         .isa = step->variant->isa,
                                         .ops_unit = load->ops_unit,
                                         .ops = load->ops(&step->shape),
                                         .bytes = bytes,
                                         .head_dim = axis(step, "head_dim"),
                                         .in_place = in_place(step),
                                         .capped = axis(step, "softcap") != 0,
                                         .leaves_out = !strcmp(step->family->group, "attention"),
                                         .threads = (int)threads,
                                         .ns = 1e9, /* shares of a second are seconds */
                                         .core_hz = core_hz,
                                         .working_set = bytes,
                                         .far_bytes = far_bytes(step, sm_plan_options_of(calls->plan)->phase, bytes),
                                         .far_set = whole_bytes};
    const struct sm_limit limit = sm_limit_of(ceilings, &call, NULL);
    w->ops += calls->count * call.ops;
    w->bytes += calls->count * bytes;
    if (!isfinite(limit.share)) {
        w->why = "no ceiling of this machine binds it";
        return;
    }
    w->least_s += calls->count * limit.share;
    if (isfinite(limit.fastest)) w->fastest_s += calls->count * limit.fastest;
    size_t i = 0;
    while (i + 1 < NAMES_MOST && *w->by[i].name && strcmp(w->by[i].name, limit.name)) i++;
    memcpy(w->by[i].name, limit.name, sizeof limit.name);
    w->by[i].s += calls->count * limit.share;
}

static const char *binding(const struct work *w)
{
    size_t most = 0;
    for (size_t i = 1; i < NAMES_MOST; i++)
        if (w->by[i].s > w->by[most].s) most = i;
    return w->by[most].name;
}

static void all_steps(struct work work[SM_LABELS], const struct sm_ceilings *ceilings,
                      const struct sm_step_calls *calls, size_t count, double whole_bytes, size_t threads,
                      double core_hz)
{
    memset(work, 0, SM_LABELS * sizeof *work);
    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; calls[c].plan && i < sm_plan_step_count(calls[c].plan); i++) {
            const struct sm_step *step = &sm_plan_steps(calls[c].plan)[i];
            add(&work[step->label], ceilings, step, &calls[c], whole_bytes, threads, core_hz);
        }
}

static int label_of(const json_t *step)
{
    const char *name = json_string_value(json_object_get(step, "label"));
    int l = 0;
    while (l < SM_LABELS && strcmp(sm_label_name((enum sm_label)l), name)) l++;
    return l;
}

static double seconds_of(const json_t *step, double runs)
{
    return json_number_value(json_object_get(step, "ns")) * 1e-9 * runs;
}

static bool any_impossible(const json_t *steps, const struct work *work, double runs)
{
    size_t i;
    json_t *step;
    json_array_foreach(steps, i, step)
    {
        const int l = label_of(step);
        if (l < SM_LABELS && work[l].fastest_s > SM_LIMIT_IMPOSSIBLE * seconds_of(step, runs)) return true;
    }
    return false;
}

static void put(json_t *step, const struct work *w, double runs)
{
    char text[96];
    const double seconds = seconds_of(step, runs);
    const char *why = w->why;
    double share = w->why || !(seconds > 0) ? NAN : w->least_s / seconds;
    const bool impossible = !why && w->fastest_s > SM_LIMIT_IMPOSSIBLE * seconds;
    if (impossible) {
        snprintf(text, sizeof text, "impossible: %.0f %% of %s", 100 * fmax(share, w->fastest_s / seconds), binding(w));
        why = text;
        share = NAN;
    }
    json_object_set_new(step, "ops", sm_record_number(w->ops / runs));
    json_object_set_new(step, "bytes", sm_record_number(w->bytes / runs));
    json_object_set_new(step, "ceiling", w->why ? json_null() : json_string(binding(w)));
    json_object_set_new(step, "share", sm_record_number(share));
    json_object_set_new(step, "why", why ? json_string(why) : json_null());
}

void sm_step_limits_record(struct sm_record *record, const struct sm_step_calls *calls, size_t count, double runs,
                           double whole_bytes, size_t threads, double core_hz)
{
    static const struct work unexplained = {.why = "the rest of the call: no step does it"};
    json_t *steps = json_object_get(sm_record_json(record), "steps"), *step;
    const struct sm_ceilings *first = sm_ceilings((int)threads);
    struct sm_ceilings *ceilings = malloc(sizeof *ceilings), *again = malloc(sizeof *again);
    struct work *work = malloc(SM_LABELS * sizeof *work);
    char why[256];
    size_t i;
    if (!first || !ceilings || !again || !work || !json_is_array(steps)) goto out;
    *ceilings = *first;
    all_steps(work, ceilings, calls, count, whole_bytes, threads, core_hz);
    /* a neighbour may have held the ceilings down while they were measured: ask again before crying foul */
    for (int r = 0; r < REPEATS_MOST && any_impossible(steps, work, runs); r++) {
        if (sm_ceilings_measure(again, (int)threads, SM_CEILINGS_QUICK, why, sizeof why)) break;
        sm_ceilings_best(ceilings, again);
        all_steps(work, ceilings, calls, count, whole_bytes, threads, core_hz);
    }
    json_array_foreach(steps, i, step)
    {
        const int l = label_of(step);
        put(step, l < SM_LABELS ? &work[l] : &unexplained, runs);
    }
out:
    free(work);
    free(again);
    free(ceilings);
}
