/* Variants of one shape are timed in turns: what one does to itself costs the others nothing, and what happens to the
 * machine tells no variant from itself (`test_bench_turns timed`). */
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "machine.h"
#include "matmul_f32/matmul_f32.h"
#include "timed.h"

static void does_nothing(const void *args, struct sm_part part)
{
    (void)args, (void)part;
}

/* Right in its first calls. */
static void tires(const void *args, struct sm_part part)
{
    static size_t calls;
    const struct sm_matmul_f32 *a = args;
    sm_matmul_f32_ref(args, part);
    if (++calls > 2) a->y[0] += 1;
}

/* Two variants of these functions, timed in turns. */
static void time_two(struct sm_timed_session *session, sm_kernel_fn *a, sm_kernel_fn *b, uint64_t seed,
                     struct sm_record *records[2])
{
    struct sm_variant variants[2] = {sm_family_matmul_f32.variants[0], sm_family_matmul_f32.variants[0]};
    struct sm_family family = sm_family_matmul_f32;
    struct sm_bench_case cases[2];
    const struct sm_bench_case *const both[] = {&cases[0], &cases[1]};
    char why[512] = "";
    family.variants = variants;
    family.variant_count = 2;
    for (int i = 0; i < 2; i++) {
        variants[i].name = i ? "b" : "a";
        variants[i].fn = i ? b : a;
        cases[i] = (struct sm_bench_case){.family = &family,
                                          .workload = sm_workload_named("matmul_f32"),
                                          .variant = &variants[i],
                                          .shape = {{3, 96, 64}},
                                          .threads = 1,
                                          .seed = seed,
                                          .id = "matmul_f32/a_or_b/rows=3,out=96,in=64/t1/hot"};
    }
    if (sm_timed_turns(session, both, 2, records, why, sizeof why)) fail_msg("%s", why);
}

/* Where each thread of a team was when it last ran. */
static atomic_int place[2];

static void notes_its_place(const void *args, struct sm_part part)
{
    const int thread = omp_get_thread_num();
    sm_matmul_f32_ref(args, part);
    if (thread < 2) place[thread] = sched_getcpu();
}

/* Workers are timed where their record says, each on its own CPU. */
static void teams_run_where_the_record_says(void **state)
{
    struct sm_timed_session *session = *state;
    const size_t most = sm_machine()->threads > 1 ? 2 : 1;
    struct sm_variant variant = sm_family_matmul_f32.variants[0];
    struct sm_family family = sm_family_matmul_f32;
    variant.fn = notes_its_place;
    family.variants = &variant;
    family.variant_count = 1;
    for (size_t threads = 1; threads <= most; threads++) {
        const struct sm_bench_case c = {.family = &family,
                                        .workload = sm_workload_named("matmul_f32"),
                                        .variant = &variant,
                                        .shape = {{3, 96, 64}},
                                        .threads = threads,
                                        .seed = 1,
                                        .id = "matmul_f32/placed/rows=3,out=96,in=64/t/hot"};
        char why[512] = "";
        struct sm_record *r = sm_timed_record(session, &c, why, sizeof why);
        if (!r) fail_msg("%s", why);
        const json_t *cpus = json_object_get(json_object_get(sm_record_json(r), "witnesses"), "cpus");
        assert_int_equal(json_array_size(cpus), threads);
        for (size_t t = 0; t < threads; t++) assert_int_equal(place[t], json_integer_value(json_array_get(cpus, t)));
        sm_record_destroy(r);
    }
}

static void variants_take_turns(void **state)
{
    struct sm_timed_session *session = *state;
    struct sm_record *records[2];
    time_two(session, sm_matmul_f32_ref, sm_matmul_f32_ref, 1, records);
    for (int i = 0; i < 2; i++) {
        json_t *json = sm_record_json(records[i]);
        assert_string_equal(json_string_value(json_object_get(json, "status")), "ok");
        assert_int_equal(json_array_size(json_object_get(json, "samples")), session->options.repetitions);
        assert_int_equal(json_integer_value(json_object_get(json_object_get(json, "order"), "in_turns_with")), 1);
        const json_t *calls = json_object_get(json, "iterations"); /* the same in each sample */
        assert_true(json_integer_value(json_array_get(calls, 0)) > 0);
        for (size_t k = 1; k < json_array_size(calls); k++)
            assert_true(json_equal(json_array_get(calls, 0), json_array_get(calls, k)));
        sm_record_destroy(records[i]);
    }
    static sm_kernel_fn *const faults[] = {does_nothing, tires};
    for (size_t f = 0; f < 2; f++) { /* one that is wrong, at once or in time, costs the other nothing */
        time_two(session, faults[f], sm_matmul_f32_ref, 1, records);
        assert_string_equal(json_string_value(json_object_get(sm_record_json(records[0]), "status")), "error");
        assert_true(json_is_null(json_object_get(sm_record_json(records[0]), "samples")));
        assert_string_equal(json_string_value(json_object_get(sm_record_json(records[1]), "status")), "ok");
        for (int i = 0; i < 2; i++) sm_record_destroy(records[i]);
    }
}

enum { TRIALS = 60, PAIRS = 20, LEAST = 6, MOST = 14 }; /* 5 or fewer of 20, or 15 or more: 4.1 % by chance */

/* How many of 60 trials would tell a variant from itself, by a sign test on the samples of each round. */
static int false_differences(struct sm_timed_session *session)
{
    int told = 0;
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        struct sm_record *records[2];
        int above = 0;
        time_two(session, sm_matmul_f32_ref, sm_matmul_f32_ref, trial + 1, records);
        const json_t *a = json_object_get(sm_record_json(records[0]), "samples"),
                     *b = json_object_get(sm_record_json(records[1]), "samples");
        for (size_t i = 0; i < PAIRS; i++)
            above += json_number_value(json_array_get(a, i)) > json_number_value(json_array_get(b, i));
        told += above < LEAST || above > MOST;
        for (int i = 0; i < 2; i++) sm_record_destroy(records[i]);
    }
    return told;
}

/* The same variant twice, idle and beside a neighbour at work on every CPU. */
static void a_variant_is_not_told_from_itself(void **state)
{
    struct sm_timed_session session = **(struct sm_timed_session **)state;
    session.options = (struct sm_timed_options){.min_time = 0.001, .repetitions = PAIRS};
    const int idle = false_differences(&session);
    print_message("%d of %d trials differ\n", idle, TRIALS);
    pid_t neighbours[2];
    for (int i = 0; i < 2; i++) {
        neighbours[i] = fork();
        assert_true(neighbours[i] >= 0);
        if (!neighbours[i])
            for (volatile unsigned long n = 0;; n++) {
            }
    }
    const int busy = false_differences(&session);
    for (int i = 0; i < 2; i++) {
        kill(neighbours[i], SIGKILL);
        waitpid(neighbours[i], NULL, 0);
    }
    print_message("%d of %d trials differ beside busy neighbours\n", busy, TRIALS);
    assert_true(idle <= 8 && busy <= 8);
}

static int open_session(void **state)
{
    static struct sm_timed_session session;
    char why[256];
    sm_timed_session_init(&session);
    session.options = (struct sm_timed_options){.min_time = 0.0005, .warm_up = 0.0005, .repetitions = 3};
    session.gbench = sm_gbench_open(&(struct sm_gbench_options){0}, why, sizeof why);
    *state = &session;
    return session.gbench ? 0 : -1;
}

static int close_session(void **state)
{
    char why[256];
    return sm_gbench_close(((struct sm_timed_session *)*state)->gbench, why, sizeof why);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest timed[] = {cmocka_unit_test(a_variant_is_not_told_from_itself)};
    if (argc > 1 && !strcmp(argv[1], "timed")) return cmocka_run_group_tests(timed, open_session, close_session);
    const struct CMUnitTest tests[] = {cmocka_unit_test(variants_take_turns),
                                       cmocka_unit_test(teams_run_where_the_record_says)};
    return cmocka_run_group_tests(tests, open_session, close_session);
}
