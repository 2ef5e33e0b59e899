/* The workloads of the attention families and of mask_build must tell a wrong kernel from a right one: each fault
 * planted here has to be called wrong, and the same kernel without it right. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attention.h"
#include "cpu.h"
#include "mask_build/mask_build.h"
#include "registry.h"
#include "workload.h"

/* What a fault does to the arguments before the right kernel runs. `mask` is a copy it may change. */
typedef void fault_fn(struct sm_attention *a, float *mask);

static void no_fault(struct sm_attention *a, float *mask)
{
    (void)a, (void)mask;
}

static void last_column_masked(struct sm_attention *a, float *mask)
{
    for (size_t r = 0; r < a->rows; r++) mask[r * a->mask_stride + a->past + a->now - 1] = -120;
}

static void last_block_dropped(struct sm_attention *a, float *mask)
{
    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = a->past / 64 * 64; j < a->past; j++) mask[r * a->mask_stride + j] = -1e9f;
}

static void mask_off_by_one(struct sm_attention *a, float *mask)
{
    for (size_t r = 0; r < a->rows; r++)
        memmove(mask + r * a->mask_stride + 1, mask + r * a->mask_stride, (a->past + a->now - 1) * sizeof *mask);
}

static void mask_of_the_row_above(struct sm_attention *a, float *mask)
{
    (void)mask;
    a->mask_stride = 0;
}

static void wrong_scale(struct sm_attention *a, float *mask)
{
    (void)mask;
    a->scale *= 1.01f;
}

static void softcap_forgotten(struct sm_attention *a, float *mask)
{
    (void)mask;
    a->softcap = 0;
}

static void keys_of_the_head_before(struct sm_attention *a, float *mask)
{
    (void)mask;
    a->k_past.head_stride = 0;
}

static void keys_for_values(struct sm_attention *a, float *mask)
{
    (void)mask;
    a->v_past = a->k_past;
}

/* For the types that have scales. */
static void keys_under_another_scale(struct sm_attention *a, float *mask)
{
    static float other[4096];
    (void)mask;
    if (!a->k_now.scale) a->scale *= 1.01f;
    for (size_t i = 0; a->k_now.scale && i < 4096; i++) other[i] = 1.01f * *a->k_now.scale;
    if (a->k_now.scale) a->k_past.scale = a->k_now.scale = other;
}

static void mask_ignored(struct sm_attention *a, float *mask)
{
    memset(mask, 0, a->rows * a->mask_stride * sizeof *mask);
}

static const struct {
    const char *what;
    fault_fn *plant;
    int swaps_halves, drops_last_head;
} faults[] = {
    {"column K - 1 masked", last_column_masked, 0, 0},
    {"the last block of the past dropped", last_block_dropped, 0, 0},
    {"the mask off by one column", mask_off_by_one, 0, 0},
    {"the mask of row 0 for all rows", mask_of_the_row_above, 0, 0},
    {"a scale 1 % too large", wrong_scale, 0, 0},
    {"no softcap", softcap_forgotten, 0, 0},
    {"the keys of another head", keys_of_the_head_before, 0, 0},
    {"keys for values", keys_for_values, 0, 0},
    {"keys under another scale", keys_under_another_scale, 0, 0},
    {"no mask", mask_ignored, 0, 0},
    {"the halves of each head swapped", no_fault, 1, 0},
    {"the last head not written", no_fault, 0, 1},
};

static void swap_halves(const struct sm_attention *a)
{
    for (size_t r = 0; r < a->rows; r++)
        for (size_t i = 0; i < a->heads; i++)
            for (size_t d = 0; d < a->head_dim / 2; d++) {
                float *x = a->out + r * a->out_stride + i * a->head_dim + d, *y = x + a->head_dim / 2;
                const float t = *x;
                *x = *y;
                *y = t;
            }
}

/* The worst error over the regimes, in tolerances: infinite when one of them sees it plainly. */
static double worst_error(const struct sm_family *f, const struct sm_variant *variant, fault_fn *plant,
                          int swaps_halves, int drops_last_head)
{
    static const struct sm_shape shape = {{5, 300, 64, 6, 2, 290, 0, 20}};
    const struct sm_workload *w = sm_workload_named(f->name);
    double worst = 0;
    for (int regime = 0; regime < SM_REGIME_COUNT; regime++) {
        void *work = w->create(&shape, (enum sm_regime)regime, 4);
        assert_non_null(work);
        struct sm_attention a = *(const struct sm_attention *)w->prepare(work, variant);
        float *mask = malloc(a.rows * a.mask_stride * sizeof *mask);
        assert_non_null(mask);
        memcpy(mask, a.mask, a.rows * a.mask_stride * sizeof *mask);
        a.mask = mask;
        plant(&a, mask);
        variant->fn(&a, sm_part_whole(a.rows, a.heads - (size_t)drops_last_head));
        if (swaps_halves) swap_halves(&a);
        const double error = w->error(work, variant);
        if (!(error <= worst)) worst = isnan(error) ? INFINITY : error;
        assert_null(w->damage(work));
        free(mask);
        w->destroy(work);
    }
    return worst;
}

static void attention_faults_are_seen(void **state)
{
    static const char *const families[] = {"attention_f32", "attention_f16", "attention_i8", "attention_i16"};
    (void)state;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const struct sm_family *f = sm_family_named(families[i]);
        const struct sm_variant *variant = sm_variant_best(f, sm_cpu_features(), SM_FORMAT_NONE);
        assert_true(worst_error(f, variant, no_fault, 0, 0) <= 1);
        for (size_t n = 0; n < sizeof faults / sizeof *faults; n++) {
            const double error =
                worst_error(f, variant, faults[n].plant, faults[n].swaps_halves, faults[n].drops_last_head);
            print_message("%s: %s: %g tolerances\n", f->name, faults[n].what, error);
            if (!(error > 1)) fail_msg("%s: %s was not seen", f->name, faults[n].what);
        }
    }
}

/* Of a large call a sample is judged: all of the first and the last row, something of each block of rows, and of all
 * that they were written. */
static void faults_of_large_calls_are_seen(void **state)
{
    enum { ROWS = 256, HEAD_DIM = 64, HEADS = 8 };
    static const struct sm_shape shape = {{ROWS, 2048, HEAD_DIM, HEADS, 2, -1, 0, 0}};
    static const struct {
        size_t first, rows, width;
        float times;
    } spoilt[] = {{0, 1, 1, 1.01f},
                  {ROWS - 1, 1, 1, 1.01f},
                  {100, 1, 1, NAN},
                  {96, 32, HEADS * HEAD_DIM, 1.01f},
                  {ROWS - 33, 32, HEADS * HEAD_DIM, 1.01f}};
    const struct sm_family *f = sm_family_named("attention_f16");
    const struct sm_variant *variant = sm_variant_best(f, sm_cpu_features(), SM_FORMAT_NONE);
    const struct sm_workload *w = sm_workload_named(f->name);
    void *work = w->create(&shape, SM_REGIME_RANDOM, 4);
    (void)state;
    assert_non_null(work);
    assert_true(w->ops(&shape) > SM_JUDGED_OPS);
    const struct sm_attention *a = w->prepare(work, variant);
    for (size_t n = 0; n < sizeof spoilt / sizeof *spoilt; n++) {
        variant->fn(a, sm_part_whole(a->rows, a->heads));
        assert_true(w->error(work, variant) <= 1);
        for (size_t r = spoilt[n].first; r < spoilt[n].first + spoilt[n].rows; r++)
            for (size_t i = 0; i < spoilt[n].width; i++) a->out[r * a->out_stride + i] *= spoilt[n].times;
        if (w->error(work, variant) <= 1) fail_msg("%zu rows from %zu: not seen", spoilt[n].rows, spoilt[n].first);
    }
    w->destroy(work);
}

static void mask_faults_are_seen(void **state)
{
    static const struct sm_shape shape = {{6, 40, 20, 9}};
    const struct sm_family *f = &sm_family_mask_build;
    const struct sm_workload *w = sm_workload_named(f->name);
    (void)state;
    for (int fault = 0; fault < 5; fault++) {
        void *work = w->create(&shape, SM_REGIME_RANDOM, 2);
        assert_non_null(work);
        struct sm_mask_build a = *(const struct sm_mask_build *)w->prepare(work, &f->variants[0]);
        if (fault == 1) a.past_valid--;
        if (fault == 2) a.window++;
        if (fault == 3) a.valid--;
        f->variants[0].fn(&a, sm_part_whole(a.rows, a.past + a.rows));
        if (fault == 4) a.mask[a.past + a.rows - 1] = 0;
        assert_int_equal(w->error(work, &f->variants[0]) <= 1, fault == 0);
        w->destroy(work);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_faults_are_seen),
        cmocka_unit_test(faults_of_large_calls_are_seen),
        cmocka_unit_test(mask_faults_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
