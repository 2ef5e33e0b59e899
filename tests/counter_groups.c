/* The formulas of the groups that come with the project, against what they are worth for known counts; what a team's
 * record makes of known work; and units of the machine on several CPUs (play_pmu.h). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "clock.h"

#include "counter_formula.h"
#include "counter_step.h"
#include "counter_team.h"
#include "counters.h"
#include "facts_fixture.h"
#include "play_pmu.h"

/* What each counter has counted, and the call that was counted: primes, so that no two formulas agree by chance. */
static const struct {
    const char *name;
    double value;
} given[] = {{"instructions", 11},
             {"cycles", 5},
             {"branches", 23},
             {"branch_misses", 3},
             {"l1d_misses", 13},
             {"l2_misses", 7},
             {"llc_misses", 17},
             {"dtlb_misses", 19},
             {"itlb_misses", 29},
             {"imc_read", 31},
             {"imc_write", 37},
             {"umc_reads", 41},
             {"umc_writes", 43},
             {"package_energy", 47},
             {"memory_energy", 53},
             {"page_faults", 59},
             {"context_switches", 61},
             {"migrations", 67},
             {"task_clock", 71},
             {"time", 2},
             {"tokens", 79},
             {"ops", 83},
             {"line", 64}};

static bool lookup(void *context, const char *name, double *value)
{
    (void)context;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (!strcmp(given[i].name, name)) return *value = given[i].value, true;
    return false;
}

static const struct {
    const char *group, *metric, *unit;
    double value;
} metrics[] = {{"core", "ipc", "instructions/cycle", 11.0 / 5},
               {"core", "cycles_per_op", "cycles/op", 5.0 / 83},
               {"core", "instructions_per_token", "instructions/token", 11.0 / 79},
               {"branch", "branch_miss_share", "misses/branch", 3.0 / 23},
               {"cache", "l1d_misses_per_token", "misses/token", 13.0 / 79},
               {"cache", "llc_misses_per_token", "misses/token", 17.0 / 79},
               {"cache", "llc_miss_bandwidth", "B/s", 17.0 * 64 / 2},
               {"energy", "package_power", "W", 47.0 / 2},
               {"energy", "package_energy_per_token", "J/token", 47.0 / 79},
               {"memory", "imc_bandwidth", "B/s", 68.0 * 1048576 / 2},
               {"memory", "umc_bandwidth", "B/s", 84.0 * 64 / 2},
               {"tlb", "dtlb_misses_per_token", "misses/token", 19.0 / 79}};

static void groups_derive_what_they_say(void **state)
{
    (void)state;
    static const char *const names[] = {"core", "cache", "branch", "tlb", "software", "memory", "energy"};
    size_t seen = 0, known = sizeof metrics / sizeof *metrics;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        struct sm_counter_group g;
        char path[512], why[512];
        snprintf(path, sizeof path, "%s/profiles/counters/%s.group", SM_SOURCE_DIR, names[n]);
        if (sm_counter_group_load(path, &g, why, sizeof why)) fail_msg("%s", why);
        for (size_t m = 0; m < g.metric_count; m++) {
            size_t k = 0;
            while (k < known && (strcmp(metrics[k].group, names[n]) || strcmp(metrics[k].metric, g.metrics[m].name)))
                k++;
            if (k == known) fail_msg("%s: nobody has worked %s out by hand", names[n], g.metrics[m].name);
            const char *wrong;
            const double value = sm_formula_value(g.metrics[m].formula, lookup, NULL, &wrong);
            if (wrong || !(fabs(value / metrics[k].value - 1) < 1e-12))
                fail_msg("%s: %s is %g, not %g", names[n], g.metrics[m].name, value, metrics[k].value);
            assert_string_equal(g.metrics[m].unit, metrics[k].unit);
            seen++;
        }
    }
    assert_int_equal(seen, known);
}

/* A name is counted by the same event at each step, whichever of them this machine has. */
static void names_mean_the_same_at_each_step(void **state)
{
    (void)state;
    static const struct {
        const char *group, *name, *preset, *generic, *bare;
    } table[] = {{"core", "instructions", "PAPI_TOT_INS", "perf::INSTRUCTIONS", "hardware:instructions"},
                 {"core", "cycles", "PAPI_TOT_CYC", "perf::CYCLES", "hardware:cycles"},
                 {"branch", "branches", "PAPI_BR_INS", "perf::BRANCHES", "hardware:branches"},
                 {"branch", "branch_misses", "PAPI_BR_MSP", "perf::BRANCH-MISSES", "hardware:branch-misses"},
                 {"cache", "l1d_misses", "PAPI_L1_DCM", "perf::L1-DCACHE-LOAD-MISSES", "cache:l1d-read-miss"},
                 {"cache", "llc_misses", "PAPI_L3_TCM", "perf::CACHE-MISSES", "hardware:cache-misses"},
                 {"tlb", "dtlb_misses", "PAPI_TLB_DM", "perf::DTLB-LOAD-MISSES", "cache:dtlb-read-miss"},
                 {"tlb", "itlb_misses", "PAPI_TLB_IM", "perf::ITLB-LOAD-MISSES", "cache:itlb-read-miss"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct sm_counter_group g;
        char path[512], why[512];
        snprintf(path, sizeof path, "%s/profiles/counters/%s.group", SM_SOURCE_DIR, table[i].group);
        if (sm_counter_group_load(path, &g, why, sizeof why)) fail_msg("%s", why);
        size_t d = 0;
        while (d < g.count && strcmp(g.defs[d].name, table[i].name)) d++;
        assert_true(d < g.count);
        assert_string_equal(g.defs[d].preset, table[i].preset);
        assert_string_equal(g.defs[d].generic, table[i].generic);
        assert_string_equal(g.defs[d].bare, table[i].bare);
    }
}

static double value_of(struct sm_record *record, const char *name)
{
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(sm_record_json(record), "counters"), i,
                       c) if (!strcmp(json_string_value(json_object_get(c, "name")),
                                      name)) return json_number_value(json_object_get(c, "value"));
    fail_msg("the record has no %s", name);
    return NAN;
}

static void touch_pages(size_t pages)
{
    const size_t page = 4096;
    volatile char *p = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    for (size_t i = 0; i < pages; i++) p[i * page] = 1;
    munmap((void *)(uintptr_t)p, pages * page);
}

/* Two workers, two passes of the same work, four calls of two tokens: a team's counts are added, a call's are its
 * share, its time is the mean of the passes. */
static void a_record_divides_among_calls_and_adds_over_workers(void **state)
{
    (void)state;
    const struct sm_counter_group group = {.name = "two",
                                           .count = 2,
                                           .defs = {{"a", "1", "touch", "", "", "hardware:cache-misses", ""},
                                                    {"b", "1", "touch", "", "", "hardware:branch-misses", ""}},
                                           .metric_count = 4,
                                           .metrics = {{"of_both", "1", "a + b"},
                                                       {"per_token", "1", "a / tokens"},
                                                       {"per_op", "1", "a / ops"},
                                                       {"seconds", "s", "time"}}};
    assert_int_equal(play_as("one-slot"), 0);
    struct sm_counters *counters = sm_counters_create(&group, 0);
    assert_int_equal(sm_counters_passes(counters), 2);
    struct sm_counter_team *team = sm_counter_team_create(counters, 2, 1);
    double outside = 0; /* of worker 0, whose time counts */
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t worker = 0; worker < 2; worker++) {
            sm_counter_team_open(team, pass, worker);
            const uint64_t start = sm_clock_ns();
            sm_counter_team_begin(team, worker);
            touch_pages(worker ? 3600 : 1200);
            sm_counter_team_end(team, worker, 0, 4);
            if (!worker) outside += 1e-9 * (double)(sm_clock_ns() - start);
        }
    struct sm_record *record = sm_record_create("bench", "x");
    sm_counter_team_record(team, 0, &(struct sm_counter_work){2, 10}, record);
    const double a = value_of(record, "a");
    /* (1200 + 3600) / 4, and a few more: a sanitizer's shadow has a page for eight of them */
    assert_true(a >= 1200 && a < 1.2 * 1200);
    assert_true(fabs(value_of(record, "of_both") / (2 * a) - 1) < 0.1);
    assert_true(fabs(value_of(record, "per_token") / (a / 2) - 1) < 1e-9);
    assert_true(fabs(value_of(record, "per_op") / (a / 10) - 1) < 1e-9);
    const double seconds = value_of(record, "seconds"); /* of what was seen from outside: a call of four, mean of two */
    assert_true(seconds > 0 && seconds <= outside / 2 / 4);
    sm_record_destroy(record);
    sm_counter_team_destroy(team);
    sm_counters_destroy(counters);
}

/* A unit that is read on several CPUs counts on each that its list names. */
static void each_cpu_of_a_list_is_counted(void **state)
{
    (void)state;
    static const char *const lists[] = {"0", "0,2", "1-3", "0,2-3,5"};
    static const int cpus[] = {1, 2, 3, 4};
    char folder[] = "lists-XXXXXX", remove[256];
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < 4; i++) {
        char unit[160];
        snprintf(unit, sizeof unit, "%s/sys/bus/event_source/devices/unit_%zu", folder, i);
        fixture_write_fact(unit, "type", "41\n");
        fixture_write_fact(unit, "cpumask", lists[i]);
        fixture_write_fact(unit, "format/event", "config:0-7\n");
    }
    assert_int_equal(play_as("usable"), 0);
    play.sys = folder;
    for (size_t i = 0; i < 4; i++) {
        struct sm_counter_bare bare = {.scale = 1};
        char name[64];
        snprintf(name, sizeof name, "pmu:unit_%zu/event=1", i);
        assert_int_equal(sm_counter_pmu_open(name, &bare), 0);
        assert_int_equal(bare.count, cpus[i]);
        sm_counter_bare_close(&bare);
    }
    play.sys = NULL;
    snprintf(remove, sizeof remove, "rm -r '%s'", folder);
    assert_int_equal(system(remove), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_derive_what_they_say),
        cmocka_unit_test(names_mean_the_same_at_each_step),
        cmocka_unit_test(a_record_divides_among_calls_and_adds_over_workers),
        cmocka_unit_test(each_cpu_of_a_list_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
