#include <math.h>
#include <stdlib.h>

#include "guard.h"
#include "matmul_f32/matmul_f32.h"
#include "random.h"
#include "workload.h"

#define FULL_CHECK_OPS 0x1p27 /* beyond it a sample of the output is judged (workload.h) */
#define SAMPLED_COLS 64
#define MAX_LAYOUTS 4

struct work {
    struct sm_shape shape;
    size_t rows, out, in;
    enum sm_regime regime;
    uint64_t seed;
    struct sm_guarded x, w, y;
    struct sm_guarded packed[MAX_LAYOUTS];
    const struct sm_layout *packed_layout[MAX_LAYOUTS];
    uint64_t x_hash;
    struct sm_matmul_f32 args;
};

static const char *refuse(const struct sm_shape *shape)
{
    (void)shape;
    return NULL;
}

static float value(struct sm_random *r, enum sm_regime regime)
{
    switch (regime) {
    case SM_REGIME_EXACT: return (float)((int)sm_random_below(r, 7) - 3); /* sums stay below 2^24 */
    case SM_REGIME_EXTREME: {
        static const float odd[] = {0.0f, -0.0f, 1.0f, -1.0f, 1e15f, -1e15f, 0x1p-140f, 1e-15f};
        return odd[sm_random_below(r, 8)];
    }
    default: return sm_random_normal(r);
    }
}

static void destroy(void *work)
{
    struct work *k = work;
    if (!k) return;
    sm_guarded_destroy(&k->x);
    sm_guarded_destroy(&k->w);
    sm_guarded_destroy(&k->y);
    for (size_t i = 0; i < MAX_LAYOUTS; i++) sm_guarded_destroy(&k->packed[i]);
    free(k);
}

static void *create(const struct sm_shape *shape, enum sm_regime regime, uint64_t seed)
{
    struct work *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    k->shape = *shape;
    k->rows = (size_t)shape->dim[SM_MATMUL_F32_ROWS];
    k->out = (size_t)shape->dim[SM_MATMUL_F32_OUT];
    k->in = (size_t)shape->dim[SM_MATMUL_F32_IN];
    k->regime = regime;
    k->seed = seed;
    if (sm_guarded_create(&k->x, k->rows * k->in * sizeof(float), 4) ||
        sm_guarded_create(&k->w, k->out * k->in * sizeof(float), 64) ||
        sm_guarded_create(&k->y, k->rows * k->out * sizeof(float), 4)) {
        destroy(k);
        return NULL;
    }
    struct sm_random r = {seed};
    float *x = k->x.data, *w = k->w.data;
    for (size_t i = 0; i < k->rows * k->in; i++) x[i] = value(&r, regime);
    for (size_t i = 0; i < k->out * k->in; i++) w[i] = value(&r, regime);
    k->x_hash = sm_guarded_hash(&k->x);
    return k;
}

static const void *packed_for(struct work *k, const struct sm_layout *layout)
{
    for (size_t i = 0; i < MAX_LAYOUTS; i++) {
        if (k->packed_layout[i] == layout) return k->packed[i].data;
        if (k->packed_layout[i]) continue;
        if (sm_guarded_create(&k->packed[i], layout->packed_bytes(k->out, k->in), 64)) return NULL;
        layout->pack(k->packed[i].data, k->w.data, k->out, k->in);
        k->packed_layout[i] = layout;
        return k->packed[i].data;
    }
    return NULL;
}

static const void *prepare(void *work, const struct sm_variant *variant)
{
    struct work *k = work;
    const void *w = packed_for(k, variant->layout);
    if (!w) return NULL;
    sm_guarded_poison(&k->y);
    k->args = (struct sm_matmul_f32){.y = k->y.data,
                                     .y_stride = k->out,
                                     .x = k->x.data,
                                     .x_stride = k->in,
                                     .w = w,
                                     .rows = k->rows,
                                     .out = k->out,
                                     .in = k->in};
    return &k->args;
}

/* One output against the exact sum (in double: 29 bits to spare), in units of the header's bound. */
static double error_at(const struct work *k, size_t r, size_t o)
{
    const float *x = (const float *)k->x.data + r * k->in;
    const float *w = (const float *)k->w.data + o * k->in;
    double exact = 0, magnitude = 0;
    for (size_t i = 0; i < k->in; i++) {
        const double p = (double)w[i] * (double)x[i];
        exact += p;
        magnitude += fabs(p);
    }
    const double got = (double)((const float *)k->y.data)[r * k->out + o];
    const double off = fabs(got - exact);
    if (off == 0) return 0;
    if (k->regime == SM_REGIME_EXACT || !(off < INFINITY)) return INFINITY;
    /* each product may also fall among the denormals */
    return off / (((double)k->in + 3) * (0x1p-24 * magnitude + 0x1p-149));
}

static double error(void *work, const struct sm_variant *variant)
{
    (void)variant;
    struct work *k = work;
    const int full = (double)k->rows * (double)k->out * (double)k->in <= FULL_CHECK_OPS;
    struct sm_random random = {k->seed ^ 0x5eed};
    double worst = 0;
    for (size_t r = 0; r < k->rows; r++) {
        const int whole = full || r == 0 || r + 1 == k->rows;
        const size_t cols = whole || k->out < SAMPLED_COLS ? k->out : SAMPLED_COLS;
        for (size_t c = 0; c < cols; c++) {
            const size_t o = cols == k->out ? c : sm_random_below(&random, (uint32_t)k->out);
            const double e = error_at(k, r, o);
            if (!(e <= worst)) worst = e;
        }
    }
    return worst;
}

static const char *damage(void *work)
{
    struct work *k = work;
    if (sm_guarded_intact(&k->y)) return "wrote outside the output";
    if (sm_guarded_intact(&k->x) || sm_guarded_hash(&k->x) != k->x_hash) return "changed its activations";
    for (size_t i = 0; i < MAX_LAYOUTS; i++)
        if (k->packed_layout[i] && sm_guarded_intact(&k->packed[i])) return "wrote outside the weights";
    return NULL;
}

static double ops(const struct sm_shape *s)
{
    return (double)s->dim[SM_MATMUL_F32_ROWS] * (double)s->dim[SM_MATMUL_F32_OUT] * (double)s->dim[SM_MATMUL_F32_IN];
}

static double bytes(const struct sm_shape *s)
{
    const double rows = (double)s->dim[SM_MATMUL_F32_ROWS], out = (double)s->dim[SM_MATMUL_F32_OUT],
                 in = (double)s->dim[SM_MATMUL_F32_IN];
    return 4 * (out * in + rows * in + rows * out);
}

static size_t footprint(const struct sm_shape *s)
{
    return (size_t)bytes(s);
}

const struct sm_workload sm_workload_matmul_f32 = {
    .family = "matmul_f32",
    .refuse = refuse,
    .create = create,
    .prepare = prepare,
    .error = error,
    .damage = damage,
    .ops = ops,
    .bytes = bytes,
    .ops_unit = "multiply-adds",
    .footprint = footprint,
    .destroy = destroy,
};
