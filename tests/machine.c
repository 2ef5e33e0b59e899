/* Machine facts are there or null, pins hold, witnesses see what was done to a sample. */
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "facts_fixture.h"
#include "machine.h"
#include "machine_facts.h"
#include "memory_peak.h"
#include "play_pmu.h"
#include "witness.h"

static void facts_are_there_or_null(void **state)
{
    (void)state;
    json_t *m = sm_machine_json();
    for (const char *const *key =
             (const char *const[]){"cpu", "vendor", "cores", "isa", "features", "l1d_bytes", "l2_bytes", "l3_bytes",
                                   "memory_bytes", "tsc_hz", "kernel", "hypervisor", "governor", "turbo", "huge_pages",
                                   "numa_nodes", NULL};
         *key; key++)
        if (!json_object_get(m, *key)) fail_msg("no fact %s", *key);
    const char *text;
    json_t *value;
    json_object_foreach(m, text, value) if (json_is_integer(value) && strcmp(text, "aslr") &&
                                            strcmp(text, "perf_event_paranoid"))
        assert_true(json_integer_value(value) > 0); /* unknown is null, never 0 */
    assert_true(sm_machine()->threads >= 1);
    json_object_clear(m); /* a copy: the next one is whole */
    json_decref(m);
    m = sm_machine_json();
    assert_non_null(json_object_get(m, "cpu"));
    json_decref(m);
}

static void pins_hold_and_are_given_back(void **state)
{
    (void)state;
    static struct sm_pin pin;
    char why[256] = "";
    const int threads = sm_machine()->threads;
    assert_int_equal(sm_pin_plan(&pin, threads + 1, why, sizeof why), -1);
    assert_true(*why);
    if (sm_pin_plan(&pin, threads, why, sizeof why)) fail_msg("%s", why);
    for (int i = 0; i < threads; i++)
        for (int j = 0; j < i; j++) assert_int_not_equal(pin.cpu[i], pin.cpu[j]);
    int wrong = 0;
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
    {
        char text[256];
        const int t = omp_get_thread_num();
        wrong += sm_pin_self(&pin, t, text, sizeof text) != 0 || sched_getcpu() != pin.cpu[t];
        wrong += sm_unpin_self(text, sizeof text) != 0;
        cpu_set_t now;
        wrong += sched_getaffinity(0, sizeof now, &now) || CPU_COUNT(&now) != threads;
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(sm_pin_self(&pin, threads, why, sizeof why), -1);

    if (sm_pin_team(&pin, threads, why, sizeof why)) fail_msg("%s", why);
    json_t *cpus = sm_pin_json(&pin);
#pragma omp parallel num_threads(threads) reduction(+ : wrong) /* they stay for the next region */
    {
        const int t = omp_get_thread_num();
        wrong += sched_getcpu() != (int)json_integer_value(json_array_get(cpus, (size_t)t));
    }
    json_decref(cpus);
    assert_int_equal(wrong, 0);
    sm_unpin_team(threads);
    cpu_set_t now;
    assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
    assert_int_equal(CPU_COUNT(&now), threads);
    assert_int_equal(sm_pin_team(&pin, threads + 1, why, sizeof why), -1);
}

static bool has_flag(const json_t *witnesses, const char *name)
{
    size_t i;
    const json_t *flag;
    json_array_foreach(json_object_get(witnesses, "flags"), i,
                       flag) if (!strcmp(json_string_value(flag), name)) return true;
    return false;
}

static json_t *watch(void (*work)(void), size_t samples, size_t room)
{
    struct sm_witnesses *w = sm_witnesses_create(room, SM_WITNESS_THREAD);
    assert_non_null(w);
    sm_witnesses_begin(w);
    for (size_t i = 0; i < samples; i++) {
        sm_witnesses_sample_begin(w);
        const uint64_t start = sm_clock_ns();
        work();
        sm_witnesses_sample_end(w, (double)(sm_clock_ns() - start));
    }
    sm_witnesses_end(w);
    json_t *json = sm_witnesses_json(w);
    assert_non_null(json);
    sm_witnesses_destroy(w);
    return json;
}

static void nothing(void)
{
}

static void sleep_a_little(void)
{
    nanosleep(&(struct timespec){0, 2000000}, NULL);
}

static void touch_fresh_pages(void)
{
    volatile char *p = mmap(NULL, 40960, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 40960; i += 4096) p[i] = 1;
}

static void witnesses_see_what_happened(void **state)
{
    (void)state;
    json_t *w = watch(sleep_a_little, 3, 3);
    assert_true(has_flag(w, "preempted")); /* wall time that is not CPU time */
    assert_false(has_flag(w, "short_sample"));
    assert_int_equal(json_array_size(json_object_get(w, "cpu_ns")), 3);
    json_decref(w);
    w = watch(touch_fresh_pages, 2, 2);
    assert_true(has_flag(w, "page_faults"));
    assert_true(json_integer_value(json_array_get(json_object_get(w, "page_faults"), 1)) >= 10);
    json_decref(w);
    w = watch(nothing, 5, 2); /* more samples than room: the first ones are kept */
    assert_true(has_flag(w, "short_sample"));
    assert_int_equal(json_array_size(json_object_get(w, "migrations")), 2);
    json_decref(w);
}

/* The machine's clock, and from the planted change on one that runs slower: a core that became so much faster, by more
 * than what neighbours take of it meanwhile. */
static double planted_rate = 1;
static int64_t planted_at;

int clock_gettime(clockid_t id, struct timespec *t)
{
    const int result = (int)syscall(SYS_clock_gettime, id, t);
    if (result || id != CLOCK_MONOTONIC || !planted_at) return result;
    const int64_t now = (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
    const int64_t seen = planted_at + (int64_t)((double)(now - planted_at) * planted_rate);
    *t = (struct timespec){seen / 1000000000, seen % 1000000000};
    return 0;
}

static void change_the_clock(void)
{
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    planted_at = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    planted_rate = 0.05;
}

static void a_planted_change_of_the_clock_is_flagged(void **state)
{
    (void)state;
    if (isnan(sm_core_hz())) skip(); /* no ruler for this architecture */
    json_t *w = watch(change_the_clock, 1, 1);
    planted_at = 0;
    assert_true(has_flag(w, "clock_drift"));
    const json_t *sample = json_array_get(json_object_get(w, "core_hz_samples"), 0);
    const double before = json_number_value(json_array_get(sample, 0)),
                 after = json_number_value(json_array_get(sample, 1));
    if (!(after > 3 * before)) fail_msg("the sample saw %g and %g Hz", before, after);
    json_decref(w);
}

static void change_the_clock_back(void)
{
    planted_at = 0;
}

static void cycles_are_counted_by_the_median_of_the_clocks(void **state)
{
    (void)state;
    if (isnan(sm_core_hz())) skip();
    change_the_clock();
    json_t *w = watch(change_the_clock_back, 5, 5);
    const double before = json_number_value(json_object_get(w, "core_hz_before")),
                 after = json_number_value(json_object_get(w, "core_hz_after")),
                 median = json_number_value(json_object_get(w, "core_hz"));
    if (!(before > 3 * after && median < 3 * after)) fail_msg("%g Hz of %g and %g", median, before, after);
    json_decref(w);
}

/* CPUs that this process may use, at most 2. */
static int two_cpus(size_t cpu[2])
{
    cpu_set_t allowed;
    int count = 0;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    for (size_t c = 0; c < CPU_SETSIZE && count < 2; c++)
        if (CPU_ISSET(c, &allowed)) cpu[count++] = c;
    return count;
}

static void go_to(size_t cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

static size_t other_cpu;

static void move_over(void)
{
    go_to(other_cpu);
}

static void a_planted_migration_is_flagged(void **state)
{
    (void)state;
    size_t cpu[2];
    cpu_set_t before;
    if (two_cpus(cpu) < 2) skip();
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    go_to(cpu[0]);
    other_cpu = cpu[1];
    json_t *w = watch(move_over, 1, 1);
    assert_true(has_flag(w, "migrated"));
    json_decref(w);
    w = watch(nothing, 3, 3); /* pinned: it stays where it is */
    assert_false(has_flag(w, "migrated"));
    json_decref(w);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void work_a_while(void)
{
    const uint64_t start = sm_clock_thread_cpu_ns();
    while (sm_clock_thread_cpu_ns() - start < 40000000) {
    }
}

/* Another process at work on the same CPU. */
static void a_planted_neighbour_is_flagged(void **state)
{
    (void)state;
    size_t cpu[2];
    cpu_set_t before;
    two_cpus(cpu);
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    go_to(cpu[0]);
    const pid_t neighbour = fork();
    assert_true(neighbour >= 0);
    if (neighbour == 0)
        for (volatile unsigned long i = 0;; i++) {
        }
    json_t *w = watch(work_a_while, 1, 1);
    kill(neighbour, SIGKILL);
    waitpid(neighbour, NULL, 0);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_true(has_flag(w, "preempted"));
    assert_true(json_integer_value(json_array_get(json_object_get(w, "involuntary_switches"), 0)) > 0);
    json_decref(w);
}

/* Control groups of both versions, made of files. */
static void a_group_limits_memory(void **state)
{
    (void)state;
    char root[] = "/tmp/sm_groups_XXXXXX", list[64], path[128];
    static const char *const folders[] = {"/a", "/a/b", "/memory", "/memory/c"};
    static const char *const files[] = {"/list", "/a/memory.max", "/a/b/memory.max", "/memory/memory.limit_in_bytes",
                                        "/memory/c/memory.limit_in_bytes"};
    assert_non_null(mkdtemp(root));
    snprintf(list, sizeof list, "%s/list", root);
    fixture_write_fact(root, "list", "0::/a/b\n");
    assert_int_equal(sm_fact_memory_limit(list, root), 0);
    fixture_write_fact(root, "a/b/memory.max", "max\n");
    assert_int_equal(sm_fact_memory_limit(list, root), 0);
    fixture_write_fact(root, "a/memory.max", "2147483648\n"); /* that of the group above binds */
    assert_int_equal(sm_fact_memory_limit(list, root), 2147483648);
    fixture_write_fact(root, "a/b/memory.max", "1000000\n");
    assert_int_equal(sm_fact_memory_limit(list, root), 1000000);
    fixture_write_fact(root, "list", "5:cpu:/c\n4:memory:/c\n");
    fixture_write_fact(root, "memory/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
    assert_int_equal(sm_fact_memory_limit(list, root), 0);
    fixture_write_fact(root, "memory/c/memory.limit_in_bytes", "4096000\n");
    assert_int_equal(sm_fact_memory_limit(list, root), 4096000);
    assert_int_equal(sm_fact_memory_limit("/nowhere", root), 0);
    for (size_t i = sizeof files / sizeof *files; i-- > 0;) {
        snprintf(path, sizeof path, "%s%s", root, files[i]);
        unlink(path);
    }
    for (size_t i = sizeof folders / sizeof *folders; i-- > 0;) {
        snprintf(path, sizeof path, "%s%s", root, folders[i]);
        rmdir(path);
    }
    assert_int_equal(rmdir(root), 0);
}

/* The machine's memory is what its control group leaves of it: in a process that has not asked before. */
static void no_more_memory_than_the_group_has(void **state)
{
    (void)state;
    char root[] = "/tmp/sm_groups_XXXXXX", line[64];
    if (access("/proc/self/cgroup", R_OK)) skip();
    assert_non_null(mkdtemp(root));
    fixture_write_fact(root, "sys/fs/cgroup/memory.max", "104857600\n");
    fixture_write_fact(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n");
    const pid_t child = fork();
    if (!child) {
        play.sys = root;
        _exit(sm_machine()->memory_bytes == 104857600 ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    snprintf(line, sizeof line, "rm -r %s", root);
    assert_int_equal(system(line), 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void a_peak_starts_afresh(void **state)
{
    (void)state;
    const size_t bytes = (size_t)256 << 20;
    if (!sm_memory_peak_restart()) skip();
    const int64_t before = sm_memory_peak();
    char *large = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(large != MAP_FAILED);
    memset(large, 1, bytes);
    munmap(large, bytes);
    assert_true(sm_memory_peak() >= before + (int64_t)bytes / 2);
    assert_true(sm_memory_peak_restart());
    assert_true(sm_memory_peak() < before + (int64_t)bytes / 2);
}

static void clocks_move_forward(void **state)
{
    (void)state;
    const uint64_t start = sm_clock_ns(), cpu = sm_clock_thread_cpu_ns();
    const struct sm_timer timer = sm_clock_timer();
    assert_true(timer.cost_ns > 0 && timer.resolution_ns > 0);
    assert_true(sm_clock_ns() > start && sm_clock_thread_cpu_ns() > cpu);
#if defined(__x86_64__)
    const uint64_t ticks = sm_tsc_ticks();
    assert_true(sm_core_hz() > 1e8 && sm_core_hz() < 1e10 && sm_tsc_hz() > 1e8 && sm_tsc_hz() < 1e10);
    assert_true(sm_tsc_ticks() > ticks);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_more_memory_than_the_group_has), /* the first: nobody has asked yet */
        cmocka_unit_test(facts_are_there_or_null),
        cmocka_unit_test(pins_hold_and_are_given_back),
        cmocka_unit_test(witnesses_see_what_happened),
        cmocka_unit_test(a_group_limits_memory),
        cmocka_unit_test(a_peak_starts_afresh),
        cmocka_unit_test(a_planted_change_of_the_clock_is_flagged),
        cmocka_unit_test(cycles_are_counted_by_the_median_of_the_clocks),
        cmocka_unit_test(a_planted_migration_is_flagged),
        cmocka_unit_test(a_planted_neighbour_is_flagged),
        cmocka_unit_test(clocks_move_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
