/* What matmuls promise beside their answers: the same bits whatever the part and the other rows, and a residual that
 * may be the output itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "matmul_f32/matmul_f32.h"
#include "matmul_w4g32_a8/matmul_w4g32_a8.h"
#include "matmul_w8g32_a8/matmul_w8g32_a8.h"
#include "workload.h"

#define SEED 7 /* with bias, residual and wide strides */

static const struct sm_shape shape = {{27, 77, 544}}; /* rows beyond two tiles; a last tile and a last step not full */

union args {
    struct sm_matmul_f32 f32;
    struct sm_matmul_w4g32_a8 w4;
    struct sm_matmul_w8g32_a8 w8;
};

static int failures;

static void expect(int right, const struct sm_family *f, const struct sm_variant *v, const char *what)
{
    if (!right) failures++;
    printf("%s %s/%s: %s\n", right ? "ok  " : "FAIL", f->name, v->name, what);
}

static void check(const struct sm_family *f, const struct sm_variant *v, float *y, const float *residual, size_t bytes,
                  const void *args, const void *aliased)
{
    const size_t rows = (size_t)shape.dim[0], cols = (size_t)shape.dim[1];
    float *whole = malloc(bytes);
    if (!whole) exit(2);
    v->fn(args, sm_part_whole(rows, cols));
    memcpy(whole, y, bytes);

    memset(y, 0xff, bytes);
    for (size_t r = 0; r < rows; r++)
        v->fn(args, (struct sm_part){.row_begin = r, .row_end = r + 1, .col_begin = 0, .col_end = cols});
    expect(!memcmp(whole, y, bytes), f, v, "a row alone has the bits that it has among others");

    memset(y, 0xff, bytes);
    for (size_t i = 0; i < 3; i++) v->fn(args, f->split(&shape, 3, i));
    expect(!memcmp(whole, y, bytes), f, v, "columns alone have the bits that they have among others");

    memcpy(y, residual, bytes);
    for (size_t i = 0; i < 2; i++) v->fn(aliased, f->split(&shape, 2, i));
    int same = 1;
    for (size_t r = 0; r < rows; r++)
        same &= !memcmp(whole + r * (bytes / sizeof(float) / rows), y + r * (bytes / sizeof(float) / rows),
                        cols * sizeof(float));
    expect(same, f, v, "the residual may be the output");
    free(whole);
}

static void check_variant(const struct sm_family *f, const struct sm_variant *v)
{
    const struct sm_workload *w = sm_workload_named(f->name);
    void *work = w->create(&shape, SM_REGIME_RANDOM, SEED);
    const void *args = work ? w->prepare(work, v) : NULL;
    if (!args) exit(2);
    union args alias;
    const size_t rows = (size_t)shape.dim[0];
    if (f == &sm_family_matmul_f32) {
        memcpy(&alias.f32, args, sizeof alias.f32);
        const float *residual = alias.f32.residual;
        alias.f32.residual = alias.f32.y;
        check(f, v, alias.f32.y, residual, rows * alias.f32.y_stride * sizeof(float), args, &alias);
    } else if (f == &sm_family_matmul_w4g32_a8) {
        memcpy(&alias.w4, args, sizeof alias.w4);
        const float *residual = alias.w4.residual;
        alias.w4.residual = alias.w4.y;
        check(f, v, alias.w4.y, residual, rows * alias.w4.y_stride * sizeof(float), args, &alias);
    } else {
        memcpy(&alias.w8, args, sizeof alias.w8);
        const float *residual = alias.w8.residual;
        alias.w8.residual = alias.w8.y;
        check(f, v, alias.w8.y, residual, rows * alias.w8.y_stride * sizeof(float), args, &alias);
    }
    w->destroy(work);
}

int main(void)
{
    const struct sm_family *const families[] = {&sm_family_matmul_f32, &sm_family_matmul_w4g32_a8,
                                                &sm_family_matmul_w8g32_a8};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        for (size_t j = 0; j < families[i]->variant_count; j++)
            if (!(families[i]->variants[j].needs & ~sm_cpu_features()))
                check_variant(families[i], &families[i]->variants[j]);
    return failures != 0;
}
