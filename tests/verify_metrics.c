/* What a verification computes, against values worked out by hand; and the turns of a session as text. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "turns.h"
#include "verify_limits.h"
#include "verify_metrics.h"
#include "verify_run.h"

#define assert_near(a, b, tolerance)                                                                                   \
    do {                                                                                                               \
        if (!(fabs((a) - (b)) <= (tolerance))) fail_msg("%s is %.17g, not %.17g", #a, (double)(a), (double)(b));       \
    } while (0)

static void peir_has_the_references_interval(void **unused)
{
    (void)unused;
    const float reference[4] = {0, 2, -2, 1}, tested[4] = {0.5F, 2, -2, 0}; /* intervals of 4 and 4 */
    const float wide[4] = {0, 10, -2, 1};                                   /* 12 */
    struct sm_difference d;
    sm_difference_measure(reference, tested, 1, 4, &d);
    assert_near(d.peir, 0.25, 0);
    assert_near(d.max, 1, 0);
    assert_near(d.mean, 0.375, 0);
    assert_near(d.margin, 1, 0);
    assert_int_equal(d.agree, 1);
    sm_difference_measure(reference, wide, 1, 4, &d);
    assert_near(d.peir, 8.0 / 4, 0);
    sm_difference_measure(wide, reference, 1, 4, &d);
    assert_near(d.peir, 8.0 / 12, 1e-15);
    const float deep[4] = {0, 2, -10, 1};
    sm_difference_measure(reference, deep, 1, 4, &d);
    assert_near(d.peir, 8.0 / 4, 0);
}

static void an_interval_of_nothing_is_one(void **unused)
{
    (void)unused;
    const float reference[2] = {3, 3}, tested[2] = {3, 5};
    struct sm_difference d;
    sm_difference_measure(reference, tested, 1, 2, &d);
    assert_near(d.peir, 2, 0);
}

static void divergence_is_of_the_reference_from_the_tested(void **unused)
{
    (void)unused;
    const float half[2] = {0, 0}, quarter[2] = {0, (float)log(3)};
    struct sm_difference d;
    sm_difference_measure(half, quarter, 1, 2, &d);
    assert_near(d.kl, 0.5 * log(2) + 0.5 * log(2.0 / 3), 1e-7); /* 0.1438 */
    sm_difference_measure(quarter, half, 1, 2, &d);
    assert_near(d.kl, 0.25 * log(0.5) + 0.75 * log(1.5), 1e-7); /* 0.1308 */
    /* logits far beyond what exp can take, and a shift, which changes nothing */
    const float far[2] = {10000, 10000}, further[2] = {-20000, -20000 + (float)log(3)};
    sm_difference_measure(far, further, 1, 2, &d);
    assert_near(d.kl, 0.1438, 1e-3);
    /* a row that leaves no probability to the others */
    const float sure[3] = {0, 300, -300}, other[3] = {300, 0, -300};
    sm_difference_measure(sure, other, 1, 3, &d);
    assert_near(d.kl, 300, 1e-9);
}

static void rows_are_pooled_and_counted(void **unused)
{
    (void)unused;
    const float reference[6] = {0, 1, 2, 4, 3, 1}, tested[6] = {0, 1, 2, 3, 3.5F, 1};
    struct sm_difference d;
    sm_difference_measure(reference, tested, 2, 3, &d);
    assert_int_equal(d.rows, 2);
    assert_int_equal(d.agree, 1);
    assert_int_equal(d.ties, 0);
    assert_int_equal(d.reference_argmax, 0);
    assert_int_equal(d.tested_argmax, 1);
    assert_near(d.margin, 1, 0);
    assert_near(d.mean, 0.25, 0);
    const float near[3] = {0, 10, 9.999F}, swapped[3] = {0, 9.999F, 10};
    sm_difference_measure(near, swapped, 1, 3, &d);
    assert_int_equal(d.agree, 0);
    assert_int_equal(d.ties, 1);
}

static void what_is_not_finite_is_said(void **unused)
{
    (void)unused;
    const float reference[3] = {0, 1, 2};
    const float bad[2][3] = {{0, NAN, 2}, {0, INFINITY, 2}};
    for (int i = 0; i < 2; i++) {
        struct sm_difference d;
        struct verify_summary s;
        char text[256];
        const struct verify_limits limits = {NAN, NAN, NAN, NAN, NAN, NAN};
        sm_difference_measure(reference, bad[i], 1, 3, &d);
        assert_false(d.finite);
        assert_true(isnan(d.peir) && isnan(d.kl) && isnan(d.max));
        verify_summary_begin(&s);
        verify_summary_add(&s, &d);
        assert_non_null(verify_verdict(&s, &limits, text, sizeof text));
        assert_non_null(strstr(text, "not finite"));
    }
}

/* Each limit alone is enough to be outside, and none of them within. */
static void each_limit_counts(void **unused)
{
    (void)unused;
    const float reference[4] = {0, 2, -2, 1}, tested[4] = {0.5F, 0, -2, 1};
    struct sm_difference d;
    struct verify_summary s;
    char text[256];
    sm_difference_measure(reference, tested, 1, 4, &d);
    verify_summary_begin(&s);
    verify_summary_add(&s, &d);
    s.perplexity_rise = 0.05;
    const struct {
        struct verify_limits limits;
        const char *says; /* NULL: within */
    } cases[] = {
        {{NAN, NAN, NAN, NAN, NAN, NAN}, NULL},
        {{51, 1, 3, 5, 0, 6}, NULL},
        {{49, NAN, NAN, NAN, NAN, NAN}, "the PEIR of step 1 is 50 %"},
        {{NAN, 0.5, NAN, NAN, NAN, NAN}, "on average"},
        {{NAN, NAN, 1.9, NAN, NAN, NAN}, "off by 2"},
        {{NAN, NAN, NAN, 0.01, NAN, NAN}, "KL"},
        {{NAN, NAN, NAN, NAN, 1, NAN}, "greatest logit agrees in 0 %"},
        {{NAN, NAN, NAN, NAN, NAN, 4}, "the perplexity rises by 5 %"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *verdict = verify_verdict(&s, &cases[i].limits, text, sizeof text);
        if (!cases[i].says && verdict) fail_msg("case %zu: %s", i, verdict);
        if (cases[i].says && (!verdict || !strstr(verdict, cases[i].says)))
            fail_msg("case %zu: no '%s' in %s", i, cases[i].says, verdict ? verdict : "nothing");
    }
}

static void turns_are_read(void **unused)
{
    (void)unused;
    struct sm_turns t;
    char why[512], text[32];
    assert_int_equal(sm_turns_parse("300+40,12+80,5+0", &t, why, sizeof why), 0);
    assert_int_equal(t.count, 3);
    assert_int_equal(t.turn[1].prompt, 12);
    assert_int_equal(t.turn[1].gen, 80);
    assert_int_equal(sm_turns_tokens(&t), 437);
    assert_string_equal(sm_turns_text(&t, text, sizeof text), "300+40,12+80,5+0");
    assert_string_equal(sm_turns_text(&t, text, 13), "300+40...");
    static const char *const bad[] = {
        "",     "5",    "5+",      "+5",         "0+5",   "5+5,", ",5+5",
        "5+-1", "5 +5", "5+5;6+6", "99999999+1", "5+5+5", "a+b",  "5+99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        *why = 0;
        if (!sm_turns_parse(bad[i], &t, why, sizeof why)) fail_msg("'%s' was read", bad[i]);
        if (!strstr(why, "PROMPT+GENERATED")) fail_msg("'%s': %s", bad[i], why);
    }
}

static void turns_files_name_the_line(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *says; /* NULL: three turns of 47 tokens */
    } files[] = {
        {"# a session\n13 5\n\n  17\t6 # append\n1 5", NULL},
        {"13 5\n17\n", "line 2"},
        {"13 5\n17 x\n", "line 2"},
        {"13 5\n\n17 6 9\n", "line 3"},
        {"0 5\n", "line 1"},
        {"13 5000000\n", "line 1"},
        {"# nothing\n\n", "holds no turn"},
        {"", "holds no turn"},
    };
    char path[] = "turns.XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct sm_turns t;
        char why[512] = "";
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fputs(files[i].text, out);
        fclose(out);
        const int failed = sm_turns_read(path, &t, why, sizeof why);
        if (failed ? !files[i].says || !strstr(why, files[i].says) : files[i].says != NULL)
            fail_msg("file %zu: %d, %s", i, failed, why);
        if (!failed) assert_int_equal(sm_turns_tokens(&t), 47);
    }
    remove(path);
    struct sm_turns t;
    char why[512] = "";
    assert_int_equal(sm_turns_read(path, &t, why, sizeof why), -1);
    assert_non_null(strstr(why, path));
}

static void shapes_of_calls_are_short(void **unused)
{
    (void)unused;
    const struct sm_chunk chunks[] = {{.rows = 32}, {.rows = 8}, {.rows = 8}, {.rows = 8}, {.rows = 1}};
    char text[48];
    verify_shapes(chunks, 5, text, sizeof text);
    assert_string_equal(text, "32,8x3,1");
    verify_shapes(chunks, 5, text, 8);
    assert_string_equal(text, "32,8...");
    verify_shapes(chunks, 0, text, sizeof text);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peir_has_the_references_interval),
        cmocka_unit_test(an_interval_of_nothing_is_one),
        cmocka_unit_test(divergence_is_of_the_reference_from_the_tested),
        cmocka_unit_test(rows_are_pooled_and_counted),
        cmocka_unit_test(what_is_not_finite_is_said),
        cmocka_unit_test(each_limit_counts),
        cmocka_unit_test(turns_are_read),
        cmocka_unit_test(turns_files_name_the_line),
        cmocka_unit_test(shapes_of_calls_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
