/* The registry: dispatch takes the last variant that fits, by format or by the name of the layout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cpu.h"
#include "registry.h"

static const struct sm_layout slot_major = {.name = "slot_major", .format = SM_FORMAT_F16};
static const struct sm_layout transposed = {.name = "transposed", .format = SM_FORMAT_F16};
static const struct sm_variant variants[] = {
    {.name = "ref", .layout = &slot_major},
    {.name = "ref_transposed", .layout = &transposed},
    {.name = "fast", .needs = SM_NEEDS_avx2, .layout = &slot_major},
    {.name = "fast_transposed", .needs = SM_NEEDS_avx2, .layout = &transposed},
    {.name = "faster", .needs = SM_NEEDS_avx512, .layout = &slot_major},
};
static const struct sm_family family = {.variants = variants, .variant_count = sizeof variants / sizeof *variants};

static void best_of_a_layout(void **state)
{
    (void)state;
    assert_ptr_equal(sm_variant_best_layout(&family, 0, "slot_major"), &variants[0]);
    assert_ptr_equal(sm_variant_best_layout(&family, 0, "transposed"), &variants[1]);
    assert_ptr_equal(sm_variant_best_layout(&family, SM_NEEDS_avx2, "slot_major"), &variants[2]);
    assert_ptr_equal(sm_variant_best_layout(&family, SM_NEEDS_avx512, "slot_major"), &variants[4]);
    assert_ptr_equal(sm_variant_best_layout(&family, SM_NEEDS_avx512, "transposed"), &variants[3]);
    assert_null(sm_variant_best_layout(&family, SM_NEEDS_avx512, "slot"));
}

static void caches_have_all_layouts(void **state)
{
    (void)state;
    static const char *const names[] = {"cache_write_f32", "cache_write_f16", "cache_write_i8", "cache_write_i16"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct sm_family *f = sm_family_named(names[i]);
        assert_non_null(f);
        uint32_t features;
        for (size_t level = 0; sm_cpu_level(level, &features); level++) {
            assert_non_null(sm_variant_best_layout(f, features, "slot_major"));
            assert_non_null(sm_variant_best_layout(f, features, "transposed"));
            assert_non_null(sm_variant_best_layout(f, features, "blocks16"));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(best_of_a_layout), cmocka_unit_test(caches_have_all_layouts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
