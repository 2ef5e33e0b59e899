#include "timing.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "counter_team.h"
#include "crash.h"
#include "stats.h"

/* The share of one thread in n calls, each ended by the team's barrier. */
static size_t run_calls(const struct sm_timing *t, size_t n, size_t at)
{
    const struct sm_bench_case *c = t->c;
    sm_kernel_fn *const fn = c->variant->fn;
    const void *const *args = t->set->args;
    const size_t instances = t->set->count;
    sm_crash_stand();
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
    struct sm_timing *t = user;
    const struct sm_bench_case *c = t->c;
    const uint64_t start = sm_clock_ns();
    if (t->witnesses) sm_witnesses_sample_begin(t->witnesses);
    size_t n = 0, next = t->next;
    int short_of_threads = 0, astray = 0;
#pragma omp parallel num_threads((int)c->threads)
    {
        if ((size_t)omp_get_num_threads() != c->threads) {
#pragma omp single
            short_of_threads = 1;
        } else {
            char unsaid[128]; /* a thread that cannot be pinned runs all the same */
            if (t->pinned && sm_pin_self(&t->pin, omp_get_thread_num(), unsaid, sizeof unsaid)) {
#pragma omp atomic write
                astray = 1;
            }
            if (t->in_turns) {
                run_calls(t, 1, t->next);
#pragma omp barrier
            }
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
    t->astray |= astray;
    if (t->witnesses) sm_witnesses_sample_end(t->witnesses, (double)(sm_clock_ns() - start));
    if (short_of_threads) sm_gbench_skip(state, "OpenMP gave fewer threads than asked for");
    /* none at 0: the library would print a NaN for their variation, which is no JSON */
    const double ops = c->workload->ops(&c->shape), bytes = c->workload->bytes(&c->shape);
    if (ops > 0) sm_gbench_counter(state, "ops", ops, SM_GBENCH_RATE | SM_GBENCH_EACH_ITERATION);
    if (bytes > 0) sm_gbench_counter(state, "bytes", bytes, SM_GBENCH_RATE | SM_GBENCH_EACH_ITERATION);
}

static void on_sample(void *user, const struct sm_gbench_sample *s)
{
    struct sm_timing *t = user;
    if (s->error || !s->iterations) {
        snprintf(t->error, sizeof t->error, "%s", s->error ? s->error : "a repetition had no iterations");
    } else if (t->samples < SM_SAMPLES_MOST) {
        t->ns[t->samples] = 1e9 * s->seconds / (double)s->iterations;
        t->calls[t->samples++] = (double)s->iterations;
    }
}

void sm_timing_place(struct sm_timing *t)
{
    char unsaid[256];
    t->pinned = !sm_pin_plan(&t->pin, (int)t->c->threads, unsaid, sizeof unsaid);
}

static int run_benchmark(struct sm_timed_session *session, struct sm_timing *t, struct sm_gbench_benchmark *b,
                         char *why, size_t why_bytes)
{
    const struct sm_gbench_reporter reporter = {t, on_sample};
    b->body = body;
    b->user = t;
    b->time = SM_GBENCH_TIME_REAL;
    if (sm_gbench_run(session->gbench, b, &reporter, why, why_bytes)) return -1;
    if (!*t->error) return 0;
    snprintf(why, why_bytes, "%s", t->error);
    return -1;
}

int sm_timing_run(struct sm_timed_session *session, struct sm_timing *t, const char *name, char *why, size_t why_bytes)
{
    const size_t wanted = session->options.repetitions;
    sm_timing_place(t);
    struct sm_gbench_benchmark b = {.name = name,
                                    .min_time = session->options.min_time,
                                    .warm_up = session->options.warm_up,
                                    .repetitions = wanted < SM_SAMPLES_MOST ? wanted : SM_SAMPLES_MOST};
    return run_benchmark(session, t, &b, why, why_bytes);
}

int sm_timing_turn(struct sm_timed_session *session, struct sm_timing *t, const char *name, size_t calls, char *why,
                   size_t why_bytes)
{
    struct sm_gbench_benchmark b = {.name = name, .iterations = calls, .repetitions = 1};
    return run_benchmark(session, t, &b, why, why_bytes);
}

/* -1: fewer threads than asked for. */
static int try_calls(const struct sm_timing *t, size_t calls, double *seconds)
{
    int short_of_threads = 0;
    const uint64_t start = sm_clock_ns();
#pragma omp parallel num_threads((int)t->c->threads)
    {
        char unsaid[128];
        if ((size_t)omp_get_num_threads() != t->c->threads) {
#pragma omp atomic write
            short_of_threads = 1;
        } else {
            if (t->pinned) sm_pin_self(&t->pin, omp_get_thread_num(), unsaid, sizeof unsaid);
            run_calls(t, calls, 0);
        }
    }
    *seconds = 1e-9 * (double)(sm_clock_ns() - start);
    return short_of_threads ? -1 : 0;
}

size_t sm_timing_calls(const struct sm_timed_session *session, const struct sm_timing *t)
{
    const double wanted = session->options.min_time, most = 1e9;
    double calls = 1, seconds;
    for (;;) {
        double again;
        if (try_calls(t, (size_t)calls, &seconds)) return 0;
        if (seconds >= wanted && !try_calls(t, (size_t)calls, &again)) seconds = fmin(seconds, again); /* a stall? */
        if (seconds >= wanted || calls >= most) return (size_t)calls;
        calls = fmin(most, ceil(calls * fmin(10, fmax(1.5, 1.2 * wanted / seconds))));
    }
}

/* The same calls again under one pass of a group: each worker opens its own counters. -1: fewer threads. */
static int count_pass(const struct sm_timing *t, struct sm_counter_team *team, size_t pass, size_t calls)
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

int sm_timing_count(const struct sm_timed_session *session, const struct sm_timing *t, struct sm_record *r)
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

double sm_timing_median(const struct sm_timing *t)
{
    struct sm_summary summary;
    return sm_summarise(t->ns, t->samples, &summary) ? NAN : summary.median;
}
