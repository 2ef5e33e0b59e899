/* The case list: dry run, budget, order, resume, interruption; and a kill loses at most the case in flight. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "cases.h"
#include "progress.h"

static char out[] = "cases-XXXXXX.jsonl", why[512];

static int fresh_file(void **state)
{
    (void)state;
    strcpy(out, "cases-XXXXXX.jsonl");
    const int fd = mkstemps(out, 6);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(out);
}

/* `count` cases for each of the groups, of a second each. */
static struct sm_cases *make_cases(const char *const *groups, const size_t *counts)
{
    struct sm_cases *cases = sm_cases_create();
    for (size_t g = 0; groups[g]; g++)
        for (size_t i = 0; i < counts[g]; i++) {
            char id[64];
            snprintf(id, sizeof id, "%s/%zu", groups[g], i);
            assert_int_equal(sm_cases_add(cases, id, groups[g], 1, NULL), 0);
        }
    return cases;
}

struct behaviour {
    const char *wrong, *broken, *slow; /* ids */
    size_t runs;
    int records; /* for each case; 1 when 0 */
};

static enum sm_case_outcome run_one(void *context, const struct sm_case *c, struct sm_case_results *results, char *text,
                                    size_t bytes)
{
    struct behaviour *b = context;
    b->runs++;
    if (b->broken && !strcmp(c->id, b->broken)) {
        snprintf(text, bytes, "broken on purpose");
        return SM_CASE_BROKEN;
    }
    if (b->slow && !strcmp(c->id, b->slow))
        for (int i = 0; i < 1000 && !sm_cases_interrupted(); i++) nanosleep(&(struct timespec){0, 10000000}, NULL);
    if (sm_cases_interrupted()) return SM_CASE_DROPPED;
    for (int i = 0; i < (b->records ? b->records : 1); i++) {
        char id[80];
        snprintf(id, sizeof id, b->records ? "%s/part%d" : "%s", c->id, i);
        struct sm_record *record = sm_record_create("bench", id);
        if (b->wrong && !strcmp(c->id, b->wrong)) sm_record_fail(record, "error", "wrong on purpose");
        sm_case_result(results, record);
    }
    return b->wrong && !strcmp(c->id, b->wrong) ? SM_CASE_WRONG : SM_CASE_DONE;
}

static struct sm_case_options quiet(void)
{
    struct sm_case_options o = SM_CASE_OPTIONS;
    o.out = out;
    o.order = SM_CASE_ORDER_STATED;
    o.progress = NULL;
    return o;
}

static size_t records_in_file(size_t *torn)
{
    struct sm_records_summary summary;
    if (sm_records_read(out, NULL, NULL, &summary, why, sizeof why)) fail_msg("%s", why);
    if (torn) *torn = summary.torn;
    return summary.records;
}

static const char *const two[] = {"a", "b", NULL};

static void every_case_runs_once_and_ids_are_unique(void **state)
{
    (void)state;
    struct sm_cases *cases = make_cases(two, (const size_t[]){3, 2});
    assert_int_equal(sm_cases_add(cases, "a/0", "a", 1, NULL), -1);
    struct behaviour b = {0};
    const struct sm_case_options o = quiet();
    assert_int_equal(sm_cases_run(cases, &o, run_one, &b, why, sizeof why), 0);
    assert_int_equal(b.runs, 5);
    assert_int_equal(records_in_file(NULL), 5);
    sm_cases_destroy(cases);
}

static void outcomes_become_exit_codes(void **state)
{
    (void)state;
    struct sm_cases *cases = make_cases(two, (const size_t[]){3, 2});
    const struct sm_case_options o = quiet();
    struct behaviour wrong = {.wrong = "a/1"}, broken = {.broken = "b/0"};
    assert_int_equal(sm_cases_run(cases, &o, run_one, &wrong, why, sizeof why), 1);
    assert_int_equal(wrong.runs, 5);
    assert_int_equal(sm_cases_run(cases, &o, run_one, &broken, why, sizeof why), 2);
    assert_string_equal(why, "broken on purpose");
    assert_int_equal(broken.runs, 4);
    assert_int_equal(records_in_file(NULL), 8);
    sm_cases_destroy(cases);
}

static void a_dry_run_lists_and_runs_nothing(void **state)
{
    (void)state;
    char text[1024] = "";
    struct sm_cases *cases = make_cases(two, (const size_t[]){2, 60});
    struct behaviour b = {0};
    struct sm_case_options o = quiet();
    o.dry_run = true;
    o.listing = fmemopen(text, sizeof text, "w");
    assert_int_equal(sm_cases_run(cases, &o, run_one, &b, why, sizeof why), 0);
    fclose(o.listing);
    assert_int_equal(b.runs, 0);
    assert_non_null(strstr(text, "a/0\na/1\nb/0\n"));
    assert_non_null(strstr(text, "62 cases, about 1:02"));
    sm_cases_destroy(cases);
}

static size_t planned_in(const struct sm_case_plan *plan, const char *group)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->count; i++) count += !strcmp(plan->cases[i]->group, group);
    return count;
}

static void a_budget_is_shared_over_the_families(void **state)
{
    (void)state;
    static const char *const three[] = {"small", "large", "huge", NULL};
    struct sm_cases *cases = make_cases(three, (const size_t[]){2, 50, 500});
    struct sm_case_options o = quiet();
    struct sm_case_plan plan;
    o.budget = 42;
    assert_int_equal(sm_cases_plan(cases, &o, &plan, why, sizeof why), 0);
    assert_true(plan.seconds <= 42);
    assert_int_equal(planned_in(&plan, "small"), 2); /* cheap: whole */
    assert_int_equal(planned_in(&plan, "large"), 20);
    assert_int_equal(planned_in(&plan, "huge"), 20);
    assert_int_equal(plan.dropped, 552 - 42);
    assert_true(plan.dropped_seconds > 509 && plan.dropped_seconds < 511);
    /* Spread over the family, not its head: the last fifth is seen as well as the first. */
    size_t first = 0, last = 0;
    for (size_t i = 0; i < plan.count; i++)
        if (!strcmp(plan.cases[i]->group, "huge")) {
            const long n = strtol(strchr(plan.cases[i]->id, '/') + 1, NULL, 10);
            first += n < 100;
            last += n >= 400;
        }
    assert_int_equal(first, 4);
    assert_int_equal(last, 4);
    /* And in turns, so that a run that proves slower than thought has seen each family. */
    assert_string_not_equal(plan.cases[0]->group, plan.cases[1]->group);
    sm_case_plan_free(&plan);

    o.budget = 0.5; /* nothing fits */
    assert_int_equal(sm_cases_plan(cases, &o, &plan, why, sizeof why), 0);
    assert_int_equal(plan.count, 0);
    sm_case_plan_free(&plan);
    o.budget = 1e6; /* everything does */
    assert_int_equal(sm_cases_plan(cases, &o, &plan, why, sizeof why), 0);
    assert_int_equal(plan.count, 552);
    sm_case_plan_free(&plan);
    sm_cases_destroy(cases);
}

static void a_random_order_is_recorded_and_repeatable(void **state)
{
    (void)state;
    struct sm_cases *cases = make_cases(two, (const size_t[]){20, 20});
    struct sm_case_options o = quiet();
    struct sm_case_plan one, other;
    o.order = SM_CASE_ORDER_RANDOM;
    o.seed = 7;
    assert_int_equal(sm_cases_plan(cases, &o, &one, why, sizeof why), 0);
    assert_int_equal(sm_cases_plan(cases, &o, &other, why, sizeof why), 0);
    size_t moved = 0;
    for (size_t i = 0; i < 40; i++) {
        assert_ptr_equal(one.cases[i], other.cases[i]);
        moved += one.cases[i] != sm_cases_at(cases, i);
    }
    assert_true(moved > 20);
    sm_case_plan_free(&one);
    sm_case_plan_free(&other);
    o.seed = 0;
    assert_int_equal(sm_cases_plan(cases, &o, &one, why, sizeof why), 0);
    assert_true(one.seed != 0);
    sm_case_plan_free(&one);
    sm_cases_destroy(cases);
}

static void resuming_runs_what_is_missing_or_failed(void **state)
{
    (void)state;
    struct sm_cases *cases = make_cases(two, (const size_t[]){3, 12});
    struct sm_case_options o = quiet();
    struct behaviour first = {.wrong = "a/1", .broken = "b/10"}, second = {0}, third = {0};
    assert_int_equal(sm_cases_run(cases, &o, run_one, &first, why, sizeof why), 2);
    o.out = NULL; /* goes on in the resumed file */
    o.resume = out;
    assert_int_equal(sm_cases_run(cases, &o, run_one, &second, why, sizeof why), 0);
    assert_int_equal(second.runs, 3); /* a/1, b/10, b/11; b/1 is not taken for b/10 */
    assert_int_equal(sm_cases_run(cases, &o, run_one, &third, why, sizeof why), 0);
    assert_int_equal(third.runs, 0);
    o.resume = "no-such-file";
    assert_int_equal(sm_cases_run(cases, &o, run_one, &third, why, sizeof why), 2);
    assert_non_null(strstr(why, "no-such-file"));
    sm_cases_destroy(cases);
}

static void a_case_of_several_records_is_resumed_as_one(void **state)
{
    (void)state;
    struct sm_cases *cases = make_cases(two, (const size_t[]){2, 0});
    struct sm_case_options o = quiet();
    struct behaviour first = {.records = 3}, second = {.records = 3};
    assert_int_equal(sm_cases_run(cases, &o, run_one, &first, why, sizeof why), 0);
    assert_int_equal(records_in_file(NULL), 6);
    o.resume = out;
    assert_int_equal(sm_cases_run(cases, &o, run_one, &second, why, sizeof why), 0);
    assert_int_equal(second.runs, 0);
    sm_cases_destroy(cases);
}

/* Another commit's results do not finish a case of ours, nor does a case whose id only begins alike. */
static void other_builds_and_other_cases_are_not_resumed(void **state)
{
    (void)state;
    struct sm_cases *cases = make_cases(two, (const size_t[]){2, 0});
    struct sm_record *record = sm_record_create("bench", "a/0");
    json_object_set_new(json_object_get(sm_record_json(record), "build"), "commit", json_string("another"));
    assert_int_equal(sm_record_append(record, out, why, sizeof why), 0);
    sm_record_destroy(record);
    record = sm_record_create("bench", "a/10");
    assert_int_equal(sm_record_append(record, out, why, sizeof why), 0);
    sm_record_destroy(record);
    struct sm_case_options o = quiet();
    struct behaviour b = {0};
    o.resume = out;
    assert_int_equal(sm_cases_run(cases, &o, run_one, &b, why, sizeof why), 0);
    assert_int_equal(b.runs, 2);
    sm_cases_destroy(cases);
}

/* A child runs the cases and hangs in `slow`; it gets the signal there. Returns its wait status. */
static int run_and_signal(struct sm_cases *cases, const char *slow, size_t records_before, int number)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct behaviour b = {.slow = slow};
        const struct sm_case_options o = quiet();
        _exit(sm_cases_run(cases, &o, run_one, &b, why, sizeof why));
    }
    for (int i = 0; i < 30000 && records_in_file(NULL) < records_before; i++)
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    nanosleep(&(struct timespec){0, 50000000}, NULL);
    kill(child, number);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void a_kill_loses_at_most_the_case_in_flight(void **state)
{
    (void)state;
    struct sm_cases *cases = make_cases(two, (const size_t[]){10, 10});
    const int status = run_and_signal(cases, "b/3", 13, SIGKILL);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(records_in_file(NULL), 13);
    struct sm_case_options o = quiet();
    struct behaviour rest = {0};
    o.resume = out;
    assert_int_equal(sm_cases_run(cases, &o, run_one, &rest, why, sizeof why), 0);
    assert_int_equal(rest.runs, 7);
    sm_cases_destroy(cases);
}

static void an_interruption_leaves_a_readable_file_and_130(void **state)
{
    (void)state;
    struct sm_cases *cases = make_cases(two, (const size_t[]){10, 10});
    for (const int *number = (const int[]){SIGINT, SIGTERM, 0}; *number; number++) {
        unlink(out);
        FILE *f = fopen(out, "w");
        assert_non_null(f);
        fclose(f);
        const int status = run_and_signal(cases, "a/4", 4, *number);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 130);
        size_t torn;
        assert_int_equal(records_in_file(&torn), 4);
        assert_int_equal(torn, 0);
    }
    sm_cases_destroy(cases);
}

static void a_folder_gets_a_file_named_after_the_command_once(void **state)
{
    (void)state;
    struct sm_case_options o = quiet();
    char folder[] = "cases-XXXXXX", file[64];
    struct sm_cases *cases = make_cases(two, (const size_t[]){1, 1});
    struct behaviour b = {0};
    assert_non_null(mkdtemp(folder));
    o.out = folder;
    o.command = "trial";
    snprintf(file, sizeof file, "%s/trial.jsonl", folder);
    struct behaviour broken = {.broken = "a/0"}; /* leaves no empty file in the way of the next try */
    assert_int_equal(sm_cases_run(cases, &o, run_one, &broken, why, sizeof why), 2);
    assert_int_equal(access(file, F_OK), -1);
    assert_int_equal(sm_cases_run(cases, &o, run_one, &b, why, sizeof why), 0);
    assert_int_equal(access(file, R_OK), 0);
    assert_int_equal(sm_cases_run(cases, &o, run_one, &b, why, sizeof why), 2);
    assert_non_null(strstr(why, "is there already"));
    o.resume = file;
    assert_int_equal(sm_cases_run(cases, &o, run_one, &b, why, sizeof why), 0);
    unlink(file);
    rmdir(folder);
    sm_cases_destroy(cases);
}

/* Results are not to lie in two places with each half of the cases, and what is named is what is written. */
static void a_resumed_run_has_no_other_place(void **state)
{
    (void)state;
    struct sm_cases *cases = make_cases(two, (const size_t[]){1, 1});
    struct sm_case_options o = quiet();
    struct behaviour b = {0};
    char alias[80];
    assert_int_equal(sm_cases_run(cases, &o, run_one, &b, why, sizeof why), 0);
    o.resume = out;
    for (const char *const *other = (const char *const[]){"other.jsonl", "other", NULL}; *other; other++)
        for (int dry = 0; dry < 2; dry++) {
            o.out = *other;
            o.dry_run = dry;
            assert_int_equal(sm_cases_run(cases, &o, run_one, &b, why, sizeof why), 2);
            assert_non_null(strstr(why, "cannot stand beside it"));
            assert_int_equal(access(*other, F_OK), -1);
        }
    o.dry_run = false;
    snprintf(alias, sizeof alias, "./%s", out);
    o.out = alias; /* the same file */
    assert_int_equal(sm_cases_run(cases, &o, run_one, &b, why, sizeof why), 0);
    sm_cases_destroy(cases);
}

static void runs_of_one_second_get_folders_of_their_own(void **state)
{
    (void)state;
    enum { RUNS = 12 };
    char home[4096], folder[] = "cases-XXXXXX", path[RUNS][SM_CASES_PATH_BYTES];
    struct sm_case_options o = SM_CASE_OPTIONS;
    enum sm_case_place place;
    size_t second = 0;
    o.command = "trial";
    assert_non_null(getcwd(home, sizeof home));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    for (size_t i = 0; i < RUNS; i++) {
        assert_int_equal(sm_cases_open(&o, path[i], sizeof path[i], &place, why, sizeof why), 0);
        assert_int_equal(place, SM_CASE_PLACE_FOLDER);
        second += strstr(path[i], "Z-trial-2/trial.jsonl") != NULL;
        for (size_t j = 0; j < i; j++) assert_string_not_equal(path[i], path[j]);
    }
    assert_true(second >= 1);
    for (size_t i = 0; i < RUNS; i++) sm_cases_take_back(path[i], SM_CASE_PLACE_FOLDER);
    assert_int_equal(rmdir("results"), 0); /* nothing was written: nothing stays */
    assert_int_equal(symlink("nowhere", "results"), 0);
    assert_int_equal(sm_cases_open(&o, path[0], sizeof path[0], &place, why, sizeof why), -1);
    assert_non_null(strstr(why, "cannot make the folder 'results/"));
    assert_int_equal(unlink("results"), 0);
    assert_int_equal(chdir(home), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* In a log each word of how far it is is a line; what takes a terminal's line away would be noise there. */
static void progress_in_a_file_is_plain_lines(void **state)
{
    (void)state;
    char text[512];
    struct sm_progress p;
    FILE *file = tmpfile();
    assert_non_null(file);
    sm_progress_begin(&p, file, 10);
    sm_progress_show(&p, 5, "the first half");
    sm_progress_clear(&p);
    rewind(file);
    const size_t bytes = fread(text, 1, sizeof text - 1, file);
    text[bytes] = 0;
    fclose(file);
    assert_null(strchr(text, '\r'));
    assert_int_equal(strncmp(text, " 50%  ", 6), 0);
    assert_string_equal(strchr(text, '\n') - strlen("the first half"), "the first half\n");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh_file, remove_file)
    const struct CMUnitTest tests[] = {
        TEST(every_case_runs_once_and_ids_are_unique),
        TEST(outcomes_become_exit_codes),
        TEST(a_dry_run_lists_and_runs_nothing),
        TEST(a_budget_is_shared_over_the_families),
        TEST(a_random_order_is_recorded_and_repeatable),
        TEST(resuming_runs_what_is_missing_or_failed),
        TEST(a_case_of_several_records_is_resumed_as_one),
        TEST(other_builds_and_other_cases_are_not_resumed),
        TEST(a_kill_loses_at_most_the_case_in_flight),
        TEST(a_folder_gets_a_file_named_after_the_command_once),
        TEST(a_resumed_run_has_no_other_place),
        TEST(runs_of_one_second_get_folders_of_their_own),
        TEST(progress_in_a_file_is_plain_lines),
        TEST(an_interruption_leaves_a_readable_file_and_130),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
