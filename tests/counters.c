/* Every state of a counter, without hardware: the PMU is played (play_pmu.h). PAPI keeps what it learnt, so each case
 * is a process of its own. */
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
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "counter_formula.h"
#include "counter_team.h"
#include "counters.h"
#include "facts_fixture.h"
#include "play_pmu.h"
#include "stimulus.h"

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
    play = (struct play){.substitute = PLAY_REAL, .count_share = 1, .time_share = -1};
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
        play.refuse_with = cases[i].error;
        expect(BARE_STEP | SOFTWARE_STEP, cases[i].state, SM_COUNTER_PRESET);
        expect(PAPI_STEPS | SOFTWARE_STEP, cases[i].state, SM_COUNTER_BARE);
    }
}

static void opening_is_no_evidence(void **state)
{
    (void)state;
    play.substitute = PERF_COUNT_SW_DUMMY;
    expect(BARE_STEP | SOFTWARE_STEP, SM_COUNTER_ZERO, SM_COUNTER_PRESET);
    expect(PAPI_STEPS | SOFTWARE_STEP, SM_COUNTER_ZERO, SM_COUNTER_BARE);
    play.substitute = PERF_COUNT_SW_TASK_CLOCK;
    expect(BARE_STEP | SOFTWARE_STEP, SM_COUNTER_IMPLAUSIBLE, SM_COUNTER_PRESET);
    expect(PAPI_STEPS | SOFTWARE_STEP, SM_COUNTER_IMPLAUSIBLE, SM_COUNTER_BARE);
    play.substitute = PERF_COUNT_SW_PAGE_FAULTS;
    play.count_share = 0.5;
    expect(PAPI_STEPS | SOFTWARE_STEP, SM_COUNTER_IMPLAUSIBLE, SM_COUNTER_BARE);
}

static void the_right_count_is_usable_and_the_first_step_wins(void **state)
{
    (void)state;
    play.substitute = PERF_COUNT_SW_PAGE_FAULTS;
    expect(0, SM_COUNTER_USABLE, SM_COUNTER_PRESET);
    expect(PAPI_STEPS, SM_COUNTER_USABLE, SM_COUNTER_BARE);
    expect(PAPI_STEPS | BARE_STEP, SM_COUNTER_USABLE, SM_COUNTER_SOFTWARE);
    play.refuse_with = ENOENT;
    expect(0, SM_COUNTER_USABLE, SM_COUNTER_SOFTWARE);
}

static void time_not_running_is_busy_or_multiplexed(void **state)
{
    (void)state;
    play.substitute = PERF_COUNT_SW_PAGE_FAULTS;
    play.time_share = 0;
    expect(PAPI_STEPS | SOFTWARE_STEP, SM_COUNTER_BUSY, SM_COUNTER_BARE);
    play.time_share = 0.5;
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

    struct sm_counter_reading reading;
    struct sm_counter_thread *t = sm_counters_open(counters, 0, true);
    sm_counters_read(t, &reading);
    assert_true(isnan(reading.at[0].count) && isnan(reading.at[1].count));
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
        struct sm_counter_reading before, after;
        double share;
        struct sm_counter_thread *c = sm_counters_open(counters, 0, t == 0);
#pragma omp barrier /* all count at once */
        sm_counters_read(c, &before);
        sm_counters_read(c, &after); /* the reading code itself is in memory now */
        sm_counters_read(c, &before);
        touch(p, bytes);
        sm_counters_read(c, &after);
#pragma omp barrier
        sm_counters_close(c);
        counted[t] = sm_counter_between(&before.at[0], &after.at[0], &share);
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
    play.substitute = PERF_COUNT_SW_PAGE_FAULTS;
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
    play.refuse_with = ENOENT;
    struct sm_counters *counters = sm_counters_create(&group, PAPI_STEPS | SOFTWARE_STEP);
    struct sm_record *record = sm_record_create("bench", "x");
    struct sm_counter_team *team = sm_counter_team_create(counters, 1, 1);
    sm_counter_team_record(team, 0, &(struct sm_counter_work){NAN, NAN}, record);
    sm_counter_team_destroy(team);
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
    for (const char *const *name =
             (const char *const[]){"core", "cache", "branch", "tlb", "software", "memory", "energy", NULL};
         *name; name++) {
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
                                      "X 1 - - - - -\n",
                                      "x \x01 - - - - -\n",
                                      "x 1 - - - pmu:nothing -\n",
                                      "metric m\n",
                                      "metric m 1 = x\n",
                                      "x 1 - - - - -\nmetric x 1 = x\n",
                                      "x 1 - - - - -\nmetric m 1 = x /\n",
                                      "x 1 - - - - -\nmetric m 1 = x x\n",
                                      "x 1 - - - - -\nmetric m 1 = x + 1.2.3\n",
                                      "x 1 - - - - -\nmetric m 1 = x * 1e999\n",
                                      "x 1 - - - - -\nmetric m 1 = 0x10 * x\n",
                                      "x 1 - - - - -\nmetric m 1 = ((((((((((((((((((((x))))))))))))))))))))\n",
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

static bool three_names(void *context, const char *name, double *value)
{
    (void)context;
    if (!strcmp(name, "none")) return *value = NAN, true;
    if (!strcmp(name, "two")) return *value = 2, true;
    if (!strcmp(name, "zero")) return *value = 0, true;
    return false;
}

static void formulas_compute_or_say_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value; /* NAN: none */
    } good[] = {{"1 + 2 * 3", 7},          {"(1 + two) * 3 - 4 / two", 7},
                {"8 / two / two", 2},      {"1e3*.5", 500},
                {"two - 3", -1},           {"two / zero", NAN},
                {"none * 2", NAN},         {"zero / two", 0},
                {"((((two))))*1.5E+1", 30}};
    const char *wrong;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const double value = sm_formula_value(good[i].text, three_names, NULL, &wrong);
        if (wrong) fail_msg("%s: %s", good[i].text, wrong);
        if (isnan(good[i].value) ? !isnan(value) : !(fabs(value - good[i].value) < 1e-12))
            fail_msg("%s: %g", good[i].text, value);
    }
    for (const char *const *bad = (const char *const[]){"", "1 +", "(1", "1)", "three", "* 2", "1 2", "--1", "inf",
                                                        "1e", "two(3)", "\xff", NULL};
         *bad; bad++) {
        assert_true(isnan(sm_formula_value(*bad, three_names, NULL, &wrong)));
        if (!wrong) fail_msg("'%s' was taken", *bad);
    }
}

/* One slot for two hardware counters: two passes rather than sharing, and both whole. */
static void what_does_not_fit_takes_another_pass(void **state)
{
    (void)state;
    const struct sm_counter_group two = {.name = "two",
                                         .count = 3,
                                         .defs = {{"a", "1", "touch", "", "", "hardware:cache-misses", ""},
                                                  {"b", "1", "touch", "", "", "hardware:branch-misses", ""},
                                                  {"c", "1", "touch", "", "", "", "rusage:faults"}},
                                         .metric_count = 1,
                                         .metrics = {{"ratio", "1", "a / b"}}};
    for (int slots = 1; slots <= 2; slots++) {
        play_as("one-slot");
        play.slots = slots;
        struct sm_counters *counters = sm_counters_create(&two, 0);
        assert_int_equal(sm_counters_passes(counters), slots == 1 ? 2 : 1);
        struct sm_counter_team *team = sm_counter_team_create(counters, 1, 1);
        char *memory = mmap(NULL, 400 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (size_t pass = 0; pass < sm_counters_passes(counters); pass++) {
            sm_counter_team_open(team, pass, 0);
            sm_counter_team_begin(team, 0);
            touch(memory + pass * 200 * 4096, (size_t)200 * 4096);
            sm_counter_team_end(team, 0, 0, 2);
        }
        munmap(memory, 400 * 4096);
        struct sm_record *record = sm_record_create("bench", "x");
        sm_counter_team_record(team, 0, &(struct sm_counter_work){NAN, NAN}, record);
        const json_t *list = json_object_get(sm_record_json(record), "counters");
        assert_int_equal(json_array_size(list), 4);
        for (size_t i = 0; i < 4; i++) {
            const json_t *c = json_array_get(list, i);
            const double value = json_number_value(json_object_get(c, "value"));
            assert_string_equal(json_string_value(json_object_get(c, "state")), "usable");
            assert_null(json_object_get(c, "share"));
            if (fabs(value / (i < 3 ? 100 : 1) - 1) > 0.05) fail_msg("counter %zu: %g", i, value); /* and a few more */
        }
        sm_record_destroy(record);
        sm_counter_team_destroy(team);
        sm_counters_destroy(counters);
    }
}

/* A PMU that is taken half of the time: the value is scaled up, and its share is in the record. */
static void a_share_is_published(void **state)
{
    (void)state;
    play_as("multiplexed");
    play.substitute = PERF_COUNT_SW_PAGE_FAULTS;
    struct sm_counters *counters = sm_counters_create(&group, PAPI_STEPS | SOFTWARE_STEP);
    assert_int_equal(sm_counters_at(counters, 0)->state, SM_COUNTER_MULTIPLEXED);
    struct sm_counter_team *team = sm_counter_team_create(counters, 1, 1);
    char *memory = mmap(NULL, 100 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sm_counter_team_open(team, 0, 0);
    sm_counter_team_begin(team, 0);
    touch(memory, (size_t)100 * 4096);
    sm_counter_team_end(team, 0, 0, 1);
    munmap(memory, 100 * 4096);
    struct sm_record *record = sm_record_create("bench", "x");
    sm_counter_team_record(team, 0, &(struct sm_counter_work){NAN, NAN}, record);
    const json_t *c = json_array_get(json_object_get(sm_record_json(record), "counters"), 0);
    assert_string_equal(json_string_value(json_object_get(c, "state")), "multiplexed");
    assert_true(fabs(json_number_value(json_object_get(c, "share")) - 0.5) < 0.01);
    assert_true(fabs(json_number_value(json_object_get(c, "value")) - 100) < 5);
    sm_record_destroy(record);
    sm_counter_team_destroy(team);
    sm_counters_destroy(counters);
}

/* Nothing is played: where the kernel shows no PMU, no hardware counter counts, whatever PAPI lists. */
static void this_machine_without_a_pmu_has_no_counters(void **state)
{
    (void)state;
    struct sm_counter_group core;
    char why[512];
    if (sm_counters_pmu_visible()) skip();
    assert_int_equal(sm_counter_group_load(SM_SOURCE_DIR "/profiles/counters/core.group", &core, why, sizeof why), 0);
    struct sm_counters *counters = sm_counters_create(&core, 0);
    for (size_t i = 0; i < sm_counters_count(counters); i++) {
        const enum sm_counter_state found = sm_counters_at(counters, i)->state;
        /* a container may forbid to ask */
        if (found != SM_COUNTER_ABSENT && found != SM_COUNTER_DENIED && found != SM_COUNTER_FILTERED)
            fail_msg("%s is %s", sm_counters_at(counters, i)->name, sm_counter_state_name(found));
    }
    assert_int_equal(sm_counters_passes(counters), 0);
    sm_counters_destroy(counters);
}

/* Whether page faults and context switches count; who says so is `as`. One CPU allows no migration. */
static bool software_counts(const struct sm_counter_group *software, const char *as)
{
    struct sm_counters *counters = sm_counters_create(software, 0);
    bool right = counters != NULL;
    for (size_t i = 0; right && i < sm_counters_count(counters); i++) {
        const struct sm_counter *c = sm_counters_at(counters, i);
        const bool faults = !strcmp(c->name, "page_faults"), switches = !strcmp(c->name, "context_switches");
        if (sm_counter_counts(c) || !(faults || switches)) continue;
        fprintf(stderr, "%s privileges: %s is %s (%s)\n", as, c->name, sm_counter_state_name(c->state), c->why);
        right = false;
    }
    sm_counters_destroy(counters);
    return right;
}

/* Without privileges the kernel's own counters come from wherever they are still right. Others that want the CPU switch
 * it too: several tries. */
static void software_counters_count_with_and_without_privileges(void **state)
{
    (void)state;
    for (int drop = 0; drop <= (geteuid() == 0); drop++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct sm_counter_group software;
            char why[512];
            int wrong =
                sm_counter_group_load(SM_SOURCE_DIR "/profiles/counters/software.group", &software, why, sizeof why);
            if (drop) wrong |= setgid(65534) || setuid(65534) || prctl(PR_SET_DUMPABLE, 1); /* may read its own /proc */
            for (int i = 0; !wrong && i < 20; i++)
                if (software_counts(&software, drop ? "without" : "with")) _exit(0);
            _exit(1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/* Units of the machine as the kernel lists them: two of a kind are added up, formats and scales are heeded. */
static void units_of_the_machine_are_found_and_added(void **state)
{
    (void)state;
    char folder[] = "units-XXXXXX", unit[160];
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        snprintf(unit, sizeof unit, "%s/sys/bus/event_source/devices/power_%d", folder, i);
        fixture_write_fact(unit, "type", "41\n");
        fixture_write_fact(unit, "cpumask", "0\n");
        fixture_write_fact(unit, "format/event", "config:0-7,32-35\n");
        fixture_write_fact(unit, "events/energy-pkg", "event=0x102\n");
        fixture_write_fact(unit, "events/energy-pkg.scale", "1e-8\n");
        fixture_write_fact(unit, "events/energy-bad", "event=0x1002,colour=3\n");
    }
    play_as("usable");
    play.sys = folder;
    struct sm_counter_group energy = {.name = "energy",
                                      .count = 4,
                                      .defs = {{"package", "J", "burn", "", "", "pmu:power_*/energy-pkg", ""},
                                               {"one", "J", "burn", "", "", "pmu:power_1/energy-pkg", ""},
                                               {"bad", "J", "burn", "", "", "pmu:power_*/energy-bad", ""},
                                               {"terms", "J", "burn", "", "", "pmu:power_*/event=0x1000", ""}}};
    struct sm_counters *counters = sm_counters_create(&energy, 0);
    /* the CPU time that stands in for energy may be another's for a while */
    for (int i = 0; sm_counters_at(counters, 0)->state || sm_counters_at(counters, 1)->state; i++) {
        assert_true(i < 20);
        sm_counters_destroy(counters);
        counters = sm_counters_create(&energy, 0);
    }
    assert_true(sm_counters_at(counters, 0)->machine);
    assert_int_equal(sm_counters_at(counters, 2)->state, SM_COUNTER_ABSENT); /* a term that its format lacks */
    assert_int_equal(sm_counters_at(counters, 3)->state, SM_COUNTER_ABSENT); /* a value wider than its bits */
    struct sm_counter_thread *t = sm_counters_open(counters, 0, true);
    struct sm_counter_reading before, after;
    double share;
    sm_counters_read(t, &before);
    for (volatile double x = 0; x < 100;) x = x + fmin(exp(x), 1); /* this PMU counts each exp (play_pmu.h) */
    sm_counters_read(t, &after);
    const double both = sm_counter_between(&before.at[0], &after.at[0], &share);
    const double one = sm_counter_between(&before.at[1], &after.at[1], &share);
    if (fabs(both / one - 2) > 0.1) fail_msg("two units count %g, one %g", both, one);
    sm_counters_close(t);
    t = sm_counters_open(counters, 0, false); /* another thread of the team */
    sm_counters_read(t, &before);
    assert_true(isnan(before.at[0].count));
    sm_counters_close(t);
    sm_counters_destroy(counters);
    char remove[256];
    snprintf(remove, sizeof remove, "rm -r '%s'", folder);
    assert_int_equal(system(remove), 0);
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
        cmocka_unit_test_setup(formulas_compute_or_say_what_is_wrong, reset),
        cmocka_unit_test_setup(what_does_not_fit_takes_another_pass, reset),
        cmocka_unit_test_setup(a_share_is_published, reset),
        cmocka_unit_test_setup(this_machine_without_a_pmu_has_no_counters, reset),
        cmocka_unit_test_setup(software_counters_count_with_and_without_privileges, reset),
        cmocka_unit_test_setup(units_of_the_machine_are_found_and_added, reset),
        cmocka_unit_test_setup(groups_load_and_bad_ones_get_a_sentence, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
