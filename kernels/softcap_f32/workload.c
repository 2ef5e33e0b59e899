#include <stdlib.h>

#include "random.h"
#include "rows_workload.h"
#include "softcap_f32/softcap_f32.h"
#include "workload.h"

struct work {
    enum sm_regime regime;
    uint64_t seed;
    int in_place; /* not in the random regime, whose runs repeat */
    struct sm_rows x, y;
    uint64_t x_hash;
    struct sm_softcap_f32 args;
};

static const char *refuse(const struct sm_shape *shape)
{
    (void)shape;
    return NULL;
}

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
    sm_rows_destroy(&k->x);
    sm_rows_destroy(&k->y);
    free(k);
}

static void *create(const struct sm_shape *shape, enum sm_regime regime, uint64_t seed)
{
    struct work *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    const size_t rows = (size_t)shape->dim[SM_SOFTCAP_F32_ROWS], cols = (size_t)shape->dim[SM_SOFTCAP_F32_COLS];
    k->regime = regime;
    k->seed = seed;
    k->in_place = regime != SM_REGIME_RANDOM && seed % 2;
    if (sm_rows_create(&k->x, rows, cols, regime, seed) || sm_rows_create(&k->y, rows, cols, regime, seed / 2)) {
        destroy(k);
        return NULL;
    }
    struct sm_random random = {seed};
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++) sm_rows_at(&k->x, r)[c] = value(&random, regime);
    k->x_hash = sm_guarded_hash(&k->x.memory);
    static const float caps[SM_REGIME_COUNT] = {
        [SM_REGIME_RANDOM] = 30, [SM_REGIME_EXACT] = 32, [SM_REGIME_EXTREME] = 0.3f};
    k->args = (struct sm_softcap_f32){.rows = rows, .cols = cols, .cap = caps[regime]};
    return k;
}

static const void *prepare(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    sm_rows_poison(&k->y);
    if (k->in_place) sm_rows_copy(&k->y, &k->x);
    const struct sm_rows *x = k->in_place ? &k->y : &k->x;
    k->args.y = sm_rows_at(&k->y, 0);
    k->args.y_stride = k->y.stride;
    k->args.x = sm_rows_at(x, 0);
    k->args.x_stride = x->stride;
    return &k->args;
}

static double error(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    const double cap = (double)k->args.cap;
    double worst = 0;
    for (size_t r = 0; r < k->args.rows; r++) {
        const float *x = sm_rows_at(&k->x, r), *y = sm_rows_at(&k->y, r);
        const size_t step = sm_rows_judged_step(&k->y, r);
        for (size_t c = (size_t)(k->seed + r) % step; c < k->args.cols; c += step) {
            const double exact = cap * tanh((double)x[c] / cap);
            const double e = sm_judge(y[c], exact, 8 * 0x1p-24 * fabs(exact) + cap * 0x1p-149, k->regime);
            if (fabsf(y[c]) > k->args.cap || !signbit(y[c]) != !signbit(x[c])) return INFINITY;
            if (e > worst) worst = e;
        }
    }
    return worst;
}

static const char *damage(void *work)
{
    struct work *k = work;
    if (sm_rows_intact(&k->y)) return "wrote outside the output";
    if (sm_rows_intact(&k->x) || sm_guarded_hash(&k->x.memory) != k->x_hash) return "changed its input";
    return NULL;
}

static double ops(const struct sm_shape *s)
{
    return (double)s->dim[SM_SOFTCAP_F32_ROWS] * (double)s->dim[SM_SOFTCAP_F32_COLS];
}

static double bytes(const struct sm_shape *s)
{
    return 8 * ops(s);
}

static size_t footprint(const struct sm_shape *s)
{
    return (size_t)bytes(s);
}

const struct sm_workload sm_workload_softcap_f32 = {
    .family = "softcap_f32",
    .refuse = refuse,
    .create = create,
    .prepare = prepare,
    .error = error,
    .damage = damage,
    .ops = ops,
    .bytes = bytes,
    .ops_unit = "elements",
    .footprint = footprint,
    .destroy = destroy,
};
