#include "quantise_channel.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "quant.h"

#define LEAST_SCALE 1e-8f
#define CLIP_STEPS 80
#define CLIP_GRID 100

static inline float clamped(float q, float most)
{
    return q < 0 ? 0 : q > most ? most : q;
}

static struct sm_channel channel_of(float least, float most, int bits)
{
    const float levels = (float)((1 << bits) - 1), scale = (most - least) / levels;
    struct sm_channel head = {scale > LEAST_SCALE ? scale : LEAST_SCALE, 0};
    if (isfinite(head.scale)) head.zero = (int32_t)clamped(rintf(-least / head.scale), levels);
    return head;
}

/* To nearest, halves to even, of what is small: adding pushes all fractions out. Unlike rintf it is two additions on
 * any CPU, of which compilers make vectors. */
static inline float nearest(float x)
{
    const float large = 0x1.8p23f;
    return x + large - large;
}

/* x^2.4 of 1e-10 to 1e10, to one part in a thousand, by its logarithm. Plain arithmetic, which compilers make
 * vectors of: it is done 80 times for every weight. */
static inline float power_2_4(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const float exponent = (float)((bits >> 23) - 127);
    bits = (bits & 0x7fffff) | 0x3f800000;
    float m;
    memcpy(&m, &bits, sizeof m);
    m -= 1;
    /* log2(1 + m) and 2^f by polynomials that are exact at both ends, and within 0.0002 between */
    const float y = 2.4f * (exponent + m + m * (m - 1) * (-0.43807f + m * (0.23669f - m * 0.08031f)));
    const int32_t whole = (int32_t)(y + 128) - 128;
    const float f = y - (float)whole, fraction = 1 + f + f * (f - 1) * (0.30407f + f * 0.07913f);
    memcpy(&bits, &fraction, sizeof bits);
    bits += whole * (1 << 23);
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The sum of |error|^2.4 in units of `unit`, or more than `enough` as soon as it is. */
static float cost(struct sm_channel head, int bits, const float *x, size_t cols, float unit, float enough)
{
    const float levels = (float)((1 << bits) - 1), inverse = 1 / head.scale, zero = (float)head.zero, per = 1 / unit;
    float sum = 0, part[SM_GROUP];
    for (size_t c = 0; c < cols && sum <= enough; c += SM_GROUP) {
        for (size_t i = 0; i < SM_GROUP; i++) {
            const float q = clamped(nearest(x[c + i] * inverse) + zero, levels);
            part[i] = power_2_4(fabsf(x[c + i] - (q - zero) * head.scale) * per + 1e-9f);
        }
        for (size_t half = SM_GROUP / 2; half; half /= 2)
            for (size_t i = 0; i < half; i++) part[i] += part[i + half];
        sum += part[0];
    }
    return sum;
}

static struct sm_channel search(float least, float most, int bits, const float *x, size_t cols)
{
    struct sm_channel best = channel_of(least, most, bits);
    const float unit = best.scale;
    float best_cost = cost(best, bits, x, cols, unit, INFINITY);
    for (int i = 1; i < CLIP_STEPS; i++) {
        const float p = 1 - (float)i / CLIP_GRID;
        const struct sm_channel head = channel_of(p * least, p * most, bits);
        const float now = cost(head, bits, x, cols, unit, best_cost);
        if (now < best_cost) {
            best = head;
            best_cost = now;
        }
    }
    return best;
}

void sm_quantise_channel(void *row, int bits, const float *x, size_t cols, bool clip)
{
    uint8_t *q = (uint8_t *)row + sizeof(struct sm_channel);
    float least = 0, most = 0;
    for (size_t i = 0; i < cols; i++) {
        if (x[i] < least) least = x[i];
        if (x[i] > most) most = x[i];
    }
    struct sm_channel head = channel_of(least, most, bits);
    if (clip && isfinite(head.scale)) head = search(least, most, bits, x, cols);
    memcpy(row, &head, sizeof head);
    if (!isfinite(head.scale)) return;
    const float levels = (float)((1 << bits) - 1), inverse = 1 / head.scale, zero = (float)head.zero;
    for (size_t i = 0; i < cols; i += 8 / (size_t)bits) {
        uint8_t byte = (uint8_t)clamped(rintf(x[i] * inverse) + zero, levels);
        if (bits == 4) byte = (uint8_t)(byte | (uint8_t)clamped(rintf(x[i + 1] * inverse) + zero, levels) << 4);
        *q++ = byte;
    }
}

void sm_dequantise_channel(float *to, int bits, const void *row, size_t cols)
{
    const uint8_t *q = (const uint8_t *)row + sizeof(struct sm_channel);
    struct sm_channel head;
    memcpy(&head, row, sizeof head);
    for (size_t i = 0; i < cols; i++) {
        const int32_t n = bits == 8 ? q[i] : q[i / 2] >> i % 2 * 4 & 15;
        to[i] = (float)(n - head.zero) * head.scale;
    }
}
