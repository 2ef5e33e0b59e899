/* Operands of matmul_channel.h from a seed, and its one right answer. */
#include <string.h>

#include "matmul_workload.h"
#include "random.h"

/* Extremes: every weight as far from its zero point as it can be, on either side, so that with activations of one sign
 * a sum is as large as it can get. Exact: sums of small integers, below 2^24. */
static uint8_t pick_quant(struct sm_random *r, enum sm_regime regime, uint32_t most, uint32_t which)
{
    if (regime == SM_REGIME_EXACT) return (uint8_t)sm_random_below(r, 8);
    if (regime == SM_REGIME_EXTREME && which < 2) return (uint8_t)(which ? most : 0);
    return (uint8_t)sm_random_below(r, most + 1);
}

static float pick_scale(struct sm_random *r, enum sm_regime regime)
{
    static const float odd[] = {0x1p-140f, 1e-20f, 1.0f, 1e10f};
    switch (regime) {
    case SM_REGIME_EXACT: return sm_random_below(r, 2) ? 0.5f : 1.0f;
    case SM_REGIME_EXTREME: return odd[sm_random_below(r, 4)];
    default: return 0.01f * (1.5f + sm_random_unit(r));
    }
}

void sm_matmul_fill_channels(void *weights, int bits, size_t out, size_t in, enum sm_regime regime, uint64_t seed)
{
    struct sm_random r = {seed};
    const uint32_t most = bits == 4 ? 15 : 255;
    for (size_t o = 0; o < out; o++) {
        uint8_t *row = (uint8_t *)weights + o * sm_channel_bytes(in, bits), *q = row + sizeof(struct sm_channel);
        const uint32_t which = sm_random_below(&r, 4);
        struct sm_channel head = {pick_scale(&r, regime), pick_quant(&r, regime, most, 2)};
        if (regime == SM_REGIME_EXTREME && which < 2) head.zero = which ? 0 : (int32_t)most;
        memcpy(row, &head, sizeof head);
        memset(q, 0, in * (size_t)bits / 8);
        for (size_t i = 0; i < in; i++) {
            const uint8_t value = pick_quant(&r, regime, most, which);
            if (bits == 8)
                q[i] = value;
            else
                q[i / 2] = (uint8_t)(q[i / 2] | value << i % 2 * 4);
        }
    }
}

void sm_matmul_fill_a8r(struct sm_a8r x, size_t rows, size_t in, enum sm_regime regime, uint64_t seed)
{
    struct sm_random random = {seed};
    for (size_t r = 0; r < rows; r++) {
        int8_t *q = x.q + r * in;
        const uint32_t which = sm_random_below(&random, 4);
        x.sum[r] = 0;
        for (size_t i = 0; i < in; i++) {
            q[i] = (int8_t)((int)sm_random_below(&random, 255) - 127);
            if (regime == SM_REGIME_EXACT) q[i] = (int8_t)(q[i] % 4);
            if (regime == SM_REGIME_EXTREME && which < 2) q[i] = which ? 127 : -127;
            x.sum[r] += q[i];
        }
        x.scale[r] = pick_scale(&random, regime);
    }
}

void sm_matmul_fill_a16(struct sm_a16 *x, size_t rows, size_t in, enum sm_regime regime, uint64_t seed)
{
    struct sm_random random = {seed};
    x->scale = pick_scale(&random, regime);
    for (size_t r = 0; r < rows; r++) {
        int16_t *q = x->q + r * in;
        const uint32_t which = sm_random_below(&random, 4);
        x->sum[r] = 0;
        for (size_t i = 0; i < in; i++) {
            q[i] = (int16_t)((int)sm_random_below(&random, 65536) - 32768);
            if (regime == SM_REGIME_EXACT) q[i] = (int16_t)(q[i] % 4);
            if (regime == SM_REGIME_EXTREME && which < 2) q[i] = which ? 32767 : -32768;
            x->sum[r] += q[i];
        }
    }
}

static int32_t weight_at(int bits, const uint8_t *row, size_t i)
{
    const uint8_t *q = row + sizeof(struct sm_channel);
    struct sm_channel head;
    memcpy(&head, row, sizeof head);
    return (bits == 8 ? q[i] : i % 2 ? q[i / 2] >> 4 : q[i / 2] & 15) - head.zero;
}

static float answer(const void *w, float scale_x, int64_t dot)
{
    struct sm_channel head;
    memcpy(&head, w, sizeof head);
    const float scale = head.scale * scale_x;
    return scale * (float)dot;
}

float sm_matmul_channel_a8r(int bits, const void *w, const struct sm_a8r *x, size_t r, size_t in)
{
    int64_t dot = 0;
    for (size_t i = 0; i < in; i++) dot += weight_at(bits, w, i) * x->q[r * in + i];
    return answer(w, x->scale[r], dot);
}

float sm_matmul_channel_a16(int bits, const void *w, const struct sm_a16 *x, size_t r, size_t in)
{
    int64_t dot = 0;
    for (size_t i = 0; i < in; i++) dot += (int64_t)weight_at(bits, w, i) * x->q[r * in + i];
    return answer(w, x->scale, dot);
}
