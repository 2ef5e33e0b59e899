/* Operands of matmuls from a seed, and exact answers: the arithmetic half of matmul_workload.h. */
#include <math.h>
#include <string.h>

#include "matmul_workload.h"
#include "random.h"

size_t sm_matmul_weight_bytes(enum sm_format format, size_t out, size_t in)
{
    switch (format) {
    case SM_FORMAT_F32: return out * in * sizeof(float);
    case SM_FORMAT_F16: return out * in * sizeof(uint16_t);
    case SM_FORMAT_Q4_0: return out * (in / SM_GROUP) * sizeof(struct sm_block_q4_0);
    case SM_FORMAT_Q4_1: return out * (in / SM_GROUP) * sizeof(struct sm_block_q4_1);
    case SM_FORMAT_Q8_0: return out * (in / SM_GROUP) * sizeof(struct sm_block_q8_0);
    case SM_FORMAT_W4C: return out * sm_channel_bytes(in, 4);
    case SM_FORMAT_W8C: return out * sm_channel_bytes(in, 8);
    default: return 0;
    }
}

static float pick_float(struct sm_random *r, enum sm_regime regime)
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

void sm_matmul_fill_floats(float *x, size_t count, enum sm_regime regime, uint64_t seed)
{
    struct sm_random r = {seed};
    for (size_t i = 0; i < count; i++) x[i] = pick_float(&r, regime);
}

/* A scale or an offset: powers of two that no sum of small integers can round; the ends of f16 and its denormals. */
static uint16_t pick_half(struct sm_random *r, enum sm_regime regime, int is_offset)
{
    static const uint16_t odd[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x7bff, 0xfbff};
    switch (regime) {
    case SM_REGIME_EXACT: return sm_f32_to_f16((sm_random_below(r, 2) ? 0.5f : 1.0f) * (is_offset ? -4.0f : 1.0f));
    case SM_REGIME_EXTREME: return odd[sm_random_below(r, 10)];
    default: return sm_f32_to_f16((is_offset ? -0.16f : 0.02f) * (1.5f + sm_random_unit(r)));
    }
}

static void fill_halves(uint16_t *w, size_t count, enum sm_regime regime, uint64_t seed)
{
    struct sm_random r = {seed};
    for (size_t i = 0; i < count; i++)
        w[i] = regime == SM_REGIME_EXTREME ? pick_half(&r, regime, 0) : sm_f32_to_f16(pick_float(&r, regime));
}

/* Eight random bytes at a time, a multiple of them. */
static void fill_bytes(uint8_t *bytes, size_t count, struct sm_random *r)
{
    for (size_t i = 0; i < count; i += 8) {
        const uint64_t eight = sm_random_u64(r);
        memcpy(bytes + i, &eight, 8);
    }
}

static void fill_nibbles(uint8_t q[16], struct sm_random *r, enum sm_regime regime)
{
    fill_bytes(q, 16, r);
    const uint32_t which = sm_random_below(r, 4);
    if (regime == SM_REGIME_EXTREME && which < 2) memset(q, which ? 0xff : 0x00, 16);
}

static void fill_int8(int8_t q[32], struct sm_random *r, enum sm_regime regime)
{
    fill_bytes((uint8_t *)q, 32, r);
    const uint32_t which = sm_random_below(r, 4);
    if (regime == SM_REGIME_EXTREME && which < 2) memset(q, which ? 0x80 : 0x7f, 32);
    if (regime == SM_REGIME_EXACT)
        for (size_t i = 0; i < SM_GROUP; i++) q[i] = (int8_t)(q[i] % 8);
}

void sm_matmul_fill_weights(void *weights, enum sm_format format, size_t out, size_t in, enum sm_regime regime,
                            uint64_t seed)
{
    struct sm_random r = {seed};
    const size_t blocks = out * (in / SM_GROUP);
    switch (format) {
    case SM_FORMAT_F32: sm_matmul_fill_floats(weights, out * in, regime, seed); return;
    case SM_FORMAT_F16: fill_halves(weights, out * in, regime, seed); return;
    case SM_FORMAT_W4C: sm_matmul_fill_channels(weights, 4, out, in, regime, seed); return;
    case SM_FORMAT_W8C: sm_matmul_fill_channels(weights, 8, out, in, regime, seed); return;
    default: break;
    }
    for (size_t b = 0; b < blocks; b++) {
        const uint16_t d = pick_half(&r, regime, 0);
        if (format == SM_FORMAT_Q4_0) {
            struct sm_block_q4_0 *w = (struct sm_block_q4_0 *)weights + b;
            w->d = d;
            fill_nibbles(w->q, &r, regime);
        } else if (format == SM_FORMAT_Q4_1) {
            struct sm_block_q4_1 *w = (struct sm_block_q4_1 *)weights + b;
            w->d = d;
            w->m = pick_half(&r, regime, 1);
            fill_nibbles(w->q, &r, regime);
        } else {
            struct sm_block_q8_0 *w = (struct sm_block_q8_0 *)weights + b;
            w->d = d;
            fill_int8(w->q, &r, regime);
        }
    }
}

static float pick_scale(struct sm_random *r, enum sm_regime regime)
{
    static const float odd[] = {0.0f, 0x1p-149f, 0x1p-130f, 1e-20f, 1.0f, 1e10f, 1e24f, 0.37f};
    switch (regime) {
    case SM_REGIME_EXACT: return sm_random_below(r, 2) ? 0.5f : 1.0f;
    case SM_REGIME_EXTREME: return odd[sm_random_below(r, 8)];
    default: return 0.01f * (1.5f + sm_random_unit(r));
    }
}

void sm_matmul_fill_a8(struct sm_a8 x, size_t rows, size_t in, enum sm_regime regime, uint64_t seed)
{
    struct sm_random r = {seed};
    for (size_t g = 0; g < rows * (in / SM_GROUP); g++) {
        int8_t *q = x.q + g * SM_GROUP;
        const uint32_t which = sm_random_below(&r, 4);
        fill_bytes((uint8_t *)q, SM_GROUP, &r);
        x.sum[g] = 0;
        for (size_t i = 0; i < SM_GROUP; i++) {
            if (q[i] == -128) q[i] = 127;
            if (regime == SM_REGIME_EXACT) q[i] = (int8_t)(q[i] % 4);
            if (regime == SM_REGIME_EXTREME && which < 2) q[i] = which ? 127 : -127;
            x.sum[g] += q[i];
        }
        x.scale[g] = pick_scale(&r, regime);
    }
}

struct sm_matmul_exact sm_matmul_exact_float(enum sm_format format, const void *w, const float *x, size_t in)
{
    struct sm_matmul_exact e = {0};
    for (size_t i = 0; i < in; i++) {
        const float weight = format == SM_FORMAT_F16 ? sm_f16_to_f32(((const uint16_t *)w)[i]) : ((const float *)w)[i];
        const double p = (double)weight * (double)x[i];
        e.value += p;
        e.sum += fabs(p);
    }
    e.roundings = (double)in + 3;
    e.denormal = ((double)in + 3) * 0x1p-149;
    return e;
}

static int32_t dot_nibbles(const uint8_t q[16], int32_t zero, const int8_t *x)
{
    int32_t dot = 0;
    for (size_t i = 0; i < 16; i++) dot += ((q[i] & 15) - zero) * x[i] + ((q[i] >> 4) - zero) * x[16 + i];
    return dot;
}

static int32_t dot_int8(const int8_t q[32], const int8_t *x)
{
    int32_t dot = 0;
    for (size_t i = 0; i < SM_GROUP; i++) dot += q[i] * x[i];
    return dot;
}

struct sm_matmul_exact sm_matmul_exact_a8(enum sm_format format, const void *w, const int8_t *q, const float *scale,
                                          size_t in)
{
    struct sm_matmul_exact e = {0};
    const size_t blocks = in / SM_GROUP;
    for (size_t b = 0; b < blocks; b++, q += SM_GROUP) {
        double d, offset = 0, sum = 0;
        int32_t dot;
        if (format == SM_FORMAT_Q4_0) {
            const struct sm_block_q4_0 *block = (const struct sm_block_q4_0 *)w + b;
            d = (double)sm_f16_to_f32(block->d);
            dot = dot_nibbles(block->q, 8, q);
        } else if (format == SM_FORMAT_Q4_1) {
            const struct sm_block_q4_1 *block = (const struct sm_block_q4_1 *)w + b;
            d = (double)sm_f16_to_f32(block->d);
            offset = (double)sm_f16_to_f32(block->m);
            dot = dot_nibbles(block->q, 0, q);
            for (size_t i = 0; i < SM_GROUP; i++) sum += q[i];
        } else {
            const struct sm_block_q8_0 *block = (const struct sm_block_q8_0 *)w + b;
            d = (double)sm_f16_to_f32(block->d);
            dot = dot_int8(block->q, q);
        }
        /* both products fit a double's 53 bits */
        e.value += (double)scale[b] * (d * dot) + (double)scale[b] * (offset * sum);
        e.sum += (double)scale[b] * (fabs(d * dot) + fabs(offset * sum));
        e.denormal += 0x1p-149 * (fabs((double)dot) + fabs(sum) + 2);
    }
    e.roundings = (double)blocks * (format == SM_FORMAT_Q4_1 ? 2 : 1) + 4;
    return e;
}
