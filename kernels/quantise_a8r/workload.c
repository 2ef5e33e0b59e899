#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "quantise_a8r/quantise_a8r.h"
#include "random.h"
#include "workload.h"

struct work {
    size_t rows, cols, x_stride;
    struct sm_guarded x, q, scale, sum;
    uint64_t x_hash;
    struct sm_quantise_a8r args;
};

static const char *refuse(const struct sm_shape *shape)
{
    if (shape->dim[SM_QUANTISE_A8R_COLS] % SM_GROUP) return "columns must be a multiple of 32";
    return NULL;
}

static void destroy(void *work)
{
    struct work *k = work;
    if (!k) return;
    sm_guarded_destroy(&k->x);
    sm_guarded_destroy(&k->q);
    sm_guarded_destroy(&k->scale);
    sm_guarded_destroy(&k->sum);
    free(k);
}

/* Extremes: rows of zeros, of denormals on both sides of a finite 127 / amax, of the largest floats, and of ties. */
static void fill_row(float *x, size_t cols, enum sm_regime regime, struct sm_random *r)
{
    static const float size[] = {0.0f, 0x1p-149f, 0x1p-127f, 3.7e-37f, 3.8e-37f, 0x1.fffffep127f, 127.0f, 1e-20f};
    const uint32_t which = sm_random_below(r, 8);
    for (size_t i = 0; i < cols; i++) switch (regime) {
        case SM_REGIME_EXACT: x[i] = (float)((int)sm_random_below(r, 509) - 254) * 0.5f; break;
        case SM_REGIME_EXTREME: x[i] = size[which] * (sm_random_below(r, 4) ? sm_random_unit(r) : 1.0f); break;
        default: x[i] = sm_random_normal(r);
        }
    if (regime == SM_REGIME_EXACT) x[sm_random_below(r, (uint32_t)cols)] = -127.0f; /* so that halves are ties */
}

static void *create(const struct sm_shape *shape, enum sm_regime regime, uint64_t seed)
{
    struct work *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    k->rows = (size_t)shape->dim[SM_QUANTISE_A8R_ROWS];
    k->cols = (size_t)shape->dim[SM_QUANTISE_A8R_COLS];
    /* random operands lie densely and aligned, as in a model */
    const bool dense = regime == SM_REGIME_RANDOM;
    const size_t align = dense ? 64 : 1, align_x = dense ? 64 : 4;
    k->x_stride = k->cols + (!dense && seed & 1 ? 3 : 0);
    if (sm_guarded_create(&k->x, k->rows * k->x_stride * sizeof(float), align_x) ||
        sm_guarded_create(&k->q, k->rows * k->cols, align) ||
        sm_guarded_create(&k->scale, k->rows * sizeof(float), 4) ||
        sm_guarded_create(&k->sum, k->rows * sizeof(int32_t), 4)) {
        destroy(k);
        return NULL;
    }
    struct sm_random r = {seed};
    for (size_t row = 0; row < k->rows; row++) fill_row((float *)k->x.data + row * k->x_stride, k->cols, regime, &r);
    k->x_hash = sm_guarded_hash(&k->x);
    k->args = (struct sm_quantise_a8r){.out = {.q = k->q.data, .scale = k->scale.data, .sum = k->sum.data},
                                       .x = k->x.data,
                                       .x_stride = k->x_stride,
                                       .rows = k->rows,
                                       .cols = k->cols};
    return k;
}

static const void *prepare(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    sm_guarded_poison(&k->q);
    sm_guarded_poison(&k->scale);
    sm_guarded_poison(&k->sum);
    return &k->args;
}

/* The header's formula, said once more: 0 where every bit agrees. */
static double row_error(const struct work *k, size_t r)
{
    const struct sm_a8r *out = &k->args.out;
    const float *x = (const float *)k->x.data + r * k->x_stride;
    float amax = 0;
    for (size_t i = 0; i < k->cols; i++) amax = fmaxf(amax, fabsf(x[i]));
    const float scale = amax / 127.0f, inverse = 127.0f / amax;
    int32_t sum = 0;
    for (size_t i = 0; i < k->cols; i++) {
        const float v = isfinite(inverse) ? fminf(fmaxf(nearbyintf(x[i] * inverse), -127.0f), 127.0f) : 0.0f;
        if ((float)out->q[r * k->cols + i] != v) return INFINITY;
        sum += (int32_t)v;
    }
    return memcmp(&scale, &out->scale[r], sizeof scale) || sum != out->sum[r] ? INFINITY : 0;
}

static double error(void *work, const struct sm_variant *variant)
{
    (void)variant;
    const struct work *k = work;
    double worst = 0;
    for (size_t r = 0; r < k->rows; r++) worst = fmax(worst, row_error(k, r));
    return worst;
}

static const char *damage(void *work)
{
    struct work *k = work;
    if (sm_guarded_intact(&k->q) || sm_guarded_intact(&k->scale) || sm_guarded_intact(&k->sum))
        return "wrote outside the output";
    if (sm_guarded_intact(&k->x) || sm_guarded_hash(&k->x) != k->x_hash) return "changed its input";
    return NULL;
}

static double ops(const struct sm_shape *s)
{
    return (double)s->dim[SM_QUANTISE_A8R_ROWS] * (double)s->dim[SM_QUANTISE_A8R_COLS];
}

static double bytes(const struct sm_shape *s)
{
    return ops(s) * (4 + 1) + 8 * (double)s->dim[SM_QUANTISE_A8R_ROWS]; /* a row has a scale and a sum */
}

static size_t footprint(const struct sm_shape *s)
{
    return (size_t)bytes(s);
}

const struct sm_workload sm_workload_quantise_a8r = {
    .family = "quantise_a8r",
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
