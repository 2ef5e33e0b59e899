/* Half floats against the definition: every half, and the halfway points between neighbours. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "quant.h"

static void every_half_survives_the_round_trip(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        const float f = sm_f16_to_f32((uint16_t)h);
        if (isnan(f)) {
            assert_true(isnan(sm_f16_to_f32(sm_f32_to_f16(f))));
            continue;
        }
        assert_int_equal(sm_f32_to_f16(f), h);
    }
}

static void halves_mean_what_ieee_says(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x7c00; h++) {
        const int e = (int)(h >> 10);
        const double expected = e ? ldexp(1024 + (int)(h & 1023), e - 25) : ldexp((double)(h & 1023), -24);
        assert_true((double)sm_f16_to_f32((uint16_t)h) == expected);
        assert_true((double)sm_f16_to_f32((uint16_t)(h | 0x8000)) == -expected);
    }
}

static void ties_go_to_even_and_the_rest_to_the_nearest(void **state)
{
    (void)state;
    for (uint32_t h = 0; h + 1 < 0x7c00; h++) {
        const double low = (double)sm_f16_to_f32((uint16_t)h), high = (double)sm_f16_to_f32((uint16_t)(h + 1));
        const float middle = (float)((low + high) / 2);
        assert_int_equal(sm_f32_to_f16(middle), h & 1 ? h + 1 : h);
        assert_int_equal(sm_f32_to_f16(nextafterf(middle, INFINITY)), h + 1);
        assert_int_equal(sm_f32_to_f16(nextafterf(middle, 0)), h);
    }
    assert_int_equal(sm_f32_to_f16(65519.99f), 0x7bff);
    assert_int_equal(sm_f32_to_f16(65520.0f), 0x7c00);
    assert_int_equal(sm_f32_to_f16(-INFINITY), 0xfc00);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_survives_the_round_trip),
        cmocka_unit_test(halves_mean_what_ieee_says),
        cmocka_unit_test(ties_go_to_even_and_the_rest_to_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
