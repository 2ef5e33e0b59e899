/* matmul_workload.h - what the workloads of the matmul families share: all but the argument struct and the formats.
 *
 * A family's workload.c fills a struct sm_matmul_kind and expands SM_MATMUL_WORKLOAD. Axes are rows, out, in, in this
 * order. The seed's bits choose the rest of a call: bit 0 a bias, bit 1 a residual, bit 2 strides wider than rows. */
#ifndef SM_MATMUL_WORKLOAD_H
#define SM_MATMUL_WORKLOAD_H

#include "quant.h"
#include "workload.h"

enum { SM_MATMUL_ROWS, SM_MATMUL_OUT, SM_MATMUL_IN };

/* One call's operands, from which a family makes its arguments. */
struct sm_matmul_operands {
    float *y;
    size_t y_stride;
    const float *x; /* float activations, or NULL */
    size_t x_stride;
    struct sm_a8 a8; /* or those of quant.h: what the kind's activations say */
    struct sm_a8r a8r;
    struct sm_a16 a16;
    const void *w; /* packed */
    const float *bias;
    const float *residual;
    size_t rows, out, in;
};

enum sm_matmul_activations { SM_MATMUL_A8, SM_MATMUL_F32, SM_MATMUL_A8R, SM_MATMUL_A16 };

struct sm_matmul_kind {
    enum sm_matmul_activations activations; /* with A8R and A16, weights have a scale per channel: answers are exact */
    size_t multiple;                        /* of the input channels */
    double weight_bytes; /* of one weight with its share of the scale, in the family's smallest format */
    /* Writes the family's argument struct (at most SM_MATMUL_ARGS_BYTES). */
    void (*bind)(void *args, const struct sm_matmul_operands *operands);
};

#define SM_MATMUL_ARGS_BYTES 256

void *sm_matmul_work_create(const struct sm_matmul_kind *kind, const struct sm_shape *shape, enum sm_regime regime,
                            uint64_t seed);
const void *sm_matmul_work_prepare(void *work, const struct sm_variant *variant);
double sm_matmul_work_error(void *work, const struct sm_variant *variant);
const char *sm_matmul_work_damage(void *work);
void sm_matmul_work_destroy(void *work);
const char *sm_matmul_refuse(const struct sm_matmul_kind *kind, const struct sm_shape *shape);
double sm_matmul_ops(const struct sm_shape *shape);
double sm_matmul_bytes(const struct sm_matmul_kind *kind, const struct sm_shape *shape);

/* sm_workload_<name> of a family whose kind is `kind`. */
#define SM_MATMUL_WORKLOAD(name, kind)                                                                                 \
    static const char *refuse(const struct sm_shape *shape)                                                            \
    {                                                                                                                  \
        return sm_matmul_refuse(&(kind), shape);                                                                       \
    }                                                                                                                  \
    static void *create(const struct sm_shape *shape, enum sm_regime regime, uint64_t seed)                            \
    {                                                                                                                  \
        return sm_matmul_work_create(&(kind), shape, regime, seed);                                                    \
    }                                                                                                                  \
    static double bytes(const struct sm_shape *shape)                                                                  \
    {                                                                                                                  \
        return sm_matmul_bytes(&(kind), shape);                                                                        \
    }                                                                                                                  \
    static size_t footprint(const struct sm_shape *shape)                                                              \
    {                                                                                                                  \
        return (size_t)sm_matmul_bytes(&(kind), shape);                                                                \
    }                                                                                                                  \
    const struct sm_workload sm_workload_##name = {                                                                    \
        .family = #name,                                                                                               \
        .refuse = refuse,                                                                                              \
        .create = create,                                                                                              \
        .prepare = sm_matmul_work_prepare,                                                                             \
        .error = sm_matmul_work_error,                                                                                 \
        .damage = sm_matmul_work_damage,                                                                               \
        .ops = sm_matmul_ops,                                                                                          \
        .bytes = bytes,                                                                                                \
        .ops_unit = "multiply-adds",                                                                                   \
        .footprint = footprint,                                                                                        \
        .destroy = sm_matmul_work_destroy,                                                                             \
    }

/* matmul_operands.c: seeded contents. weights: canonical rows of the format, [out][in]. */
void sm_matmul_fill_weights(void *weights, enum sm_format format, size_t out, size_t in, enum sm_regime regime,
                            uint64_t seed);
void sm_matmul_fill_floats(float *x, size_t count, enum sm_regime regime, uint64_t seed);
void sm_matmul_fill_a8(struct sm_a8 x, size_t rows, size_t in, enum sm_regime regime, uint64_t seed);
size_t sm_matmul_weight_bytes(enum sm_format format, size_t out, size_t in);

/* One output before bias and residual: its exact value (in double: at least 2^-50 of S), and what the family's header
 * bounds an error by: S, the number n of roundings, and the share of denormals. Indices of x are those of its row. */
struct sm_matmul_exact {
    double value, sum, roundings, denormal;
};
struct sm_matmul_exact sm_matmul_exact_float(enum sm_format format, const void *w, const float *x, size_t in);
struct sm_matmul_exact sm_matmul_exact_a8(enum sm_format format, const void *w, const int8_t *q, const float *scale,
                                          size_t in);

/* matmul_channel_operands.c: the same for weights and rows of matmul_channel.h, whose answer before bias and residual
 * is one float. */
void sm_matmul_fill_channels(void *weights, int bits, size_t out, size_t in, enum sm_regime regime, uint64_t seed);
void sm_matmul_fill_a8r(struct sm_a8r x, size_t rows, size_t in, enum sm_regime regime, uint64_t seed);
void sm_matmul_fill_a16(struct sm_a16 *x, size_t rows, size_t in, enum sm_regime regime, uint64_t seed);
float sm_matmul_channel_a8r(int bits, const void *w, const struct sm_a8r *x, size_t r, size_t in);
float sm_matmul_channel_a16(int bits, const void *w, const struct sm_a16 *x, size_t r, size_t in);

#endif
