/* softcap_workload_body.h - the workload of every softcap_* family. workload.c of a family defines
 *
 *     SOFTCAP_FAMILY               its name, as a string
 *     SOFTCAP_WORKLOAD             the symbol of its workload
 *     SOFTCAP_ARGS                 the struct of its arguments
 *     SOFTCAP_ROWS, SOFTCAP_COLS   its dimensions
 *     index_of(args)               where args hold the pointer to the indices; NULL: the family gives none
 *
 * and then includes this, once. */
#include <stdlib.h>

#include "random.h"
#include "rows_workload.h"
#include "workload.h"

struct work {
    enum sm_regime regime;
    uint64_t seed;
    struct sm_rows_pair pair;
    struct sm_guarded index; /* zeroed where there are no indices */
    SOFTCAP_ARGS args;
};

/* Exact: c = 32, and x so small that tanh keeps x / c, or so large that it is 1. */
static float value(struct sm_random *r, enum sm_regime regime)
{
    switch (regime) {
    case SM_REGIME_EXACT: {
        const float small = (float)((int)sm_random_below(r, 15) - 7) * 0x1p-10f;
        return sm_random_below(r, 4) ? small : (small < 0 ? -512.0f : 512.0f);
    }
    case SM_REGIME_EXTREME: return sm_random_extreme(r, 0x1.fffffep127f);
    default: return 20 * sm_random_normal(r);
    }
}

static void destroy(void *work)
{
    struct work *k = work;
    if (!k) return;
    sm_rows_pair_destroy(&k->pair);
    sm_guarded_destroy(&k->index);
    free(k);
}

static void *create(const struct sm_shape *shape, enum sm_regime regime, uint64_t seed)
{
    struct work *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    const size_t rows = (size_t)shape->dim[SOFTCAP_ROWS], cols = (size_t)shape->dim[SOFTCAP_COLS];
    k->regime = regime;
    k->seed = seed;
    if (sm_rows_pair_create(&k->pair, rows, cols, regime, seed) ||
        (index_of(&k->args) && sm_guarded_create(&k->index, rows * sizeof(int32_t), 4))) {
        destroy(k);
        return NULL;
    }
    struct sm_random random = {seed};
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++) sm_rows_at(&k->pair.x, r)[c] = value(&random, regime);
    sm_rows_seal(&k->pair.x);
    static const float caps[SM_REGIME_COUNT] = {
        [SM_REGIME_RANDOM] = 30, [SM_REGIME_EXACT] = 32, [SM_REGIME_EXTREME] = 0.3f};
    k->args = (SOFTCAP_ARGS){.rows = rows, .cols = cols, .cap = caps[regime]};
    return k;
}

static const void *prepare(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    const struct sm_rows *x = sm_rows_pair_prepare(&k->pair);
    k->args.y = sm_rows_at(&k->pair.y, 0);
    k->args.y_stride = k->pair.y.stride;
    k->args.x = sm_rows_at(x, 0);
    k->args.x_stride = x->stride;
    int32_t **index = index_of(&k->args);
    if (index) {
        sm_guarded_poison(&k->index);
        *index = k->index.data;
    }
    return &k->args;
}

static double error(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    const double cap = (double)k->args.cap;
    const int32_t *index = k->index.data;
    double worst = 0;
    for (size_t r = 0; r < k->args.rows; r++) {
        const float *x = sm_rows_at(&k->pair.x, r), *y = sm_rows_at(&k->pair.y, r);
        const size_t step = sm_rows_judged_step(&k->pair.y, r);
        for (size_t c = (size_t)(k->seed + r) % step; c < k->args.cols; c += step) {
            const double exact = cap * tanh((double)x[c] / cap);
            const double e = sm_judge(y[c], exact, 10 * 0x1p-24 * fabs(exact) + cap * 0x1p-149, k->regime);
            if (fabsf(y[c]) > k->args.cap || !signbit(y[c]) != !signbit(x[c])) return INFINITY;
            if (e > worst) worst = e;
        }
        if (index && index[r] != (int32_t)sm_rows_largest(x, k->args.cols)) return INFINITY;
    }
    return worst;
}

static const char *damage(void *work)
{
    struct work *k = work;
    if (sm_rows_intact(&k->pair.y)) return "wrote outside the output";
    if (k->index.data && sm_guarded_intact(&k->index)) return "wrote outside the indices";
    if (sm_rows_changed(&k->pair.x)) return "changed its input";
    return NULL;
}

static double ops(const struct sm_shape *s)
{
    return (double)s->dim[SOFTCAP_ROWS] * (double)s->dim[SOFTCAP_COLS];
}

static double bytes(const struct sm_shape *s)
{
    SOFTCAP_ARGS args = {0};
    return 8 * ops(s) + (index_of(&args) ? 4 * (double)s->dim[SOFTCAP_ROWS] : 0);
}

SM_ROWS_WORKLOAD(SOFTCAP_WORKLOAD, SOFTCAP_FAMILY, sm_refuse_nothing, bytes);
