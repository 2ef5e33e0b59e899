/* The comparer against its goals, on launches that nobody runs; and that the table shows it when they are not met. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "calibrate.h"

static char why[512];

/* The table, and how many goals it shows as missed. */
static size_t print(struct sm_calibration *c, char **text)
{
    size_t bytes = 0;
    *text = NULL;
    FILE *out = open_memstream(text, &bytes);
    assert_non_null(out);
    c->source = "Test.";
    const size_t missed = sm_calibration_print(c, out);
    fclose(out);
    free(c->seconds);
    return missed;
}

static void goals_are_met_on_synthetic_launches(void **state)
{
    (void)state;
    struct sm_calibration c = {.load_least = INFINITY, .load_most = -INFINITY};
    char *text;
    assert_int_equal(sm_calibrate_replay(NULL, 1, true, &c, why, sizeof why), 0);
    assert_int_equal(c.placed.count, 300);
    assert_true(c.placed.flagged > 100); /* a fixed placement looks like a change, and is not called one */
    assert_true(c.suites > 0);
    if (print(&c, &text)) fail_msg("%s", text);
    free(text);
}

/* A file of trials against themselves whose launches differ by `bias`. */
static const char *file_of(double bias)
{
    static char path[64];
    snprintf(path, sizeof path, "calibrate-%ld.jsonl", (long)getpid());
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    for (int i = 0; i < 20; i++) {
        fprintf(out,
                "{\"schema\":1,\"kind\":\"trial\",\"case\":\"%d\",\"status\":\"ok\",\"trial\":{\"class\":\"in caches\","
                "\"planted\":0,\"placed\":false,\"verdict\":\"same\",\"seconds\":0.5,\"as_built_log_ratios\":[],\"log_"
                "ratios\":[",
                i);
        for (int l = 0; l < 8; l++) fprintf(out, "%s%g", l ? "," : "", bias + 1e-4 * ((i + 3 * l) % 7 - 3));
        fprintf(out, "]}}\n");
    }
    fclose(out);
    return path;
}

static void what_a_file_holds_is_judged_again(void **state)
{
    (void)state;
    char *text;
    for (int biased = 0; biased < 2; biased++) {
        struct sm_calibration c = {.load_least = INFINITY, .load_most = -INFINITY};
        const char *path = file_of(biased ? 0.006 : 0);
        assert_int_equal(sm_calibrate_replay(path, 1, true, &c, why, sizeof why), 0);
        unlink(path);
        assert_int_equal(c.cell[SM_TWO_THREADS][0].count, 0); /* there are no launches of them */
        const size_t missed = print(&c, &text);
        assert_true(biased ? missed > 0 : strstr(text, "against itself is called faster or slower") != NULL);
        if (biased) assert_non_null(strstr(text, "missed"));
        free(text);
    }
}

static void damaged_files_get_a_sentence(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{\"class\":\"nosuch\",\"planted\":0,\"placed\":false,\"as_built_log_ratios\":[],\"log_ratios\":[0]}",
        "{\"class\":\"in caches\",\"planted\":0.3,\"placed\":false,\"as_built_log_ratios\":[],\"log_ratios\":[0]}",
        "{\"class\":\"in caches\",\"planted\":0,\"placed\":false,\"as_built_log_ratios\":[],\"log_ratios\":[\"x\"]}",
        "{\"class\":\"in caches\",\"planted\":0,\"placed\":false,\"as_built_log_ratios\":[]}",
        ("{\"class\":\"in caches\",\"planted\":0,\"placed\":false,\"as_built_log_ratios\":[],\"log_ratios\":"
         "[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}"),
        "null"};
    const char *path = file_of(0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fprintf(out, "{\"schema\":1,\"kind\":\"trial\",\"case\":\"1\",\"status\":\"ok\",\"trial\":%s}\n", bad[i]);
        fclose(out);
        struct sm_calibration c = {.load_least = INFINITY, .load_most = -INFINITY};
        why[0] = '\0';
        assert_int_equal(sm_calibrate_replay(path, 1, true, &c, why, sizeof why), -1);
        assert_non_null(strstr(why, "reading "));
    }
    unlink(path);
    struct sm_calibration c = {.load_least = INFINITY, .load_most = -INFINITY};
    assert_int_equal(sm_calibrate_replay("nosuch.jsonl", 1, true, &c, why, sizeof why), -1);
}

/* Clopper and Pearson's limits: none of 299 leaves 1 %, none of 598 half a percent (the rule of three); 1 of 10 leaves
 * 39.4 % (their tables, one-sided 95 %). */
static void limits_are_the_published_ones(void **state)
{
    (void)state;
    assert_true(fabs(sm_upper_limit(0, 299) - 0.00997) < 1e-4);
    assert_true(fabs(sm_upper_limit(0, 598) - 0.005) < 1e-4);
    assert_true(fabs(sm_upper_limit(1, 10) - 0.3942) < 1e-4);
    assert_true(fabs(sm_upper_limit(0, 100000) - 2.9957e-5) < 1e-8);
    assert_true(sm_upper_limit(3, 3) == 1 && sm_upper_limit(0, 0) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goals_are_met_on_synthetic_launches),
        cmocka_unit_test(what_a_file_holds_is_judged_again),
        cmocka_unit_test(damaged_files_get_a_sentence),
        cmocka_unit_test(limits_are_the_published_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
