/* quant.h - formats of quantised weights, int8 and int16 activation rows, and half floats.
 *
 * The weight blocks are GGUF's (ggml-common.h, docs/gguf.md): element i of a 32-block of nibbles is the low
 * half of byte i for i < 16 and the high half of byte i - 16 otherwise. */
#ifndef SM_QUANT_H
#define SM_QUANT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SM_GROUP 32 /* elements that share a scale */

struct sm_block_q4_0 {
    uint16_t d; /* f16 scale */
    uint8_t q[16];
};
struct sm_block_q4_1 {
    uint16_t d; /* f16 scale */
    uint16_t m; /* f16 minimum */
    uint8_t q[16];
};
struct sm_block_q8_0 {
    uint16_t d; /* f16 scale */
    int8_t q[32];
};
static_assert(sizeof(struct sm_block_q4_0) == 18, "as in a GGUF file");
static_assert(sizeof(struct sm_block_q4_1) == 20, "as in a GGUF file");
static_assert(sizeof(struct sm_block_q8_0) == 34, "as in a GGUF file");

/* Activation rows in int8 with one scale per group of 32 ("a8"): x[r][c] ~= q[r][c] * scale[r][c / 32].
 * q is in -127..127, never -128. Rows are contiguous; cols is a multiple of 32. */
struct sm_a8 {
    int8_t *q;    /* [rows][cols] */
    float *scale; /* [rows][cols / 32], >= 0 and finite */
    int32_t *sum; /* [rows][cols / 32], the sum of the group's q: what offsets and zero points need */
};

/* Weights with one scale and one zero point per output channel (W4C, W8C): w[o][i] = (q[o][i] - zero[o]) * scale[o].
 * A canonical row is this head and then its q: in W4C two to a byte, the even input in the low half; in W8C bytes.
 * Inputs are a multiple of 32, so that every head is aligned. */
struct sm_channel {
    float scale;  /* > 0 and finite */
    int32_t zero; /* 0..15 in W4C, 0..255 in W8C */
};
static_assert(sizeof(struct sm_channel) == 8, "no padding before q");

static inline size_t sm_channel_bytes(size_t in, int bits)
{
    return sizeof(struct sm_channel) + in * (size_t)bits / 8;
}

/* Activation rows in int8 with one scale per row ("a8" beside weights per channel): x[r][c] ~= q[r][c] * scale[r].
 * q is in -127..127, never -128. Rows are contiguous. */
struct sm_a8r {
    int8_t *q;    /* [rows][cols] */
    float *scale; /* [rows], >= 0 and finite */
    int32_t *sum; /* [rows], the sum of the row's q: what zero points need */
};

/* Activation rows in int16 with one static scale for the whole tensor ("a16"): x[r][c] ~= q[r][c] * scale. The scale is
 * max |x| of a calibration / 32767, so q is in -32767..32767, and -32768 where a value beyond it was clamped. */
struct sm_a16 {
    int16_t *q;   /* [rows][cols], contiguous */
    int64_t *sum; /* [rows], the sum of the row's q: what zero points need; NULL where no matmul reads it */
    float scale;  /* > 0 and finite */
};

/* IEEE binary16 to binary32, exact. Written for clarity: fast code uses F16C. */
static inline float sm_f16_to_f32(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    const uint32_t exponent = (h >> 10) & 31;
    const uint32_t fraction = h & 0x3ff;
    uint32_t bits;
    float f;
    if (exponent == 31) {
        bits = sign | 0x7f800000 | fraction << 13;
        if (fraction) bits |= 0x400000; /* quiet, as F16C does */
    } else if (exponent) {
        bits = sign | (exponent + 112) << 23 | fraction << 13;
    } else {
        f = (float)fraction * 0x1p-24f; /* subnormal or zero */
        memcpy(&bits, &f, sizeof bits);
        bits |= sign;
    }
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* binary32 to binary16, to nearest, ties to even; overflow to infinity; NaN stays a (quiet) NaN. As F16C. */
static inline uint16_t sm_f32_to_f16(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x477ff000) return sign | 0x7c00; /* rounds past 65504 */
    if (magnitude < 0x38800000) {                      /* below 2^-14: subnormal */
        if (magnitude < 0x33000000) return sign;       /* below 2^-25: zero; 2^-25 itself ties to even, zero */
        const uint32_t shift = 126 - (magnitude >> 23);
        const uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
        uint32_t half = mantissa >> shift;
        const uint32_t rest = mantissa & ((1u << shift) - 1), middle = 1u << (shift - 1);
        if (rest > middle || (rest == middle && (half & 1))) half++;
        return (uint16_t)(sign | half);
    }
    const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return (uint16_t)(sign | ((rounded - 0x38000000) >> 13));
}

#endif
