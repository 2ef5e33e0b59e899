/* Summaries against values worked out by hand, and the interval against the binomial it is made of. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "stats.h"

static void known_samples_have_known_summaries(void **state)
{
    (void)state;
    struct sm_summary s;
    const double samples[] = {9, 1, 4, 7, 3, 8, 2, 6, 5, 20};
    assert_int_equal(sm_summarise(samples, 10, &s), 0);
    assert_int_equal(s.count, 10);
    assert_true(s.least == 1 && s.most == 20);
    assert_true(fabs(s.mean - 6.5) < 1e-12);
    assert_true(fabs(s.median - 5.5) < 1e-12);
    assert_true(fabs(s.q25 - 3.25) < 1e-12 && fabs(s.q75 - 7.75) < 1e-12);
    assert_true(fabs(s.p90 - 10.1) < 1e-12);
    assert_true(fabs(s.mad - 2.5) < 1e-12);
    assert_true(fabs(s.deviation - 5.4006172) < 1e-6);
    assert_true(s.low == 2 && s.high == 9); /* the second of each end: 97.85 % */
    assert_true(fabs(s.coverage - (1 - 2 * 11 / 1024.0)) < 1e-12);
    assert_true(samples[0] == 9); /* the caller's order is left alone */
}

static void few_or_bad_samples_claim_nothing(void **state)
{
    (void)state;
    struct sm_summary s;
    assert_int_equal(sm_summarise(NULL, 0, &s), -1);
    assert_true(isnan(s.median));
    assert_int_equal(sm_summarise((const double[]){1, NAN}, 2, &s), -1);
    assert_true(isnan(s.median) && isnan(s.low));
    assert_int_equal(sm_summarise((const double[]){7}, 1, &s), 0);
    assert_true(s.median == 7 && s.mad == 0 && isnan(s.deviation) && isnan(s.low));
    assert_int_equal(sm_summarise((const double[]){1, 2, 3, 4, 5}, 5, &s), 0);
    assert_true(isnan(s.low) && isnan(s.high) && isnan(s.coverage));
    assert_true(isnan(sm_quantile(NULL, 0, 0.5)) && isnan(sm_median(NULL, 0)));
}

static double choose(size_t n, size_t k)
{
    double c = 1;
    for (size_t i = 1; i <= k; i++) c *= (double)(n - k + i) / (double)i;
    return c;
}

/* The rank is the largest whose pair covers enough; one further in would not. */
static void the_rank_is_what_the_binomial_says(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 300; n++) {
        double coverage, tail = 0;
        const size_t k = sm_median_rank(n, 0.95, &coverage);
        for (size_t i = 0; i < k; i++) tail += choose(n, i) * pow(0.5, (double)n);
        if (k == 0) {
            assert_true(n < 6);
            continue;
        }
        assert_true(2 * k <= n + 1);
        assert_true(fabs(coverage - (1 - 2 * tail)) < 1e-9);
        assert_true(coverage >= 0.95);
        assert_true(1 - 2 * (tail + choose(n, k) * pow(0.5, (double)n)) < 0.95);
    }
    assert_true(sm_median_rank(1000000, 0.95, NULL) > 498900); /* no underflow */
}

/* And it covers: of 2000 skewed experiments with a known median, about 95 % of intervals hold it. */
static void the_interval_covers_the_median(void **state)
{
    (void)state;
    uint64_t x = 1;
    int held = 0;
    enum { TRIALS = 2000, SAMPLES = 15 };
    for (int t = 0; t < TRIALS; t++) {
        double samples[SAMPLES];
        struct sm_summary s;
        for (int i = 0; i < SAMPLES; i++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            samples[i] = -log(1 - (double)(x >> 11) * 0x1p-53); /* exponential: median ln 2 */
        }
        sm_summarise(samples, SAMPLES, &s);
        held += s.low <= log(2) && log(2) <= s.high;
    }
    /* 96.48 % expected; 5 standard deviations are 2.1 %. */
    assert_true(held > TRIALS * 0.944 && held < TRIALS * 0.986);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_samples_have_known_summaries),
        cmocka_unit_test(few_or_bad_samples_claim_nothing),
        cmocka_unit_test(the_rank_is_what_the_binomial_says),
        cmocka_unit_test(the_interval_covers_the_median),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
