/* Every state of a counter, without hardware: this program's own syscall() stands before the C library's,
 * for PAPI too, and answers perf_event_open for hardware events as each case wants. PAPI keeps what it
 * learnt, so each case is a process of its own. */
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "counters.h"

static int refuse_with;        /* errno for hardware events; 0: let them through, or substitute */
static int substitute = -1;    /* the software event that stands in for hardware events */
static double count_share = 1; /* of what bare counters count, that they show */
static double time_share = -1; /* of the time that bare counters claim to have run */

/* The bare call, since the name `syscall` is taken. */
static long raw(long number, long a, long b, long c, long d, long e)
{
    long result;
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    result = x0;
#endif
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

long syscall(long number, ...)
{
    va_list list;
    va_start(list, number);
    const long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    const long d = va_arg(list, long), e = va_arg(list, long);
    va_end(list);
    if (number != SYS_perf_event_open) return raw(number, a, b, c, d, e);
    struct perf_event_attr attr = *(const struct perf_event_attr *)a;
    const int hardware = attr.type != PERF_TYPE_SOFTWARE;
    if (hardware && refuse_with) {
        errno = refuse_with;
        return -1;
    }
    if (hardware && substitute >= 0) {
        attr.type = PERF_TYPE_SOFTWARE;
        attr.config = (__u64)substitute;
        attr.config1 = attr.config2 = 0;
    }
    return raw(number, (long)&attr, b, c, d, e);
}

ssize_t read(int fd, void *buffer, size_t bytes)
{
    const ssize_t got = raw(SYS_read, fd, (long)buffer, (long)bytes, 0, 0);
    if (got != 3 * sizeof(uint64_t)) return got;
    uint64_t *values = buffer;
    values[0] = (uint64_t)((double)values[0] * count_share);
    if (time_share >= 0) {
        values[0] = (uint64_t)((double)values[0] * time_share);
        values[2] = (uint64_t)((double)values[1] * time_share);
    }
    return got;
}

enum {
    PAPI_STEPS = 1 << SM_COUNTER_PRESET | 1 << SM_COUNTER_GENERIC,
    BARE_STEP = 1 << SM_COUNTER_BARE,
    SOFTWARE_STEP = 1 << SM_COUNTER_SOFTWARE
};

/* The preset and the bare event are asked for as instructions and judged by page faults, so that the
 * substitute "page faults" is right. */
static const struct sm_counter_group group = {
    .name = "test",
    .count = 1,
    .defs = {{"faults", "1", "touch", "PAPI_TOT_INS", "", "hardware:instructions", "rusage:faults"}}};

/* Runs in a child; exit 0 when the counter came out as wanted. */
static void expect(unsigned masked, enum sm_counter_state state, enum sm_counter_step step)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct sm_counters *counters = sm_counters_create(&group, masked);
        const struct sm_counter *c = sm_counters_at(counters, 0);
        const int right = c->state == state && c->step == step;
        if (!right)
            fprintf(stderr, "wanted %s in step %d, got %s in step %d (%s: %s)\n", sm_counter_state_name(state), step,
                    sm_counter_state_name(c->state), c->step, c->provider, c->why);
        sm_counters_destroy(counters);
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int reset(void **state)
{
    (void)state;
    refuse_with = 0;
    substitute = -1;
    time_share = -1;
    count_share = 1;
    return 0;
}

static void refusals_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        int error;
        enum sm_counter_state state;
    } cases[] = {{ENOENT, SM_COUNTER_ABSENT},
                 {EACCES, SM_COUNTER_DENIED},
                 {EPERM, SM_COUNTER_DENIED},
                 {ENOSYS, SM_COUNTER_FILTERED},
                 {EMFILE, SM_COUNTER_BUSY}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refuse_with = cases[i].error;
        expect(BARE_STEP | SOFTWARE_STEP, cases[i].state, SM_COUNTER_PRESET);
        expect(PAPI_STEPS | SOFTWARE_STEP, cases[i].state, SM_COUNTER_BARE);
    }
}

static void opening_is_no_evidence(void **state)
{
    (void)state;
    substitute = PERF_COUNT_SW_DUMMY;
    expect(BARE_STEP | SOFTWARE_STEP, SM_COUNTER_ZERO, SM_COUNTER_PRESET);
    expect(PAPI_STEPS | SOFTWARE_STEP, SM_COUNTER_ZERO, SM_COUNTER_BARE);
    substitute = PERF_COUNT_SW_TASK_CLOCK;
    expect(BARE_STEP | SOFTWARE_STEP, SM_COUNTER_IMPLAUSIBLE, SM_COUNTER_PRESET);
    expect(PAPI_STEPS | SOFTWARE_STEP, SM_COUNTER_IMPLAUSIBLE, SM_COUNTER_BARE);
    substitute = PERF_COUNT_SW_PAGE_FAULTS;
    count_share = 0.5;
    expect(PAPI_STEPS | SOFTWARE_STEP, SM_COUNTER_IMPLAUSIBLE, SM_COUNTER_BARE);
}

static void the_right_count_is_usable_and_the_first_step_wins(void **state)
{
    (void)state;
    substitute = PERF_COUNT_SW_PAGE_FAULTS;
    expect(0, SM_COUNTER_USABLE, SM_COUNTER_PRESET);
    expect(PAPI_STEPS, SM_COUNTER_USABLE, SM_COUNTER_BARE);
    expect(PAPI_STEPS | BARE_STEP, SM_COUNTER_USABLE, SM_COUNTER_SOFTWARE);
    refuse_with = ENOENT;
    expect(0, SM_COUNTER_USABLE, SM_COUNTER_SOFTWARE);
}

static void time_not_running_is_busy_or_multiplexed(void **state)
{
    (void)state;
    substitute = PERF_COUNT_SW_PAGE_FAULTS;
    time_share = 0;
    expect(PAPI_STEPS | SOFTWARE_STEP, SM_COUNTER_BUSY, SM_COUNTER_BARE);
    time_share = 0.5;
    expect(PAPI_STEPS | SOFTWARE_STEP, SM_COUNTER_MULTIPLEXED, SM_COUNTER_BARE);
}

static void no_name_is_unmapped_and_no_work_is_unverified(void **state)
{
    (void)state;
    struct sm_counter_group other = {.name = "test", .count = 2};
    other.defs[0] = (struct sm_counter_def){"unknown", "1", "touch", "PAPI_NO_SUCH", "perf::NO-SUCH", "", ""};
    other.defs[1] = (struct sm_counter_def){"unjudged", "1", "", "", "", "software:page-faults", ""};
    struct sm_counters *counters = sm_counters_create(&other, 0);
    assert_int_equal(sm_counters_at(counters, 0)->state, SM_COUNTER_UNMAPPED);
    assert_int_equal(sm_counters_at(counters, 1)->state, SM_COUNTER_UNVERIFIED);

    double values[SM_COUNTERS_MOST];
    struct sm_counter_thread *t = sm_counters_open(counters);
    sm_counters_read(t, values);
    assert_true(isnan(values[0]) && isnan(values[1]));
    sm_counters_close(t);
    sm_counters_destroy(counters);
}

/* A sanitizer's shadow would be touched as well, and counted. */
__attribute__((no_sanitize("address", "thread"))) static void touch(volatile char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 4096) p[i] = 1;
}

/* Thread t touches 100 (t + 1) fresh pages and must read exactly that. */
static void count_in_team(unsigned masked, int threads)
{
    struct sm_counters *counters = sm_counters_create(&group, masked);
    double counted[8] = {0};
#pragma omp parallel num_threads(threads)
    {
        const int t = omp_get_thread_num();
        const size_t bytes = 100 * (size_t)(t + 1) * 4096;
        volatile char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        double before[SM_COUNTERS_MOST], after[SM_COUNTERS_MOST];
        struct sm_counter_thread *c = sm_counters_open(counters);
#pragma omp barrier /* all count at once */
        sm_counters_read(c, before);
        sm_counters_read(c, after); /* the reading code itself is in memory now */
        sm_counters_read(c, before);
        touch(p, bytes);
        sm_counters_read(c, after);
#pragma omp barrier
        sm_counters_close(c);
        counted[t] = after[0] - before[0];
    }
    for (int t = 0; t < threads; t++)
        if (counted[t] != 100 * (t + 1)) {
            fprintf(stderr, "masked %x, thread %d of %d: counted %g\n", masked, t, threads, counted[t]);
            _exit(1);
        }
    sm_counters_destroy(counters);
}

static void each_thread_counts_its_own(void **state)
{
    (void)state;
    substitute = PERF_COUNT_SW_PAGE_FAULTS;
    static const unsigned masks[] = {0, PAPI_STEPS, PAPI_STEPS | BARE_STEP};
    for (size_t m = 0; m < 3; m++)
        for (int threads = 1; threads <= 4; threads *= 2) {
            const pid_t child = fork();
            if (child == 0) {
                count_in_team(masks[m], threads);
                count_in_team(masks[m], threads); /* and again in a team that exists already */
                _exit(0);
            }
            int status;
            assert_int_equal(waitpid(child, &status, 0), child);
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
}

static void unusable_counters_are_null_in_records(void **state)
{
    (void)state;
    refuse_with = ENOENT;
    struct sm_counters *counters = sm_counters_create(&group, PAPI_STEPS | SOFTWARE_STEP);
    struct sm_record *record = sm_record_create("bench", "x");
    sm_counters_record(counters, (const double[]){0}, "thread 0", record);
    const json_t *c = json_array_get(json_object_get(sm_record_json(record), "counters"), 0);
    assert_true(json_is_null(json_object_get(c, "value")));
    assert_string_equal(json_string_value(json_object_get(c, "state")), "absent");
    assert_true(json_is_string(json_object_get(c, "why")));
    sm_record_destroy(record);
    sm_counters_destroy(counters);
}

static void groups_load_and_bad_ones_get_a_sentence(void **state)
{
    (void)state;
    struct sm_counter_group g;
    char why[512], path[512];
    for (const char *const *name = (const char *const[]){"core", "cache", "branch", "tlb", "software", NULL}; *name;
         name++) {
        snprintf(path, sizeof path, "%s/profiles/counters/%s.group", SM_SOURCE_DIR, *name);
        if (sm_counter_group_load(path, &g, why, sizeof why)) fail_msg("%s", why);
        assert_string_equal(g.name, *name);
        assert_true(g.count >= 1 && *g.summary);
    }
    static const char *const bad[] = {"instructions 1\n",
                                      "x 1 dance - - - -\n",
                                      "x 1 - - - hardware:dance -\n",
                                      "x 1 - - - - rusage:dance\n",
                                      "x 1 - - - - - extra\n",
                                      "x 1 - - - - -\nx 1 - - - - -\n",
                                      "name_that_is_much_too_long_to_be_one 1 - - - - -\n",
                                      "# nothing\n",
                                      "\xff\xfe\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char file[] = "group-XXXXXX";
        const int fd = mkstemp(file);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, bad[i], strlen(bad[i])), strlen(bad[i]));
        close(fd);
        *why = 0;
        const int result = sm_counter_group_load(file, &g, why, sizeof why);
        unlink(file);
        if (!result || !*why) fail_msg("accepted: %s", bad[i]);
    }
}

int main(void)
{
    /* PAPI 7.0.0 switches itself off on CPUs that its libpfm4 does not know; its path is tested anyway. */
    setenv("LIBPFM_FORCE_PMU", "skx", 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(refusals_are_told_apart, reset),
        cmocka_unit_test_setup(opening_is_no_evidence, reset),
        cmocka_unit_test_setup(the_right_count_is_usable_and_the_first_step_wins, reset),
        cmocka_unit_test_setup(time_not_running_is_busy_or_multiplexed, reset),
        cmocka_unit_test_setup(each_thread_counts_its_own, reset),
        cmocka_unit_test_setup(no_name_is_unmapped_and_no_work_is_unverified, reset),
        cmocka_unit_test_setup(unusable_counters_are_null_in_records, reset),
        cmocka_unit_test_setup(groups_load_and_bad_ones_get_a_sentence, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
