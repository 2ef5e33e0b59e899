#include "matmul_workload.h"

#include <math.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "random.h"

#define SAMPLED_COLS 64 /* of a row, where not all is judged (workload.h) */
#define MAX_FORMATS 2
#define MAX_LAYOUTS 4
#define INPUTS 5

struct work {
    const struct sm_matmul_kind *kind;
    struct sm_matmul_operands operands; /* w is that of the last prepare */
    enum sm_regime regime;
    uint64_t seed;
    struct sm_guarded y, x, scale, sum, bias, residual;
    uint64_t hash[INPUTS];
    /* Canonical rows by format, and packed ones by layout, made when first asked for. */
    struct sm_guarded canonical[MAX_FORMATS], packed[MAX_LAYOUTS];
    enum sm_format format[MAX_FORMATS];
    const struct sm_layout *layout[MAX_LAYOUTS];
    uint64_t packed_hash[MAX_LAYOUTS];
    alignas(16) unsigned char args[SM_MATMUL_ARGS_BYTES];
};

static struct sm_guarded *input(struct work *k, size_t i)
{
    struct sm_guarded *const all[INPUTS] = {&k->x, &k->scale, &k->sum, &k->bias, &k->residual};
    return all[i];
}

void sm_matmul_work_destroy(void *work)
{
    struct work *k = work;
    if (!k) return;
    sm_guarded_destroy(&k->y);
    for (size_t i = 0; i < INPUTS; i++) sm_guarded_destroy(input(k, i));
    for (size_t i = 0; i < MAX_FORMATS; i++) sm_guarded_destroy(&k->canonical[i]);
    for (size_t i = 0; i < MAX_LAYOUTS; i++) sm_guarded_destroy(&k->packed[i]);
    free(k);
}

/* Rows of ints with `scales` scales and `sums` sums of `sum_bytes` each. */
static int create_ints(struct work *k, size_t bytes, size_t scales, size_t sums, size_t sum_bytes)
{
    return sm_guarded_create(&k->x, bytes, sum_bytes == 8 ? 2 : 1) ||
           (scales && sm_guarded_create(&k->scale, scales * sizeof(float), 4)) ||
           sm_guarded_create(&k->sum, sums * sum_bytes, sum_bytes);
}

static int create_rows(struct work *k)
{
    struct sm_matmul_operands *p = &k->operands;
    const size_t count = p->rows * p->in;
    switch (k->kind->activations) {
    case SM_MATMUL_F32:
        p->x_stride = p->in + (k->seed & 4 ? 5 : 0);
        if (sm_guarded_create(&k->x, p->rows * p->x_stride * sizeof(float), 4)) return -1;
        sm_matmul_fill_floats(k->x.data, p->rows * p->x_stride, k->regime, k->seed ^ 1);
        p->x = k->x.data;
        return 0;
    case SM_MATMUL_A8R:
        if (create_ints(k, count, p->rows, p->rows, sizeof *p->a8r.sum)) return -1;
        p->a8r = (struct sm_a8r){.q = k->x.data, .scale = k->scale.data, .sum = k->sum.data};
        sm_matmul_fill_a8r(p->a8r, p->rows, p->in, k->regime, k->seed ^ 1);
        return 0;
    case SM_MATMUL_A16:
        if (create_ints(k, count * sizeof *p->a16.q, 0, p->rows, sizeof *p->a16.sum)) return -1;
        p->a16 = (struct sm_a16){.q = k->x.data, .sum = k->sum.data};
        sm_matmul_fill_a16(&p->a16, p->rows, p->in, k->regime, k->seed ^ 1);
        return 0;
    case SM_MATMUL_A8: break;
    }
    if (create_ints(k, count, count / SM_GROUP, count / SM_GROUP, sizeof *p->a8.sum)) return -1;
    p->a8 = (struct sm_a8){.q = k->x.data, .scale = k->scale.data, .sum = k->sum.data};
    sm_matmul_fill_a8(p->a8, p->rows, p->in, k->regime, k->seed ^ 1);
    return 0;
}

static int create_added(struct work *k)
{
    struct sm_matmul_operands *p = &k->operands;
    if (k->seed & 1) {
        if (sm_guarded_create(&k->bias, p->out * sizeof(float), 4)) return -1;
        sm_matmul_fill_floats(k->bias.data, p->out, k->regime, k->seed ^ 2);
        p->bias = k->bias.data;
    }
    if (k->seed & 2) {
        if (sm_guarded_create(&k->residual, k->y.bytes, 4)) return -1;
        sm_matmul_fill_floats(k->residual.data, k->y.bytes / sizeof(float), k->regime, k->seed ^ 3);
        p->residual = k->residual.data;
    }
    return 0;
}

void *sm_matmul_work_create(const struct sm_matmul_kind *kind, const struct sm_shape *shape, enum sm_regime regime,
                            uint64_t seed)
{
    struct work *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    k->kind = kind;
    k->regime = regime;
    k->seed = seed;
    struct sm_matmul_operands *p = &k->operands;
    p->rows = (size_t)shape->dim[SM_MATMUL_ROWS];
    p->out = (size_t)shape->dim[SM_MATMUL_OUT];
    p->in = (size_t)shape->dim[SM_MATMUL_IN];
    p->y_stride = p->out + (seed & 4 ? 3 : 0);
    if (sm_guarded_create(&k->y, p->rows * p->y_stride * sizeof(float), 4) || create_rows(k) || create_added(k)) {
        sm_matmul_work_destroy(k);
        return NULL;
    }
    p->y = k->y.data;
    for (size_t i = 0; i < INPUTS; i++)
        if (input(k, i)->data) k->hash[i] = sm_guarded_hash(input(k, i));
    return k;
}

static const void *canonical_for(struct work *k, enum sm_format format)
{
    const struct sm_matmul_operands *p = &k->operands;
    for (size_t i = 0; i < MAX_FORMATS; i++) {
        if (k->format[i] == format) return k->canonical[i].data;
        if (k->format[i]) continue;
        if (sm_guarded_create(&k->canonical[i], sm_matmul_weight_bytes(format, p->out, p->in), 4)) return NULL;
        sm_matmul_fill_weights(k->canonical[i].data, format, p->out, p->in, k->regime, k->seed);
        k->format[i] = format;
        return k->canonical[i].data;
    }
    return NULL;
}

static const void *packed_for(struct work *k, const struct sm_layout *layout)
{
    const struct sm_matmul_operands *p = &k->operands;
    const void *rows = canonical_for(k, layout->format);
    if (!rows) return NULL;
    for (size_t i = 0; i < MAX_LAYOUTS; i++) {
        if (k->layout[i] == layout) return k->packed[i].data;
        if (k->layout[i]) continue;
        if (sm_guarded_create(&k->packed[i], layout->packed_bytes(p->out, p->in), 64)) return NULL;
        layout->pack(k->packed[i].data, rows, p->out, p->in);
        k->packed_hash[i] = sm_guarded_hash(&k->packed[i]);
        k->layout[i] = layout;
        return k->packed[i].data;
    }
    return NULL;
}

const void *sm_matmul_work_prepare(void *work, const struct sm_variant *variant)
{
    struct work *k = work;
    k->operands.w = packed_for(k, variant->layout);
    if (!k->operands.w) return NULL;
    sm_guarded_poison(&k->y);
    k->kind->bind(k->args, &k->operands);
    return k->args;
}

/* With weights per channel each step rounds once, in a stated order: there is one right answer. */
static double channel_error_at(const struct work *k, enum sm_format format, const unsigned char *w, size_t r, size_t o)
{
    const struct sm_matmul_operands *p = &k->operands;
    const int bits = format == SM_FORMAT_W4C ? 4 : 8;
    const size_t at = r * p->y_stride + o;
    float y = k->kind->activations == SM_MATMUL_A16 ? sm_matmul_channel_a16(bits, w, &p->a16, r, p->in)
                                                    : sm_matmul_channel_a8r(bits, w, &p->a8r, r, p->in);
    if (p->bias) y += p->bias[o];
    if (p->residual) y += p->residual[at];
    return p->y[at] == y ? 0 : INFINITY;
}

/* One output, in units of the bound in the family's header. */
static double error_at(const struct work *k, enum sm_format format, const unsigned char *w, size_t r, size_t o)
{
    const struct sm_matmul_operands *p = &k->operands;
    const size_t blocks = p->in / SM_GROUP, at = r * p->y_stride + o;
    if (k->kind->activations >= SM_MATMUL_A8R) return channel_error_at(k, format, w, r, o);
    struct sm_matmul_exact e =
        k->kind->activations == SM_MATMUL_F32
            ? sm_matmul_exact_float(format, w, p->x + r * p->x_stride, p->in)
            : sm_matmul_exact_a8(format, w, p->a8.q + r * p->in, p->a8.scale + r * blocks, p->in);
    const double bias = p->bias ? (double)p->bias[o] : 0, residual = p->residual ? (double)p->residual[at] : 0;
    const double off = fabs((double)p->y[at] - (e.value + bias + residual));
    if (off == 0) return 0;
    if (k->regime == SM_REGIME_EXACT || !(off < INFINITY)) return INFINITY;
    const double nu = e.roundings * 0x1p-24;
    return off / (nu / (1 - nu) * (e.sum + fabs(bias) + fabs(residual)) + e.denormal);
}

double sm_matmul_work_error(void *work, const struct sm_variant *variant)
{
    struct work *k = work;
    const struct sm_matmul_operands *p = &k->operands;
    const enum sm_format format = variant->layout->format;
    const unsigned char *w = canonical_for(k, format);
    const size_t row_bytes = sm_matmul_weight_bytes(format, 1, p->in);
    const int full = (double)p->rows * (double)p->out * (double)p->in <= SM_JUDGED_OPS;
    struct sm_random random = {k->seed ^ 0x5eed};
    double worst = 0;
    for (size_t r = 0; r < p->rows; r++) {
        const int whole = full || r == 0 || r + 1 == p->rows;
        const size_t cols = whole || p->out < SAMPLED_COLS ? p->out : SAMPLED_COLS;
        for (size_t c = 0; c < cols; c++) {
            const size_t o = cols == p->out ? c : sm_random_below(&random, (uint32_t)p->out);
            const double e = error_at(k, format, w + o * row_bytes, r, o);
            if (!(e <= worst)) worst = e;
        }
    }
    return worst;
}

const char *sm_matmul_work_damage(void *work)
{
    struct work *k = work;
    const struct sm_matmul_operands *p = &k->operands;
    if (sm_guarded_intact(&k->y)) return "wrote outside the output";
    for (size_t r = 0; r < p->rows; r++)
        for (size_t o = p->out; o < p->y_stride; o++) {
            uint32_t bits;
            memcpy(&bits, &p->y[r * p->y_stride + o], sizeof bits);
            if (bits != 0xffffffff) return "wrote between the rows of the output";
        }
    for (size_t i = 0; i < INPUTS; i++)
        if (input(k, i)->data && (sm_guarded_intact(input(k, i)) || sm_guarded_hash(input(k, i)) != k->hash[i]))
            return "changed its activations, bias or residual";
    for (size_t i = 0; i < MAX_LAYOUTS; i++)
        if (k->layout[i] && (sm_guarded_intact(&k->packed[i]) || sm_guarded_hash(&k->packed[i]) != k->packed_hash[i]))
            return "changed the weights";
    return NULL;
}

const char *sm_matmul_refuse(const struct sm_matmul_kind *kind, const struct sm_shape *shape)
{
    if (shape->dim[SM_MATMUL_IN] % (int64_t)kind->multiple) return "input channels must be a multiple of 32";
    return NULL;
}

double sm_matmul_ops(const struct sm_shape *s)
{
    return (double)s->dim[SM_MATMUL_ROWS] * (double)s->dim[SM_MATMUL_OUT] * (double)s->dim[SM_MATMUL_IN];
}

double sm_matmul_bytes(const struct sm_matmul_kind *kind, const struct sm_shape *s)
{
    const double rows = (double)s->dim[SM_MATMUL_ROWS], out = (double)s->dim[SM_MATMUL_OUT],
                 in = (double)s->dim[SM_MATMUL_IN];
    double x_bytes = 4;
    switch (kind->activations) {
    case SM_MATMUL_F32: break;
    case SM_MATMUL_A8: x_bytes = 1 + 8.0 / SM_GROUP; break; /* a group has a scale and a sum */
    case SM_MATMUL_A8R: x_bytes = 1 + 8 / in; break;
    case SM_MATMUL_A16: x_bytes = 2 + 8 / in; break;
    }
    const double per_channel = kind->activations >= SM_MATMUL_A8R ? sizeof(struct sm_channel) : 0;
    return kind->weight_bytes * out * in + per_channel * out + x_bytes * rows * in + 4 * rows * out;
}
