#include <stdlib.h>

#include "argmax/argmax.h"
#include "random.h"
#include "rows_workload.h"
#include "workload.h"

struct work {
    struct sm_rows x;
    struct sm_guarded index;
    struct sm_argmax args;
};

/* Exact: few values, so that most rows have ties. */
static float value(struct sm_random *r, enum sm_regime regime)
{
    switch (regime) {
    case SM_REGIME_EXACT: return (float)((int)sm_random_below(r, 7) - 3);
    case SM_REGIME_EXTREME: return sm_random_extreme(r, 0x1.fffffep127f);
    default: return sm_random_normal(r);
    }
}

static void destroy(void *work)
{
    struct work *k = work;
    if (!k) return;
    sm_rows_destroy(&k->x);
    sm_guarded_destroy(&k->index);
    free(k);
}

/* Extreme rows are also all negative, all zeros of either sign, or peak in their last column. */
static void fill_row(float *x, size_t cols, enum sm_regime regime, struct sm_random *random)
{
    const uint32_t kind = regime == SM_REGIME_EXTREME ? sm_random_below(random, 4) : 0;
    for (size_t c = 0; c < cols; c++) {
        x[c] = value(random, regime);
        if (kind == 1) x[c] = -fabsf(x[c]) - 1;
        if (kind == 2) x[c] = copysignf(0, x[c]);
    }
    if (kind == 3) {
        for (size_t c = 0; c < cols; c++) x[c] = -0x1.fffffep127f;
        x[cols - 1] = -0x1.fffffcp127f;
    }
}

static void *create(const struct sm_shape *shape, enum sm_regime regime, uint64_t seed)
{
    struct work *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    const size_t rows = (size_t)shape->dim[SM_ARGMAX_ROWS], cols = (size_t)shape->dim[SM_ARGMAX_COLS];
    if (sm_rows_create(&k->x, rows, cols, regime, seed) || sm_guarded_create(&k->index, rows * sizeof(int32_t), 4)) {
        destroy(k);
        return NULL;
    }
    struct sm_random random = {seed};
    for (size_t r = 0; r < rows; r++) fill_row(sm_rows_at(&k->x, r), cols, regime, &random);
    sm_rows_seal(&k->x);
    k->args = (struct sm_argmax){
        .index = k->index.data, .x = sm_rows_at(&k->x, 0), .x_stride = k->x.stride, .rows = rows, .cols = cols};
    return k;
}

static const void *prepare(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    sm_guarded_poison(&k->index);
    return &k->args;
}

static double error(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    for (size_t r = 0; r < k->args.rows; r++) {
        const size_t best = sm_rows_largest(sm_rows_at(&k->x, r), k->args.cols);
        if (k->args.index[r] != (int32_t)best) return INFINITY;
    }
    return 0;
}

static const char *damage(void *work)
{
    struct work *k = work;
    if (sm_guarded_intact(&k->index)) return "wrote outside the indices";
    if (sm_rows_changed(&k->x)) return "changed its input";
    return NULL;
}

static double ops(const struct sm_shape *s)
{
    return (double)s->dim[SM_ARGMAX_ROWS] * (double)s->dim[SM_ARGMAX_COLS];
}

static double bytes(const struct sm_shape *s)
{
    return 4 * (ops(s) + (double)s->dim[SM_ARGMAX_ROWS]);
}

SM_ROWS_WORKLOAD(sm_workload_argmax, "argmax", sm_refuse_nothing, bytes);
