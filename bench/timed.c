#include "timed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crash.h"
#include "stats.h"
#include "timing.h"

#define HANGS 60.0      /* seconds, at least, */
#define HANGS_TIMES 100 /* and times the estimate, after which a case will not return */

static void null_kernel(const void *args, struct sm_part part)
{
    (void)part;
    sm_gbench_use(args);
}

static struct sm_part null_split(const struct sm_shape *shape, size_t threads, size_t i)
{
    (void)shape;
    return sm_part_whole(threads, i);
}

static double null_work(const struct sm_shape *shape)
{
    (void)shape;
    return 0;
}

int sm_timed_null(struct sm_timed_session *session, size_t threads, char *why, size_t why_bytes)
{
    static const struct sm_variant variant = {.name = "null", .fn = null_kernel};
    static const struct sm_family family = {.name = "null", .split = null_split};
    static const struct sm_workload workload = {.ops = null_work, .bytes = null_work};
    const struct sm_bench_case c = {.family = &family, .workload = &workload, .variant = &variant, .threads = threads};
    const void *args[] = {&c};
    const struct sm_instances set = {.c = &c, .args = args, .count = 1};
    struct sm_timing *t = calloc(1, sizeof *t);
    char name[64];
    int result = -1;
    if (!t) {
        snprintf(why, why_bytes, "no memory");
        return -1;
    }
    t->c = &c;
    t->set = &set;
    snprintf(name, sizeof name, "null/t%zu", threads);
    if (!sm_timing_run(session, t, name, why, why_bytes)) {
        struct sm_summary summary; /* the least: what the harness costs when nobody disturbs it */
        if (!sm_summarise(t->ns, t->samples, &summary)) session->null_ns[threads] = summary.least;
        result = 0;
    }
    free(t);
    return result;
}

static double known(size_t bytes)
{
    return bytes ? (double)bytes : NAN;
}

void sm_timed_session_init(struct sm_timed_session *session)
{
    const struct sm_machine *m = sm_machine();
    *session = (struct sm_timed_session){.options = {.min_time = 0.005, .warm_up = 0.002, .repetitions = 5}};
    session->l2_bytes = known(m->l2_bytes);
    session->l3_bytes = known(m->l3_bytes);
    session->memory_bytes = known(m->memory_bytes);
}

int sm_timed_session_count(struct sm_timed_session *session, const struct sm_strings *names, char *why,
                           size_t why_bytes)
{
    struct sm_counter_group *groups = calloc(SM_COUNTER_GROUPS_MOST, sizeof *groups);
    size_t count = 0;
    if (!groups) snprintf(why, why_bytes, "no memory for groups of counters");
    int failed = groups ? sm_counter_groups_named(names, groups, &count, why, why_bytes) : -1;
    for (size_t i = 0; i < count && !failed; i++) {
        session->counters[i] = sm_counters_create(&groups[i], 0);
        session->counter_count = i + 1;
        failed = session->counters[i] ? 0 : -1;
        if (failed) snprintf(why, why_bytes, "no memory for the counters of '%s'", groups[i].name);
    }
    free(groups);
    if (failed) sm_timed_session_end(session);
    return failed;
}

void sm_timed_session_end(struct sm_timed_session *session)
{
    while (session->counter_count) sm_counters_destroy(session->counters[--session->counter_count]);
}

void sm_timed_describe(struct sm_record *r, const struct sm_bench_case *c)
{
    const struct sm_family *f = c->family;
    sm_record_set_string(r, "family", f->name);
    sm_record_set_string(r, "group", f->group);
    sm_record_set_string(r, "variant", c->variant->name);
    sm_record_set_string(r, "layout", c->variant->layout ? c->variant->layout->name : NULL);
    sm_record_set_string(r, "isa", c->variant->isa);
    sm_record_set_integer(r, "threads", (int64_t)c->threads);
    if (c->compiler) {
        json_t *kernels = json_pack("{s:s, s:s}", "compiler", c->compiler, "flags", c->flags);
        sm_record_put_json(r, "build", "kernels", kernels);
    }
    sm_record_set_string(r, "cache_state", c->cold ? "cold" : "hot");
    for (size_t d = 0; d < f->dim_count; d++) {
        sm_record_put_integer(r, "shape", f->dims[d].name, c->shape.dim[d]);
        if (!strcmp(f->dims[d].name, "max_seq")) sm_record_set_integer(r, "max_seq", c->shape.dim[d]);
        if (!strcmp(f->dims[d].name, "rows")) sm_record_set_integer(r, "bucket", c->shape.dim[d]);
    }
    if (!strcmp(f->group, "attention") || !strcmp(f->group, "cache_write")) {
        const char *type = strrchr(f->name, '_');
        if (type) sm_record_set_string(r, "kv_type", type + 1);
    }
    if (c->refused) return; /* a shape without meaning has no operations */
    sm_record_set_number(r, "ops", c->workload->ops(&c->shape));
    sm_record_set_string(r, "ops_unit", c->workload->ops_unit);
    sm_record_set_number(r, "bytes", c->workload->bytes(&c->shape));
    sm_record_set_number(r, "footprint", (double)c->workload->footprint(&c->shape));
}

/* Runs every instance once and judges. 0, or -1 with why the answer is wrong. *error may be set either way. */
static int check(const struct sm_instances *set, const char *when, double *error, char *why, size_t why_bytes)
{
    const char *damage;
    *error = sm_instances_judge(set, &damage);
    if (*error <= 1 && !damage) return 0;
    if (damage)
        snprintf(why, why_bytes, "wrong %s timing: it %s", when, damage);
    else
        snprintf(why, why_bytes, "wrong %s timing: the error is %g tolerances", when, *error);
    return -1;
}

static void put_witnesses(struct sm_record *r, const struct sm_timing *t, double harness_ns)
{
    sm_witnesses_keep_last(t->witnesses, t->samples);
    json_t *witnesses = sm_witnesses_json(t->witnesses);
    json_object_set_new(witnesses, "harness_ns", harness_ns > 0 ? json_real(harness_ns) : json_null());
    const bool pinned = t->pinned && !t->astray;
    json_object_set_new(witnesses, "cpus", pinned ? sm_pin_json(&t->pin) : json_null());
    if (!pinned) json_array_append_new(json_object_get(witnesses, "flags"), json_string("unpinned"));
    if (t->set->cold_flag) json_array_append_new(json_object_get(witnesses, "flags"), json_string(t->set->cold_flag));
    sm_record_set_json(r, "witnesses", witnesses);
}

static void put_samples(struct sm_record *r, const struct sm_timing *t)
{
    json_t *calls = json_array();
    for (size_t i = 0; i < t->samples; i++) json_array_append_new(calls, json_integer((json_int_t)t->calls[i]));
    sm_record_set_numbers(r, "samples", t->ns, t->samples);
    sm_record_set_json(r, "iterations", calls);
}

/* A case between its creation and its record. */
struct work {
    const struct sm_bench_case *c;
    struct sm_record *record;
    struct sm_timing *timing;
    struct sm_instances set;
    struct sm_crash_line *crash; /* what its record would say */
    bool fails;                  /* the record says why */
    char reason[320];
};

static int fail(struct work *w, const char *reason)
{
    if (reason != w->reason) snprintf(w->reason, sizeof w->reason, "%s", reason);
    w->fails = true;
    sm_record_fail(w->record, "error", w->reason);
    return -1;
}

/* Before timing: the answer is right, and the outputs are poisoned anew with one untimed call on each, so that what is
 * judged afterwards was written by the team. */
static int prove(struct work *w)
{
    double error = NAN;
    if (sm_instances_prepare(&w->set) || sm_instances_run(&w->set, w->set.count))
        return fail(w, "no memory or threads to check its answer");
    const int wrong = check(&w->set, "before", &error, w->reason, sizeof w->reason);
    sm_record_set_number(w->record, "error", error);
    if (wrong) return fail(w, w->reason);
    if (sm_instances_prepare(&w->set) || sm_instances_run(&w->set, w->set.count))
        return fail(w, "no memory or threads to time it");
    return 0;
}

/* After timing: the answer is still right, and the rate is possible. */
static int judge(struct sm_timed_session *session, struct work *w)
{
    double error = NAN;
    const struct sm_timing *t = w->timing;
    sm_witnesses_end(t->witnesses);
    const int wrong = check(&w->set, "after", &error, w->reason, sizeof w->reason);
    sm_record_set_number(w->record, "error_after", error);
    if (wrong) return fail(w, w->reason);
    if (sm_timing_count(session, t, w->record)) return fail(w, "no memory or threads to count its calls");
    put_samples(w->record, t);
    put_witnesses(w->record, t, session->null_ns[w->c->threads]);
    sm_crash_at(NULL); /* from here on nothing is the case's own */
    if (!session->rates) return 0;
    const double touched = (double)w->set.count * w->c->workload->bytes(&w->c->shape);
    const struct sm_share share = sm_rates_judge(session->rates, w->c, touched, sm_timing_median(t),
                                                 sm_witnesses_core_hz(t->witnesses), w->record);
    if (!share.impossible) return 0;
    snprintf(w->reason, sizeof w->reason, "impossible: %.0f %% of %s", 100 * share.value,
             json_string_value(json_object_get(sm_record_json(w->record), "binding_ceiling")));
    return fail(w, w->reason);
}

static void let_go(struct work *w)
{
    sm_crash_line_destroy(w->crash);
    w->crash = NULL;
    sm_instances_destroy(&w->set);
    if (w->timing) sm_witnesses_destroy(w->timing->witnesses);
    free(w->timing);
    w->timing = NULL;
}

/* Operands, proved; witnesses begun. -1: no memory for a record at all. */
static int take_up(struct sm_timed_session *session, const struct sm_bench_case *c, struct work *w, char *why,
                   size_t why_bytes)
{
    *w = (struct work){.c = c, .record = sm_record_create("bench", c->id), .timing = calloc(1, sizeof *w->timing)};
    if (w->timing)
        w->timing->witnesses = sm_witnesses_create(session->options.repetitions + SM_TRIALS_MOST,
                                                   c->threads == 1 ? SM_WITNESS_THREAD : SM_WITNESS_PROCESS);
    if (!w->record || !w->timing || !w->timing->witnesses) {
        snprintf(why, why_bytes, "%s: no memory", c->id);
        sm_record_destroy(w->record);
        let_go(w);
        return -1;
    }
    sm_timed_describe(w->record, c);
    sm_record_set_string(w->record, "unit", "ns");
    const double limit = session->options.limit;
    w->crash = sm_crash_line_create(
        w->record, limit > 0 ? limit : fmax(HANGS, HANGS_TIMES * sm_timed_estimate(&session->options, c)));
    sm_crash_at(w->crash);
    w->timing->c = c;
    w->timing->set = &w->set;
    if (c->refused || sm_instances_create(&w->set, c, session->l2_bytes, session->l3_bytes, session->memory_bytes,
                                          w->reason, sizeof w->reason)) {
        w->fails = true;
        sm_record_fail(w->record, "skipped", c->refused ? c->refused : w->reason);
    } else if (!prove(w)) {
        sm_witnesses_begin(w->timing->witnesses);
    }
    return 0;
}

struct sm_record *sm_timed_record(struct sm_timed_session *session, const struct sm_bench_case *c, char *why,
                                  size_t why_bytes)
{
    struct work w;
    if (take_up(session, c, &w, why, why_bytes)) return NULL;
    if (!w.fails && sm_timing_run(session, w.timing, c->id, w.reason, sizeof w.reason)) fail(&w, w.reason);
    if (!w.fails) judge(session, &w);
    let_go(&w);
    return w.record;
}

/* A round: a sample of each, in an order of its own. */
static void take_turns(struct sm_timed_session *session, struct work *works, const size_t *calls, size_t count,
                       uint64_t *random)
{
    size_t order[SM_TURNS_MOST];
    for (size_t i = 0; i < count; i++) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        const size_t j = (size_t)(*random >> 33) % (i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < count; i++) {
        struct work *w = &works[order[i]];
        sm_crash_at(w->crash);
        if (!w->fails && sm_timing_turn(session, w->timing, w->c->id, calls[order[i]], w->reason, sizeof w->reason))
            fail(w, w->reason);
    }
}

int sm_timed_turns(struct sm_timed_session *session, const struct sm_bench_case *const *cases, size_t count,
                   struct sm_record **records, char *why, size_t why_bytes)
{
    struct work *works = calloc(count, sizeof *works);
    size_t calls[SM_TURNS_MOST] = {0}, made = 0;
    uint64_t random = cases[0]->seed;
    int result = works ? 0 : -1;
    if (!works) snprintf(why, why_bytes, "no memory for %zu cases", count);
    while (!result && made < count) {
        struct work *w = &works[made];
        result = take_up(session, cases[made], w, why, why_bytes);
        if (result) break;
        w->timing->in_turns = true;
        sm_timing_place(w->timing);
        if (!w->fails && !(calls[made] = sm_timing_calls(session, w->timing)))
            fail(w, "OpenMP gave fewer threads than asked for");
        made++;
    }
    for (size_t i = 0; i < session->options.repetitions && !result; i++) {
        if (sm_cases_interrupted()) result = 1;
        if (!result) take_turns(session, works, calls, count, &random);
    }
    for (size_t i = 0; i < made; i++) {
        struct work *w = &works[i];
        sm_crash_at(w->crash);
        if (!result && !w->fails) judge(session, w);
        sm_record_put_json(w->record, "order", "in_turns_with", json_integer((json_int_t)count - 1));
        let_go(w);
        if (result) sm_record_destroy(w->record);
        records[i] = result ? NULL : w->record;
    }
    free(works);
    return result;
}

enum sm_case_outcome sm_timed_case(struct sm_timed_session *session, const struct sm_bench_case *c,
                                   struct sm_case_results *results, char *why, size_t why_bytes)
{
    struct sm_record *r = sm_timed_record(session, c, why, why_bytes);
    if (!r) return SM_CASE_BROKEN;
    const char *status = json_string_value(json_object_get(sm_record_json(r), "status"));
    const bool wrong = status && !strcmp(status, "error");
    if (sm_cases_interrupted() && status && !strcmp(status, "skipped") && !c->refused) {
        sm_record_destroy(r); /* the operands were not finished */
        return SM_CASE_DROPPED;
    }
    sm_case_result(results, r);
    return wrong ? SM_CASE_WRONG : SM_CASE_DONE;
}

double sm_timed_estimate(const struct sm_timed_options *options, const struct sm_bench_case *c)
{
    if (c->refused) return 0.001;
    const double ops = c->workload->ops(&c->shape), bytes = c->workload->bytes(&c->shape);
    const double rate = c->variant->needs ? 5e10 : 1e9; /* of a core of today, by order of magnitude */
    const double call = fmax(ops / rate, bytes / 1e10);
    const double repetitions = (double)options->repetitions + 1.5; /* with the search for the count */
    const double timing = options->warm_up + repetitions * fmax(options->min_time * 1.2, call);
    const double checking = 4e-9 * fmin(ops, SM_JUDGED_OPS);
    const struct sm_machine *m = sm_machine();
    const double made = sm_instances_bytes(c, known(m->l2_bytes), known(m->l3_bytes), known(m->memory_bytes));
    return 0.004 + (c->cold ? 0.3 : 0) + timing + 2 * checking + 2e-9 * made; /* cold: far ceilings, anew */
}
