#include "quantise.h"

#include <math.h>

#include "quant.h"

/* 1 / d; 0 where there is none, or none that a float holds. */
static float inverse_of(float d)
{
    const float inverse = 1 / d;
    return d != 0 && isfinite(inverse) ? inverse : 0;
}

/* Nibbles as they lie in a block: element i beside element i + 16. */
static void put_nibbles(uint8_t *to, const uint8_t *q)
{
    for (size_t i = 0; i < SM_GROUP / 2; i++) to[i] = (uint8_t)(q[i] | q[i + SM_GROUP / 2] << 4);
}

static void write_q4_0(struct sm_block_q4_0 *to, const float *x)
{
    uint8_t q[SM_GROUP];
    float largest = x[0]; /* the first of the largest magnitude, with its sign */
    for (size_t i = 0; i < SM_GROUP; i++)
        if (fabsf(x[i]) > fabsf(largest)) largest = x[i];
    const float d = largest / -8, inverse = inverse_of(d);
    for (size_t i = 0; i < SM_GROUP; i++) {
        const double n = trunc((double)x[i] * (double)inverse + 8.5);
        q[i] = (uint8_t)(n < 15 ? n : 15);
    }
    to->d = sm_f32_to_f16(d);
    put_nibbles(to->q, q);
}

static void write_q4_1(struct sm_block_q4_1 *to, const float *x)
{
    uint8_t q[SM_GROUP];
    float least = x[0], most = x[0];
    for (size_t i = 1; i < SM_GROUP; i++) {
        if (x[i] < least) least = x[i];
        if (x[i] > most) most = x[i];
    }
    const float d = (most - least) / 15, inverse = inverse_of(d);
    for (size_t i = 0; i < SM_GROUP; i++) {
        const float n = truncf((x[i] - least) * inverse + 0.5f);
        q[i] = (uint8_t)(n < 15 ? n : 15);
    }
    to->d = sm_f32_to_f16(d);
    to->m = sm_f32_to_f16(least);
    put_nibbles(to->q, q);
}

static void write_q8_0(struct sm_block_q8_0 *to, const float *x)
{
    float largest = 0;
    for (size_t i = 0; i < SM_GROUP; i++)
        if (fabsf(x[i]) > largest) largest = fabsf(x[i]);
    const float d = largest / 127, inverse = inverse_of(d);
    for (size_t i = 0; i < SM_GROUP; i++) to->q[i] = (int8_t)roundf(x[i] * inverse);
    to->d = sm_f32_to_f16(d);
}

void sm_quantise(void *to, enum sm_format format, const float *from, size_t count)
{
    for (size_t b = 0; b < count / SM_GROUP; b++, from += SM_GROUP) {
        if (format == SM_FORMAT_Q4_0) write_q4_0((struct sm_block_q4_0 *)to + b, from);
        if (format == SM_FORMAT_Q4_1) write_q4_1((struct sm_block_q4_1 *)to + b, from);
        if (format == SM_FORMAT_Q8_0) write_q8_0((struct sm_block_q8_0 *)to + b, from);
    }
}
