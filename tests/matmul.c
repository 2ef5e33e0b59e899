/* What matmuls promise beside their answers: the same bits whatever the part and the other rows, and a residual that
 * may be the output itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "matmul_channel.h"
#include "matmul_f16/matmul_f16.h"
#include "matmul_f32/matmul_f32.h"
#include "matmul_w4c_a16/matmul_w4c_a16.h"
#include "matmul_w4c_a8/matmul_w4c_a8.h"
#include "matmul_w4g32_a8/matmul_w4g32_a8.h"
#include "matmul_w8c_a16/matmul_w8c_a16.h"
#include "matmul_w8c_a8/matmul_w8c_a8.h"
#include "matmul_w8g32_a8/matmul_w8g32_a8.h"
#include "workload.h"

#define SEED 7 /* with bias, residual and wide strides */

static const struct sm_shape shapes[] = {
    {{27, 77, 544}},  /* rows beyond two tiles; a last tile and a last step not full */
    {{70, 35, 288}},  /* rows beyond those that share a piece of the inputs */
    {{43, 35, 1120}}, /* a last tile of rows that begins in the one before it, whose sums wait for more inputs */
};

union args {
    struct sm_matmul_f32 f32;
    struct sm_matmul_w4g32_a8 w4;
    struct sm_matmul_w8g32_a8 w8;
    struct sm_matmul_c_a8 c8;
    struct sm_matmul_c_a16 c16;
};

/* A family, and how to call it with its output as the residual. */
#define FAMILY(name, member)                                                                                           \
    {                                                                                                                  \
        &sm_family_##name, sizeof(((union args *)NULL)->member), alias_##member                                        \
    }
#define ALIAS(member)                                                                                                  \
    static void alias_##member(union args *a, struct view *v)                                                          \
    {                                                                                                                  \
        *v = (struct view){a->member.y, a->member.residual, a->member.rows * a->member.y_stride * sizeof(float)};      \
        a->member.residual = a->member.y;                                                                              \
    }
struct view {
    float *y;
    const float *residual;
    size_t bytes;
};
ALIAS(f32)
ALIAS(w4)
ALIAS(w8)
ALIAS(c8)
ALIAS(c16)

static const struct {
    const struct sm_family *family;
    size_t args_bytes;
    void (*alias)(union args *a, struct view *v);
} families[] = {
    FAMILY(matmul_f32, f32),   FAMILY(matmul_f16, f32),   FAMILY(matmul_w4g32_a8, w4), FAMILY(matmul_w8g32_a8, w8),
    FAMILY(matmul_w4c_a8, c8), FAMILY(matmul_w8c_a8, c8), FAMILY(matmul_w4c_a16, c16), FAMILY(matmul_w8c_a16, c16),
};

static int failures;

static void expect(int right, const struct sm_family *f, const struct sm_variant *v, const char *what)
{
    if (!right) failures++;
    printf("%s %s/%s: %s\n", right ? "ok  " : "FAIL", f->name, v->name, what);
}

static void check(const struct sm_family *f, const struct sm_variant *v, const struct sm_shape *shape, struct view y,
                  const void *args, const void *aliased)
{
    const size_t rows = (size_t)shape->dim[0], cols = (size_t)shape->dim[1], bytes = y.bytes;
    float *whole = malloc(bytes);
    if (!whole) exit(2);
    v->fn(args, sm_part_whole(rows, cols));
    memcpy(whole, y.y, bytes);

    memset(y.y, 0xff, bytes);
    for (size_t r = 0; r < rows; r++)
        v->fn(args, (struct sm_part){.row_begin = r, .row_end = r + 1, .col_begin = 0, .col_end = cols});
    expect(!memcmp(whole, y.y, bytes), f, v, "a row alone has the bits that it has among others");

    memset(y.y, 0xff, bytes);
    for (size_t i = 0; i < 3; i++) v->fn(args, f->split(shape, 3, i));
    expect(!memcmp(whole, y.y, bytes), f, v, "columns alone have the bits that they have among others");

    memcpy(y.y, y.residual, bytes);
    for (size_t i = 0; i < 2; i++) v->fn(aliased, f->split(shape, 2, i));
    int same = 1;
    for (size_t r = 0; r < rows; r++)
        same &= !memcmp(whole + r * (bytes / sizeof(float) / rows), y.y + r * (bytes / sizeof(float) / rows),
                        cols * sizeof(float));
    expect(same, f, v, "the residual may be the output");
    free(whole);
}

static void check_variant(size_t n, const struct sm_variant *v, const struct sm_shape *shape)
{
    const struct sm_family *f = families[n].family;
    const struct sm_workload *w = sm_workload_named(f->name);
    void *work = w->create(shape, SM_REGIME_RANDOM, SEED);
    const void *args = work ? w->prepare(work, v) : NULL;
    if (!args) exit(2);
    union args aliased;
    struct view view;
    memcpy(&aliased, args, families[n].args_bytes);
    families[n].alias(&aliased, &view);
    check(f, v, shape, view, args, &aliased);
    w->destroy(work);
}

int main(void)
{
    for (size_t n = 0; n < sizeof families / sizeof *families; n++)
        for (size_t j = 0; j < families[n].family->variant_count; j++)
            if (!(families[n].family->variants[j].needs & ~sm_cpu_features()))
                for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
                    check_variant(n, &families[n].family->variants[j], &shapes[i]);
    return failures != 0;
}
