/* The shim on Google Benchmark: what it counts, what it refuses, what it lets out. CTest runs this with hostile
 * BENCHMARK_... variables set, which must change nothing. `test_gbench timed` checks the cost of an empty body. */
#include <jansson.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "gbench.h"

static char environment[1024];
static size_t environment_count;

struct seen {
    size_t samples, errors;
    size_t iterations[64];
    double seconds[64];
    char error[256], name[64];
};

static void on_sample(void *user, const struct sm_gbench_sample *s)
{
    struct seen *seen = user;
    assert_true(seen->samples < 64);
    seen->iterations[seen->samples] = s->iterations;
    seen->seconds[seen->samples++] = s->seconds;
    snprintf(seen->name, sizeof seen->name, "%s", s->name);
    if (s->error) {
        seen->errors++;
        snprintf(seen->error, sizeof seen->error, "%s", s->error);
    }
}

struct counts {
    size_t calls, executed, last[256];
    int stray; /* what begin returned after a skip */
};

static void counting_body(struct sm_gbench_state *state, void *user)
{
    struct counts *c = user;
    const size_t n = sm_gbench_begin(state);
    size_t done = 0;
    for (size_t i = 0; i < n; i++) {
        sm_gbench_use(&i);
        done++;
    }
    sm_gbench_end(state);
    c->last[c->calls % 256] = done;
    c->calls++;
    c->executed += done;
}

static struct seen run(const struct sm_gbench_benchmark *b, int expect)
{
    char why[256] = "";
    struct seen seen = {0};
    struct sm_gbench *g = sm_gbench_open(&(struct sm_gbench_options){0}, why, sizeof why);
    assert_non_null(g);
    const struct sm_gbench_reporter r = {&seen, on_sample};
    assert_int_equal(sm_gbench_run(g, b, &r, why, sizeof why), expect);
    if (expect) assert_true(strlen(why) > 10);
    assert_int_equal(sm_gbench_close(g, why, sizeof why), 0);
    return seen;
}

static void near(double a, double b, double within)
{
    if (!(a >= b - within && a <= b + within)) fail_msg("%g is not %g within %g", a, b, within);
}

static void reported_is_executed(void **unused)
{
    (void)unused;
    struct counts c = {0};
    const struct sm_gbench_benchmark b = {.name = "count,a=1/b",
                                          .body = counting_body,
                                          .user = &c,
                                          .time = SM_GBENCH_TIME_REAL,
                                          .min_time = 0.001,
                                          .repetitions = 5};
    const struct seen seen = run(&b, 0);
    assert_int_equal(seen.samples, 5);
    assert_int_equal(seen.errors, 0);
    assert_string_equal(seen.name, "count,a=1/b");
    for (size_t i = 0; i < 5; i++) assert_int_equal(seen.iterations[i], c.last[(c.calls - 5 + i) % 256]);
    c = (struct counts){0};
    struct sm_gbench_benchmark exact = b;
    exact.min_time = 0;
    exact.iterations = 37;
    const struct seen fixed = run(&exact, 0);
    for (size_t i = 0; i < 5; i++) assert_int_equal(fixed.iterations[i], 37);
    assert_int_equal(c.executed, 5 * 37);
}

struct manual {
    size_t calls, executed;
};

static void manual_body(struct sm_gbench_state *state, void *user)
{
    struct manual *m = user;
    const size_t n = sm_gbench_begin(state);
    sm_gbench_manual_time(state, 1e-3 * (double)n); /* each iteration says that it took a millisecond */
    sm_gbench_end(state);
    m->calls++;
    m->executed += n;
}

/* With a clock of its own the number of executions is exact, whatever the machine does. */
static void warm_up_happens(void **unused)
{
    (void)unused;
    struct sm_gbench_benchmark b = {
        .name = "warm", .body = manual_body, .time = SM_GBENCH_TIME_MANUAL, .min_time = 0.01, .repetitions = 1};
    struct manual cold = {0}, warm = {0};
    b.user = &cold;
    const struct seen without = run(&b, 0);
    b.user = &warm;
    b.warm_up = 0.2;
    const struct seen with = run(&b, 0);
    assert_true(without.iterations[0] >= 10 && with.iterations[0] >= 10);
    assert_true((double)warm.executed >= (double)with.iterations[0] + 200);
    assert_true(warm.executed > cold.executed + 100);
    near(with.seconds[0], 1e-3 * (double)with.iterations[0], 1e-9);
}

static void refusals(void **unused)
{
    (void)unused;
    struct counts c = {0};
    const struct sm_gbench_benchmark good = {.name = "x",
                                             .body = counting_body,
                                             .user = &c,
                                             .time = SM_GBENCH_TIME_REAL,
                                             .min_time = 0.001,
                                             .repetitions = 1};
    struct sm_gbench_benchmark bad = good;
    bad.time = SM_GBENCH_TIME_UNSET;
    run(&bad, -1);
    bad = good;
    bad.min_time = 0;
    run(&bad, -1);
    bad = good;
    bad.iterations = 3;
    run(&bad, -1);
    bad = good;
    bad.repetitions = 0;
    run(&bad, -1);
    bad = good;
    bad.warm_up = -1;
    run(&bad, -1);
    bad = good;
    bad.body = NULL;
    run(&bad, -1);
    bad = good;
    bad.name = NULL;
    run(&bad, -1);
    assert_int_equal(c.calls, 0);
}

enum lapse { BEFORE, INSIDE, NEVER_BEGUN, NEVER_ENDED };

static void lapsing_body(struct sm_gbench_state *state, void *user)
{
    const enum lapse lapse = *(const enum lapse *)user;
    if (lapse == NEVER_BEGUN) return;
    if (lapse == BEFORE) {
        sm_gbench_skip(state, "skipped before");
        assert_int_equal(sm_gbench_begin(state), 0);
        sm_gbench_end(state);
        return;
    }
    sm_gbench_begin(state);
    if (lapse == NEVER_ENDED) return;
    sm_gbench_skip(state, "skipped inside");
}

static void lapses_are_errors(void **unused)
{
    (void)unused;
    static const char *const says[] = {"skipped before", "skipped inside", "without sm_gbench_begin",
                                       "without sm_gbench_end"};
    for (int i = BEFORE; i <= NEVER_ENDED; i++) {
        enum lapse lapse = (enum lapse)i;
        const struct sm_gbench_benchmark b = {.name = "lapse",
                                              .body = lapsing_body,
                                              .user = &lapse,
                                              .time = SM_GBENCH_TIME_REAL,
                                              .min_time = 0.001,
                                              .repetitions = 1};
        const struct seen seen = run(&b, 0);
        assert_int_equal(seen.errors, 1);
        assert_non_null(strstr(seen.error, says[i]));
        struct counts c = {0};
        struct sm_gbench_benchmark after = b; /* the library is in order again */
        after.body = counting_body;
        after.user = &c;
        assert_int_equal(run(&after, 0).errors, 0);
    }
}

#define COPY_BYTES (1u << 20)
static char copy_from[COPY_BYTES], copy_to[COPY_BYTES];

static void copying_body(struct sm_gbench_state *state, void *user)
{
    size_t n = 0, *threads = user;
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        n = sm_gbench_begin(state);
#pragma omp barrier
        const size_t half = COPY_BYTES / 2, at = (size_t)omp_get_thread_num() * half;
        for (size_t i = 0; i < n; i++) {
            memcpy(copy_to + at, copy_from + at, half);
            sm_gbench_use(copy_to);
#pragma omp barrier
        }
#pragma omp master
        {
            sm_gbench_end(state);
            *threads = (size_t)omp_get_num_threads();
        }
    }
    sm_gbench_counter(state, "bytes", COPY_BYTES, SM_GBENCH_RATE | SM_GBENCH_EACH_ITERATION | SM_GBENCH_1024);
}

/* Also: the JSON is whole, holds our prefixed counter and context, and every repetition. */
static void team_rate_times_time_is_bytes(void **unused)
{
    (void)unused;
    char why[256] = "", folder[] = "gbench.XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/out.json", folder);
    static const char *const context[] = {"seed=7"};
    const struct sm_gbench_options options = {.json_path = path, .context = context, .context_count = 1};
    struct sm_gbench *g = sm_gbench_open(&options, why, sizeof why);
    assert_non_null(g);
    size_t threads = 0;
    struct seen seen = {0};
    const struct sm_gbench_reporter r = {&seen, on_sample};
    const struct sm_gbench_benchmark b = {.name = "copy/t2",
                                          .body = copying_body,
                                          .user = &threads,
                                          .time = SM_GBENCH_TIME_REAL,
                                          .min_time = 0.005,
                                          .repetitions = 3};
    assert_int_equal(sm_gbench_run(g, &b, &r, why, sizeof why), 0);
    assert_int_equal(sm_gbench_run(g, &b, &r, why, sizeof why), 0); /* a second one goes into the same file */
    assert_int_equal(sm_gbench_close(g, why, sizeof why), 0);
    assert_int_equal(threads, 2);
    assert_int_equal(seen.samples, 6);

    json_error_t error;
    json_t *json = json_load_file(path, 0, &error);
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(json_object_get(json, "context"), "seed")), "7");
    json_t *runs = json_object_get(json, "benchmarks"), *one;
    size_t index, iterations = 0;
    json_array_foreach(runs, index, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "run_type")), "iteration")) continue;
        const double rate = json_number_value(json_object_get(one, "sm_bytes"));
        const double ns = json_number_value(json_object_get(one, "real_time"));
        near(rate * ns * 1e-9 / COPY_BYTES, 1, 1e-3);
        near(seen.seconds[iterations] / (double)seen.iterations[iterations] * 1e9 / ns, 1, 1e-6);
        iterations++;
    }
    assert_int_equal(iterations, 6);
    json_decref(json);
    assert_null(sm_gbench_open(&options, why, sizeof why)); /* never overwritten */
    assert_non_null(strstr(why, "there already"));
    unlink(path);
    rmdir(folder);
    assert_null(sm_gbench_open(&options, why, sizeof why)); /* the folder is gone */
    assert_non_null(strstr(why, "No such file"));
}

static int parse(struct sm_gbench_flags *flags, const char *word, char *why)
{
    char copy[128];
    snprintf(copy, sizeof copy, "%s", word);
    char *words[] = {copy};
    *why = 0;
    return sm_gbench_flags_parse(flags, words, 1, why, 256);
}

static void flags_are_strict(void **unused)
{
    (void)unused;
    static const char *const bad[] = {"--benchmark_filter=([",
                                      "--benchmark_filter",
                                      "--benchmark_min_time=0.1x",
                                      "--benchmark_min_time=-1",
                                      "--benchmark_min_time=",
                                      "--benchmark_repetitions=0",
                                      "--benchmark_repetitions=3x",
                                      "--benchmark_format=csv",
                                      "--benchmark_perf_counters=CYCLES",
                                      "--benchmark_report_aggregates_only=true",
                                      "--benchmark_nonsense=1",
                                      "--filter=x",
                                      "stray",
                                      "--benchmark_context=novalue"};
    struct sm_gbench_flags flags;
    char why[256];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(parse(&flags, bad[i], why), -1);
        assert_true(strlen(why) > 10);
    }
    assert_int_equal(parse(&flags, "--benchmark_min_time=0.25s", why), 0);
    near(flags.min_time, 0.25, 0);
    assert_int_equal(parse(&flags, "--benchmark_min_time=0.25", why), 0);
    near(flags.min_time, 0.25, 0);
    assert_int_equal(parse(&flags, "--benchmark_repetitions=9", why), 0);
    assert_int_equal(flags.repetitions, 9);
    assert_int_equal(parse(&flags, "--benchmark_list_tests", why), 0);
    assert_int_equal(flags.list, 1);
}

static void filters_match_our_names(void **unused)
{
    (void)unused;
    char why[256];
    assert_int_equal(sm_gbench_matches("^a.*=3$", "a/b=3", why, sizeof why), 1);
    assert_int_equal(sm_gbench_matches("-^a", "a/b=3", why, sizeof why), 0);
    assert_int_equal(sm_gbench_matches("c", "a/b=3", why, sizeof why), 0);
    assert_int_equal(sm_gbench_matches(NULL, "a/b=3", why, sizeof why), 1);
    assert_int_equal(sm_gbench_matches("(", "a", why, sizeof why), -1);
    assert_non_null(strstr(why, "no regular expression"));
}

static void stray_variables_are_gone(void **unused)
{
    (void)unused;
    assert_null(getenv("BENCHMARK_FILTER"));
    if (!environment_count) skip(); /* run by hand: nothing was set */
    assert_non_null(strstr(environment, "BENCHMARK_FILTER=nothing"));
    assert_int_equal(environment_count, 5);
}

static void empty_body(struct sm_gbench_state *state, void *user)
{
    const size_t n = sm_gbench_begin(state);
    for (size_t i = 0; i < n; i++) sm_gbench_use(user);
    sm_gbench_end(state);
}

static void empty_body_costs_under_a_nanosecond(void **unused)
{
    (void)unused;
    const struct sm_gbench_benchmark b = {
        .name = "empty", .body = empty_body, .time = SM_GBENCH_TIME_REAL, .min_time = 0.02, .repetitions = 9};
    const struct seen seen = run(&b, 0);
    double best = 1;
    for (size_t i = 0; i < seen.samples; i++) {
        const double each = seen.seconds[i] / (double)seen.iterations[i];
        if (each < best) best = each;
    }
    print_message("empty body: %.3f ns an iteration\n", 1e9 * best);
    assert_true(best < 1e-9);
}

int main(int argc, char **argv)
{
    environment_count = sm_gbench_clear_environment(environment, sizeof environment);
    const struct CMUnitTest timed[] = {cmocka_unit_test(empty_body_costs_under_a_nanosecond)};
    if (argc > 1 && !strcmp(argv[1], "timed")) return cmocka_run_group_tests(timed, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stray_variables_are_gone), cmocka_unit_test(reported_is_executed),
        cmocka_unit_test(warm_up_happens),          cmocka_unit_test(refusals),
        cmocka_unit_test(lapses_are_errors),        cmocka_unit_test(team_rate_times_time_is_bytes),
        cmocka_unit_test(flags_are_strict),         cmocka_unit_test(filters_match_our_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
