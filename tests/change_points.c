/* Change points of series whose steps are known, and against all ways to cut. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "change_points.h"
#include "random.h"

/* Series of 100 points with a deviation of 1 %. */
static size_t count_cuts(struct sm_random *random, double step, size_t at, double rho, size_t *right)
{
    double z[100], noise = 0;
    size_t cuts[16];
    for (size_t i = 0; i < 100; i++) {
        noise = rho * noise + sqrt(1 - rho * rho) * 0.01 * (double)sm_random_normal(random);
        z[i] = noise + (i >= at ? step : 0);
    }
    const size_t n = sm_change_points(z, 100, 1, 0, cuts, 16);
    for (size_t k = 0; k < n && k < 16; k++) *right += cuts[k] + 2 >= at && cuts[k] <= at + 2;
    return n;
}

static void steps_are_found_and_flat_series_are_not_cut(void **state)
{
    (void)state;
    struct sm_random random = {31};
    size_t white = 0, correlated = 0, two = 0, five = 0, ignored = 0;
    for (int i = 0; i < 300; i++) {
        white += count_cuts(&random, 0, 50, 0, &ignored) > 0;
        correlated += count_cuts(&random, 0, 50, 0.5, &ignored) > 0;
        size_t right = 0;
        count_cuts(&random, 0.02, 20 + (size_t)i % 60, 0, &right);
        two += right > 0;
        right = 0;
        count_cuts(&random, 0.05, 20 + (size_t)i % 60, 0, &right);
        five += right > 0;
    }
    assert_true(white <= 300 * 12 / 100);      /* 7 % in the reference study */
    assert_true(correlated <= 300 * 35 / 100); /* 22 % */
    assert_true(two >= 300 * 85 / 100);        /* 97 % */
    assert_int_equal(five, 300);
}

/* Forty builds of identical code, then twenty that differ: one change, and none among those that differ. */
static void identical_builds_are_no_measure_of_noise(void **state)
{
    (void)state;
    struct sm_random random = {33};
    double z[60] = {0};
    size_t cuts[16];
    for (int i = 40; i < 60; i++) z[i] = 0.02 + 0.0006 * (double)sm_random_normal(&random);
    assert_true(sm_change_points(z, 60, 1, 0, cuts, 16) > 2);
    assert_int_equal(sm_change_points(z, 60, 1, 0.0005, cuts, 16), 1);
    assert_int_equal(cuts[0], 40);
}

/* The dynamic programme against all ways to cut a short series. */
static double cost_of(const double *z, size_t begin, size_t end)
{
    const double level = sm_level(z, begin, end);
    double sum = 0;
    for (size_t i = begin; i < end; i++) sum += fabs(z[i] - level);
    return sum;
}

static void the_cut_is_the_best_of_all(void **state)
{
    (void)state;
    struct sm_random random = {32};
    for (int trial = 0; trial < 300; trial++) {
        double z[9];
        size_t cuts[4];
        for (size_t i = 0; i < 9; i++) z[i] = (double)sm_random_normal(&random) + (i >= 5 ? 3 : 0);
        const size_t n = sm_change_points(z, 9, 0, 0, cuts, 4); /* no penalty: as many cuts as help */
        double best = cost_of(z, 0, 9), got;
        for (size_t a = 3; a <= 6; a++) best = fmin(best, cost_of(z, 0, a) + cost_of(z, a, 9));
        best = fmin(best, cost_of(z, 0, 3) + cost_of(z, 3, 6) + cost_of(z, 6, 9));
        got = n == 0   ? cost_of(z, 0, 9)
              : n == 1 ? cost_of(z, 0, cuts[0]) + cost_of(z, cuts[0], 9)
                       : cost_of(z, 0, cuts[0]) + cost_of(z, cuts[0], cuts[1]) + cost_of(z, cuts[1], 9);
        assert_true(n <= 2 && fabs(got - best) < 1e-9);
    }
    size_t cuts[2];
    assert_int_equal(sm_change_points((const double[]){1, 2, 3, 4, 5}, 5, 1, 0, cuts, 2), 0);
    assert_true(isnan(sm_level(NULL, 0, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_found_and_flat_series_are_not_cut),
        cmocka_unit_test(identical_builds_are_no_measure_of_noise),
        cmocka_unit_test(the_cut_is_the_best_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
