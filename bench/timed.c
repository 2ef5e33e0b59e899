#include "timed.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "counter_team.h"
#include "instances.h"
#include "machine.h"
#include "stats.h"
#include "witness.h"

#define SAMPLES_MOST 1000
#define TRIALS_MOST 256 /* calls of the body before the first sample: warm-up, and the search for a count */

/* One case on its way through Google Benchmark. */
struct timing {
    const struct sm_bench_case *c;
    const struct sm_instances *set;
    struct sm_pin pin;
    bool pinned;
    size_t next;                    /* instance of the next call */
    struct sm_witnesses *witnesses; /* of every call of the body, the last ones being the samples; may be NULL */
    double ns[SAMPLES_MOST];        /* per call */
    double calls[SAMPLES_MOST];
    size_t samples;
    char error[256];
};

/* The share of one thread in n calls, each ended by the team's barrier. */
static size_t run_calls(const struct timing *t, size_t n, size_t at)
{
    const struct sm_bench_case *c = t->c;
    sm_kernel_fn *const fn = c->variant->fn;
    const void *const *args = t->set->args;
    const size_t instances = t->set->count;
    const struct sm_part part = c->family->split(&c->shape, c->threads, (size_t)omp_get_thread_num());
    if (c->threads == 1) {
        for (size_t i = 0; i < n; i++) {
            fn(args[at], part);
            if (++at == instances) at = 0;
        }
        return at;
    }
    for (size_t i = 0; i < n; i++) {
        fn(args[at], part);
        if (++at == instances) at = 0;
#pragma omp barrier
    }
    return at;
}

static void body(struct sm_gbench_state *state, void *user)
{
    struct timing *t = user;
    const struct sm_bench_case *c = t->c;
    const uint64_t start = sm_clock_ns();
    if (t->witnesses) sm_witnesses_sample_begin(t->witnesses);
    size_t n = 0, next = t->next;
    int short_of_threads = 0;
#pragma omp parallel num_threads((int)c->threads)
    {
        if ((size_t)omp_get_num_threads() != c->threads) {
#pragma omp single
            short_of_threads = 1;
        } else {
            char unsaid[128]; /* a thread that cannot be pinned runs all the same */
            if (t->pinned) sm_pin_self(&t->pin, omp_get_thread_num(), unsaid, sizeof unsaid);
#pragma omp master
            n = sm_gbench_begin(state);
#pragma omp barrier
            const size_t at = run_calls(t, n, t->next);
#pragma omp master
            {
                sm_gbench_end(state);
                next = at;
            }
        }
    }
    t->next = next;
    if (t->witnesses) sm_witnesses_sample_end(t->witnesses, (double)(sm_clock_ns() - start));
    if (short_of_threads) sm_gbench_skip(state, "OpenMP gave fewer threads than asked for");
    /* none at 0: the library would print a NaN for their variation, which is no JSON */
    const double ops = c->workload->ops(&c->shape), bytes = c->workload->bytes(&c->shape);
    if (ops > 0) sm_gbench_counter(state, "ops", ops, SM_GBENCH_RATE | SM_GBENCH_EACH_ITERATION);
    if (bytes > 0) sm_gbench_counter(state, "bytes", bytes, SM_GBENCH_RATE | SM_GBENCH_EACH_ITERATION);
}

static void on_sample(void *user, const struct sm_gbench_sample *s)
{
    struct timing *t = user;
    if (s->error || !s->iterations) {
        snprintf(t->error, sizeof t->error, "%s", s->error ? s->error : "a repetition had no iterations");
    } else if (t->samples < SAMPLES_MOST) {
        t->ns[t->samples] = 1e9 * s->seconds / (double)s->iterations;
        t->calls[t->samples++] = (double)s->iterations;
    }
}

static int run_timed(struct sm_timed_session *session, struct timing *t, const char *name, char *why, size_t why_bytes)
{
    const size_t wanted = session->options.repetitions;
    char reason[256];
    t->pinned = !sm_pin_plan(&t->pin, (int)t->c->threads, reason, sizeof reason);
    const struct sm_gbench_benchmark b = {.name = name,
                                          .body = body,
                                          .user = t,
                                          .time = SM_GBENCH_TIME_REAL,
                                          .min_time = session->options.min_time,
                                          .warm_up = session->options.warm_up,
                                          .repetitions = wanted < SAMPLES_MOST ? wanted : SAMPLES_MOST};
    const struct sm_gbench_reporter reporter = {t, on_sample};
    if (sm_gbench_run(session->gbench, &b, &reporter, why, why_bytes)) return -1;
    if (!*t->error) return 0;
    snprintf(why, why_bytes, "%s", t->error);
    return -1;
}

/* The same calls again under one pass of a group: each worker opens its own counters. -1: fewer threads. */
static int count_pass(const struct timing *t, struct sm_counter_team *team, size_t pass, size_t calls)
{
    int short_of_threads = 0;
#pragma omp parallel num_threads((int)t->c->threads)
    {
        const size_t thread = (size_t)omp_get_thread_num();
        if ((size_t)omp_get_num_threads() != t->c->threads) {
#pragma omp atomic write
            short_of_threads = 1;
        } else {
            char unsaid[128];
            if (t->pinned) sm_pin_self(&t->pin, (int)thread, unsaid, sizeof unsaid);
            sm_counter_team_open(team, pass, thread);
#pragma omp barrier
            sm_counter_team_begin(team, thread);
            run_calls(t, calls, 0);
            sm_counter_team_end(team, thread, 0, (double)calls);
        }
    }
    return short_of_threads ? -1 : 0;
}

static int count_calls(const struct sm_timed_session *session, const struct timing *t, struct sm_record *r)
{
    const size_t calls = t->samples && t->calls[t->samples - 1] >= 1 ? (size_t)t->calls[t->samples - 1] : 1;
    const struct sm_counter_work work = {.tokens = NAN, .ops = t->c->workload->ops(&t->c->shape)};
    int failed = 0;
    for (size_t i = 0; i < session->counter_count && !failed; i++) {
        struct sm_counter_team *team = sm_counter_team_create(session->counters[i], t->c->threads, 1);
        failed = team ? 0 : -1;
        for (size_t pass = 0; !failed && pass < sm_counters_passes(session->counters[i]); pass++)
            failed = count_pass(t, team, pass, calls);
        if (!failed) sm_counter_team_record(team, 0, &work, r);
        sm_counter_team_destroy(team);
    }
    return failed;
}

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

static double median_of(const struct timing *t)
{
    struct sm_summary summary;
    return sm_summarise(t->ns, t->samples, &summary) ? NAN : summary.median;
}

int sm_timed_null(struct sm_timed_session *session, size_t threads, char *why, size_t why_bytes)
{
    static const struct sm_variant variant = {.name = "null", .fn = null_kernel};
    static const struct sm_family family = {.name = "null", .split = null_split};
    static const struct sm_workload workload = {.ops = null_work, .bytes = null_work};
    const struct sm_bench_case c = {.family = &family, .workload = &workload, .variant = &variant, .threads = threads};
    const void *args[] = {&c};
    const struct sm_instances set = {.c = &c, .args = args, .count = 1};
    struct timing *t = calloc(1, sizeof *t);
    char name[64];
    int result = -1;
    if (!t) {
        snprintf(why, why_bytes, "no memory");
        return -1;
    }
    t->c = &c;
    t->set = &set;
    snprintf(name, sizeof name, "null/t%zu", threads);
    if (!run_timed(session, t, name, why, why_bytes)) {
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

static void put_witnesses(struct sm_record *r, const struct timing *t, double harness_ns)
{
    sm_witnesses_keep_last(t->witnesses, t->samples);
    json_t *witnesses = sm_witnesses_json(t->witnesses);
    json_object_set_new(witnesses, "harness_ns", harness_ns > 0 ? json_real(harness_ns) : json_null());
    if (t->set->cold_flag) json_array_append_new(json_object_get(witnesses, "flags"), json_string(t->set->cold_flag));
    sm_record_set_json(r, "witnesses", witnesses);
}

static void put_samples(struct sm_record *r, const struct timing *t)
{
    json_t *calls = json_array();
    for (size_t i = 0; i < t->samples; i++) json_array_append_new(calls, json_integer((json_int_t)t->calls[i]));
    sm_record_set_numbers(r, "samples", t->ns, t->samples);
    sm_record_set_json(r, "iterations", calls);
}

/* Fills r. 0; -1: r is an error for the reason in why. */
static int measure(struct sm_timed_session *session, const struct sm_bench_case *c, struct sm_instances *set,
                   struct timing *t, struct sm_record *r, char *why, size_t why_bytes)
{
    double error = NAN;
    if (sm_instances_prepare(set) || sm_instances_run(set, set->count)) {
        snprintf(why, why_bytes, "no memory or threads to check its answer");
        return -1;
    }
    const int wrong = check(set, "before", &error, why, why_bytes);
    sm_record_set_number(r, "error", error);
    if (wrong) return -1;
    /* poisoned anew, and one untimed call on each, so that what is judged afterwards was written by the team */
    if (sm_instances_prepare(set) || sm_instances_run(set, set->count)) {
        snprintf(why, why_bytes, "no memory or threads to time it");
        return -1;
    }
    sm_witnesses_begin(t->witnesses);
    if (run_timed(session, t, c->id, why, why_bytes)) return -1;
    sm_witnesses_end(t->witnesses);
    const int wrong_after = check(set, "after", &error, why, why_bytes);
    sm_record_set_number(r, "error_after", error);
    if (wrong_after) return -1;
    if (count_calls(session, t, r)) {
        snprintf(why, why_bytes, "no memory or threads to count its calls");
        return -1;
    }
    put_samples(r, t);
    put_witnesses(r, t, session->null_ns[c->threads]);
    if (!session->rates) return 0;
    const double touched = (double)set->count * c->workload->bytes(&c->shape);
    const struct sm_share share =
        sm_rates_judge(session->rates, c, touched, median_of(t), sm_witnesses_core_hz(t->witnesses), r);
    if (!share.impossible) return 0;
    snprintf(why, why_bytes, "impossible: %.0f %% of %s", 100 * share.value,
             json_string_value(json_object_get(sm_record_json(r), "binding_ceiling")));
    return -1;
}

struct sm_record *sm_timed_record(struct sm_timed_session *session, const struct sm_bench_case *c, char *why,
                                  size_t why_bytes)
{
    struct sm_record *r = sm_record_create("bench", c->id);
    struct timing *t = calloc(1, sizeof *t);
    struct sm_instances set = {0};
    if (t)
        t->witnesses = sm_witnesses_create(session->options.repetitions + TRIALS_MOST,
                                           c->threads == 1 ? SM_WITNESS_THREAD : SM_WITNESS_PROCESS);
    if (!r || !t || !t->witnesses) {
        snprintf(why, why_bytes, "%s: no memory", c->id);
        sm_record_destroy(r);
        free(t);
        return NULL;
    }
    char reason[320];
    sm_timed_describe(r, c);
    sm_record_set_string(r, "unit", "ns");
    if (c->refused) {
        sm_record_fail(r, "skipped", c->refused);
    } else if (sm_instances_create(&set, c, session->l2_bytes, session->l3_bytes, session->memory_bytes, reason,
                                   sizeof reason)) {
        sm_record_fail(r, "skipped", reason);
    } else {
        t->c = c;
        t->set = &set;
        if (measure(session, c, &set, t, r, reason, sizeof reason)) sm_record_fail(r, "error", reason);
    }
    sm_instances_destroy(&set);
    sm_witnesses_destroy(t->witnesses);
    free(t);
    return r;
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
    const double rate = c->variant->needs ? 2e10 : 5e8; /* of a core of today, by order of magnitude */
    const double call = fmax(ops / rate, bytes / 1e10);
    const double repetitions = (double)options->repetitions + 1.5; /* with the search for the count */
    const double timing = options->warm_up + repetitions * fmax(options->min_time * 1.2, call);
    const double checking = 4e-9 * fmin(ops, 0x1p27);
    return 0.004 + (c->cold ? 0.2 : 0) + timing + 2 * checking + 6e-9 * (double)c->workload->footprint(&c->shape);
}
