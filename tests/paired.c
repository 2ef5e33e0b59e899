/* The signed-rank statistics against an enumeration of all signs, published tables, and planted effects. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "looks.h"
#include "paired.h"
#include "random.h"

/* P(T <= c) by all 2^n sign patterns. */
static double enumerate(size_t n, double c)
{
    size_t within = 0;
    for (uint32_t signs = 0; signs < 1u << n; signs++) {
        size_t sum = 0;
        for (size_t i = 0; i < n; i++)
            if (signs >> i & 1) sum += i + 1;
        within += (double)sum <= c;
    }
    return (double)within / (double)(1u << n);
}

static void the_distribution_is_the_enumerated_one(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 12; n++)
        for (double c = -1; c <= (double)(n * (n + 1) / 2); c++)
            assert_true(fabs(sm_signed_rank_cdf(n, c) - enumerate(n, c)) < 1e-14);
}

/* The normal approximation takes over smoothly, and the tables' critical values hold (two-sided 0.05: Wilcoxon and
 * Wilcox 1964: 0 for 6, 3 for 8, 13 for 12, 52 for 20, 434 for 50). */
static void published_critical_values_hold(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        double c;
    } table[] = {{6, 0}, {7, 2}, {8, 3}, {10, 8}, {12, 13}, {15, 25}, {20, 52}, {25, 89}, {30, 137}, {50, 434}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_true(sm_signed_rank_cdf(table[i].n, table[i].c) <= 0.025);
        assert_true(sm_signed_rank_cdf(table[i].n, table[i].c + 1) > 0.025);
    }
    for (double c = 600; c < 1200; c += 50)
        assert_true(fabs(sm_signed_rank_cdf(60, c) - sm_signed_rank_cdf(61, c + 30.5)) < 0.006);
    assert_true(fabs(sm_normal_quantile(0.975) - 1.959963984540054) < 1e-12);
    assert_true(fabs(sm_normal_quantile(0.8) - 0.8416212335729143) < 1e-12);
    assert_true(fabs(sm_normal_quantile(1e-9) + 5.997807014835) < 1e-8);
}

/* p by enumerating the signs of the sizes at hand, which is the definition. Distinct sizes. */
static double p_by_signs(const double *d, size_t n, double effect)
{
    double rank[12], positive = 0, least = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        rank[i] = 1;
        for (size_t k = 0; k < n; k++) rank[i] += fabs(d[k] - effect) < fabs(d[i] - effect);
        if (d[i] > effect) positive += rank[i];
    }
    const double total = (double)(n * (n + 1)) / 2;
    least = positive < total - positive ? positive : total - positive;
    for (uint32_t signs = 0; signs < 1u << n; signs++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            if (signs >> i & 1) sum += rank[i];
        most += sum <= least;
    }
    const double p = 2 * most / (double)(1u << n);
    return p < 1 ? p : 1;
}

static void p_and_interval_agree_with_the_definition(void **state)
{
    (void)state;
    struct sm_random random = {11};
    for (int trial = 0; trial < 200; trial++) {
        const size_t n = 6 + sm_random_below(&random, 7);
        double d[12];
        for (size_t i = 0; i < n; i++) d[i] = 0.3 * (double)sm_random_normal(&random) + 0.2;
        assert_true(fabs(sm_paired_p(d, n, 0.1) - p_by_signs(d, n, 0.1)) < 1e-12);
        struct sm_paired e;
        assert_int_equal(sm_paired_estimate(d, n, 0.05, &e), 0);
        assert_true(e.low <= e.effect && e.effect <= e.high);
        /* the interval is the set of effects that the test does not reject */
        const double inside = e.low + 1e-9, outside = e.low - 1e-9;
        assert_true(sm_paired_p(d, n, inside) > 0.05 - 1e-12);
        assert_true(sm_paired_p(d, n, outside) <= 0.05 + 1e-12);
        assert_true(sm_paired_p(d, n, e.high + 1e-9) <= 0.05 + 1e-12);
    }
}

static void too_few_or_bad_launches_claim_nothing(void **state)
{
    (void)state;
    struct sm_paired e;
    const double d[5] = {1, 2, 3, 4, 5};
    assert_int_equal(sm_paired_estimate(d, 5, 0.05, &e), 0);
    assert_true(isinf(e.low) && isinf(e.high) && e.effect == 3);
    assert_int_equal(sm_paired_estimate(d, 0, 0.05, &e), -1);
    assert_int_equal(sm_paired_estimate((const double[]){1, NAN}, 2, 0.05, &e), -1);
    assert_true(isnan(sm_paired_p((const double[]){INFINITY}, 1, 0)));
    assert_true(sm_paired_p((const double[]){0, 0, 0}, 3, 0) == 1);
}

/* Coverage of the nominal 95 %, under noise with heavy tails: 20,000 sets give a standard error of 0.15 %. */
static void the_interval_covers(void **state)
{
    (void)state;
    struct sm_random random = {5};
    for (size_t n = 8; n <= 20; n += 4) {
        size_t covered = 0;
        const size_t trials = 20000;
        for (size_t t = 0; t < trials; t++) {
            double d[20];
            for (size_t i = 0; i < n; i++) {
                d[i] = (double)sm_random_normal(&random);
                if (!sm_random_below(&random, 10)) d[i] *= 20;
            }
            struct sm_paired e;
            assert_int_equal(sm_paired_estimate(d, n, 0.05, &e), 0);
            covered += e.low <= 0 && e.high >= 0;
        }
        const double coverage = (double)covered / (double)trials;
        assert_true(coverage > 0.945 && coverage < 0.967);
    }
}

/* Looking six times keeps the error at what was promised, for both ways of spending. */
static void looking_often_keeps_the_error(void **state)
{
    (void)state;
    struct sm_random random = {6};
    for (int spending = SM_SPENDING_QUICK; spending <= SM_SPENDING_THOROUGH; spending++) {
        size_t wrong = 0, wrong_p = 0;
        const size_t trials = 8000;
        for (size_t t = 0; t < trials; t++) {
            double d[40], p[SM_LOOKS];
            bool excluded = false;
            for (size_t i = 0; i < 40; i++) d[i] = (double)sm_random_normal(&random);
            for (size_t k = 0; k < SM_LOOKS; k++) {
                struct sm_paired e;
                const double alpha = sm_look_alpha((enum sm_spending)spending, 0.05, k);
                assert_int_equal(sm_paired_estimate(d, sm_look_launches[k], alpha, &e), 0);
                excluded |= e.low > 0 || e.high < 0;
                p[k] = sm_paired_p(d, sm_look_launches[k], 0);
            }
            wrong += excluded;
            wrong_p += sm_look_p(p, SM_LOOKS) <= 0.05;
        }
        assert_true((double)wrong / (double)trials < 0.058 && (double)wrong / (double)trials > 0.035);
        assert_true((double)wrong_p / (double)trials < 0.05);
    }
}

static void discoveries_are_benjamini_and_hochbergs(void **state)
{
    (void)state;
    /* the worked example of their paper: at q = 0.05 the first four of fifteen are rejected */
    const double p[15] = {.0001, .0004, .0019, .0095, .0201, .0278, .0298, .0344,
                          .0459, .3240, .4262, .5719, .6528, .7590, 1.000};
    bool rejected[15];
    assert_int_equal(sm_discoveries(p, 15, 0.05, rejected), 4);
    for (size_t i = 0; i < 15; i++) assert_int_equal(rejected[i], i < 4);
    const double last[3] = {.05, .05, .05}; /* all or none: the largest k counts */
    assert_int_equal(sm_discoveries(last, 3, 0.05, rejected), 3);
    const double unknown[2] = {NAN, .001};
    assert_int_equal(sm_discoveries(unknown, 2, 0.05, rejected), 1);
    assert_true(!rejected[0] && rejected[1]);
    assert_int_equal(sm_discoveries(p, 0, 0.05, rejected), 0);
}

static void an_interval_says_one_thing(void **state)
{
    (void)state;
    static const struct {
        double low, high;
        enum sm_finding finding;
    } table[] = {{.011, .02, SM_SLOWER},         {-.02, -.011, SM_FASTER},
                 {.003, .009, SM_SLOWER_WITHIN}, {-.009, -.003, SM_FASTER_WITHIN},
                 {-.001, .002, SM_SAME},         {.001, .002, SM_SAME},
                 {-.02, .001, SM_OPEN},          {.003, .012, SM_OPEN},
                 {-INFINITY, INFINITY, SM_OPEN}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct sm_paired e = {.low = table[i].low, .high = table[i].high};
        assert_int_equal(sm_look_finding(&e, .0025, .01), table[i].finding);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_distribution_is_the_enumerated_one),
        cmocka_unit_test(published_critical_values_hold),
        cmocka_unit_test(p_and_interval_agree_with_the_definition),
        cmocka_unit_test(too_few_or_bad_launches_claim_nothing),
        cmocka_unit_test(the_interval_covers),
        cmocka_unit_test(looking_often_keeps_the_error),
        cmocka_unit_test(discoveries_are_benjamini_and_hochbergs),
        cmocka_unit_test(an_interval_says_one_thing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
