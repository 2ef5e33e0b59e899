#include <stdlib.h>

#include "random.h"
#include "rope/rope.h"
#include "rows_workload.h"
#include "workload.h"

struct work {
    enum sm_regime regime;
    uint64_t seed;
    struct sm_rows_pair pair;
    struct sm_rows cos, sin;
    struct sm_rope args;
};

static const char *refuse(const struct sm_shape *shape)
{
    return shape->dim[SM_ROPE_HEAD_DIM] % 2 ? "head_dim is odd, and its elements turn in pairs" : NULL;
}

static float value(struct sm_random *r, enum sm_regime regime)
{
    switch (regime) {
    case SM_REGIME_EXACT: return (float)((int)sm_random_below(r, 15) - 7);
    case SM_REGIME_EXTREME: return sm_random_extreme(r, 0x1p120f);
    default: return sm_random_normal(r);
    }
}

/* Tables are dense: rows of head_dim / 2. Exact: quarter turns and other sums of powers of two. */
static void fill_tables(struct work *k, struct sm_random *random)
{
    static const float exact_values[] = {0, 1, -1, 0.5f, -0.5f, 0.25f, 0.75f, -1};
    for (size_t i = 0; i < k->cos.rows * k->cos.cols; i++) {
        float *cos_at = sm_rows_at(&k->cos, 0) + i, *sin_at = sm_rows_at(&k->sin, 0) + i;
        const float angle = 4 * sm_random_unit(random);
        *cos_at = cosf(angle);
        *sin_at = sinf(angle);
        if (k->regime == SM_REGIME_EXACT) {
            *cos_at = exact_values[sm_random_below(random, 8)];
            *sin_at = exact_values[sm_random_below(random, 8)];
        }
    }
}

static void destroy(void *work)
{
    struct work *k = work;
    if (!k) return;
    sm_rows_pair_destroy(&k->pair);
    sm_rows_destroy(&k->cos);
    sm_rows_destroy(&k->sin);
    free(k);
}

static void *create(const struct sm_shape *shape, enum sm_regime regime, uint64_t seed)
{
    struct work *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    const size_t rows = (size_t)shape->dim[SM_ROPE_ROWS], heads = (size_t)shape->dim[SM_ROPE_HEADS],
                 head_dim = (size_t)shape->dim[SM_ROPE_HEAD_DIM];
    k->regime = regime;
    k->seed = seed;
    if (sm_rows_pair_create(&k->pair, rows, heads * head_dim, regime, seed) ||
        sm_rows_create(&k->cos, 1, rows * (head_dim / 2), regime, 0) ||
        sm_rows_create(&k->sin, 1, rows * (head_dim / 2), regime, 0)) {
        destroy(k);
        return NULL;
    }
    struct sm_random random = {seed};
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < k->pair.x.cols; c++) sm_rows_at(&k->pair.x, r)[c] = value(&random, regime);
    fill_tables(k, &random);
    sm_rows_seal(&k->pair.x);
    sm_rows_seal(&k->cos);
    sm_rows_seal(&k->sin);
    k->args = (struct sm_rope){.cos = sm_rows_at(&k->cos, 0),
                               .sin = sm_rows_at(&k->sin, 0),
                               .rows = rows,
                               .heads = heads,
                               .head_dim = head_dim};
    return k;
}

static const void *prepare(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    const struct sm_rows *x = sm_rows_pair_prepare(&k->pair);
    k->args.x = sm_rows_at(x, 0);
    k->args.x_stride = x->stride;
    k->args.y = k->pair.in_place && k->seed / 2 % 2 ? NULL : sm_rows_at(&k->pair.y, 0);
    k->args.y_stride = k->pair.y.stride;
    return &k->args;
}

/* The worse of the two elements of pair i. */
static double error_of_pair(const struct work *k, size_t r, size_t h, size_t i)
{
    const size_t half = k->args.head_dim / 2, at = h * k->args.head_dim + i;
    const float *x = sm_rows_at(&k->pair.x, r) + at, *y = sm_rows_at(&k->pair.y, r) + at;
    const double first = (double)x[0], second = (double)x[half];
    const double c = (double)k->args.cos[r * half + i], s = (double)k->args.sin[r * half + i];
    const double e0 = sm_judge(y[0], first * c - second * s,
                               2 * 0x1p-24 * (fabs(first * c) + fabs(second * s)) + 0x1p-148, k->regime);
    const double e1 = sm_judge(y[half], second * c + first * s,
                               2 * 0x1p-24 * (fabs(second * c) + fabs(first * s)) + 0x1p-148, k->regime);
    return e0 > e1 ? e0 : e1;
}

static double error(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    double worst = 0;
    for (size_t r = 0; r < k->args.rows; r++) {
        const size_t step = sm_rows_judged_step(&k->pair.y, r);
        for (size_t h = (size_t)(k->seed + r) % step; h < k->args.heads; h += step)
            for (size_t i = 0; i < k->args.head_dim / 2; i++) {
                const double e = error_of_pair(k, r, h, i);
                if (e > worst) worst = e;
            }
    }
    return worst;
}

static const char *damage(void *work)
{
    struct work *k = work;
    if (sm_rows_intact(&k->pair.y)) return "wrote outside the heads";
    if (sm_rows_changed(&k->pair.x)) return "changed its input";
    if (sm_rows_changed(&k->cos) || sm_rows_changed(&k->sin)) return "changed its tables";
    return NULL;
}

static double ops(const struct sm_shape *s)
{
    return (double)s->dim[SM_ROPE_ROWS] * (double)s->dim[SM_ROPE_HEADS] * (double)s->dim[SM_ROPE_HEAD_DIM];
}

static double bytes(const struct sm_shape *s)
{
    return 8 * ops(s) + 4 * (double)s->dim[SM_ROPE_ROWS] * (double)s->dim[SM_ROPE_HEAD_DIM];
}

SM_ROWS_WORKLOAD(sm_workload_rope, "rope", refuse, bytes);
