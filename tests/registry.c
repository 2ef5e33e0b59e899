/* The registry: dispatch takes the last variant that fits, by format or by the name of the layout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cpu.h"
#include "registry.h"
#include "workload.h"

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

/* Bytes of this process's memory that it can write to. */
static double held(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*u %*u %*u %*u %*u %lu", &pages), 1);
    fclose(f);
    return 4096.0 * (double)pages;
}

/* Who makes many instances relies on it: twice as much is there where weights are kept as rows and packed. */
static void workloads_hold_what_they_say(void **state)
{
    (void)state;
    const struct sm_family *f;
    for (size_t i = 0; (f = sm_family_at(i)); i++) {
        const struct sm_workload *w = sm_workload_named(f->name);
        struct sm_shape shape = {{0}};
        assert_non_null(w);
        for (size_t d = 0; d < f->dim_count; d++) shape.dim[d] = f->dims[d].standard;
        const double before = held();
        void *work = w->create(&shape, SM_REGIME_RANDOM, 1);
        assert_non_null(work);
        const double made = held() - before, said = (double)w->footprint(&shape);
        w->destroy(work);
        if (!(made <= 3 * said + 0x1p24)) fail_msg("%s holds %.0f bytes and says %.0f", f->name, made, said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(best_of_a_layout), cmocka_unit_test(caches_have_all_layouts),
                                       cmocka_unit_test(workloads_hold_what_they_say)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
