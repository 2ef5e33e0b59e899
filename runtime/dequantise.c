#include "dequantise.h"

#include <stdint.h>
#include <string.h>

#include "quant.h"
#include "quantise_channel.h"

#define LONG_GROUP 256 /* elements of a block of the K formats */

static float half_at(const unsigned char *at)
{
    uint16_t h;
    memcpy(&h, at, sizeof h);
    return sm_f16_to_f32(h);
}

static void read_f32(float *to, const unsigned char *from)
{
    memcpy(to, from, sizeof *to);
}

static void read_f16(float *to, const unsigned char *from)
{
    *to = half_at(from);
}

static void read_bf16(float *to, const unsigned char *from)
{
    const uint32_t bits = (uint32_t)(from[0] | from[1] << 8) << 16;
    memcpy(to, &bits, sizeof bits);
}

/* Element i of 32 nibbles: the low halves come first. */
static int nibble(const unsigned char *q, size_t i)
{
    return i < SM_GROUP / 2 ? q[i] & 15 : q[i - SM_GROUP / 2] >> 4;
}

static void read_q4_0(float *to, const unsigned char *from)
{
    const float d = half_at(from);
    for (size_t i = 0; i < SM_GROUP; i++) to[i] = (float)(nibble(from + 2, i) - 8) * d;
}

static void read_q4_1(float *to, const unsigned char *from)
{
    const float d = half_at(from), m = half_at(from + 2);
    for (size_t i = 0; i < SM_GROUP; i++) to[i] = (float)nibble(from + 4, i) * d + m;
}

/* The fifth bit of element i, in its place. */
static int high_bit(const unsigned char *bits, size_t i)
{
    return (bits[i / 8] >> i % 8 & 1) << 4;
}

static void read_q5_0(float *to, const unsigned char *from)
{
    const float d = half_at(from);
    for (size_t i = 0; i < SM_GROUP; i++) to[i] = (float)((nibble(from + 6, i) | high_bit(from + 2, i)) - 16) * d;
}

static void read_q5_1(float *to, const unsigned char *from)
{
    const float d = half_at(from), m = half_at(from + 2);
    for (size_t i = 0; i < SM_GROUP; i++) to[i] = (float)(nibble(from + 8, i) | high_bit(from + 4, i)) * d + m;
}

static void read_q8_0(float *to, const unsigned char *from)
{
    const float d = half_at(from);
    for (size_t i = 0; i < SM_GROUP; i++) to[i] = (float)(int8_t)from[2 + i] * d;
}

/* A K block's element i = 128 n + 32 k + l: two bits of its byte, of four elements that lie 32 apart. */
static int two_bits(const unsigned char *q, size_t i)
{
    return q[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
}

static void read_q2_k(float *to, const unsigned char *from)
{
    const float d = half_at(from + 80), dmin = half_at(from + 82);
    for (size_t i = 0; i < LONG_GROUP; i++) {
        const int s = from[i / 16];
        to[i] = d * (float)(s & 15) * (float)two_bits(from + 16, i) - dmin * (float)(s >> 4);
    }
}

static void read_q3_k(float *to, const unsigned char *from)
{
    const unsigned char *high = from, *s = from + 96;
    const float d = half_at(from + 108);
    for (size_t i = 0; i < LONG_GROUP; i++) {
        const size_t j = i / 16;
        const int low = j < 8 ? s[j] & 15 : s[j - 8] >> 4;
        const int scale = (low | (s[8 + j % 4] >> j / 4 * 2 & 3) << 4) - 32;
        const int bit = high[i % 32] >> i / 32 & 1;
        to[i] = d * (float)scale * (float)(two_bits(from + 32, i) - (bit ? 0 : 4));
    }
}

/* Scale and minimum of group g of eight, six bits each in twelve bytes. */
static void six_bits(const unsigned char *s, size_t g, int *scale, int *least)
{
    *scale = g < 4 ? s[g] & 63 : (s[g + 4] & 15) | s[g - 4] >> 6 << 4;
    *least = g < 4 ? s[g + 4] & 63 : s[g + 4] >> 4 | s[g] >> 6 << 4;
}

void sm_q4_k_group(const void *block, size_t group, float *step, float *low)
{
    const unsigned char *from = block;
    int scale, least;
    six_bits(from + 4, group, &scale, &least);
    *step = half_at(from) * (float)scale;
    *low = half_at(from + 2) * (float)least;
}

/* Q4_K, and with a fifth bit of each element in `high` Q5_K. */
static void read_groups(float *to, const unsigned char *from, const unsigned char *q, const unsigned char *high)
{
    for (size_t g = 0; g < LONG_GROUP / SM_GROUP; g++) {
        float step, low;
        sm_q4_k_group(from, g, &step, &low);
        for (size_t r = 0; r < SM_GROUP; r++) {
            const int four = q[g / 2 * SM_GROUP + r] >> g % 2 * 4 & 15;
            const int fifth = high ? (high[r] >> g & 1) << 4 : 0;
            to[g * SM_GROUP + r] = step * (float)(four | fifth) - low;
        }
    }
}

static void read_q4_k(float *to, const unsigned char *from)
{
    read_groups(to, from, from + 16, NULL);
}

static void read_q5_k(float *to, const unsigned char *from)
{
    read_groups(to, from, from + 48, from + 16);
}

static void read_q6_k(float *to, const unsigned char *from)
{
    const float d = half_at(from + 208);
    for (size_t i = 0; i < LONG_GROUP; i++) {
        const size_t k = i % 128 / 32;
        const int four = from[i / 128 * 64 + (k & 1) * 32 + i % 32] >> k / 2 * 4 & 15;
        const int q = (four | two_bits(from + 128, i) << 4) - 32;
        to[i] = d * (float)(int8_t)from[192 + i / 16] * (float)q;
    }
}

/* scale[]: where the halves lie that decide whether a block is finite; -1: nowhere. */
static const struct {
    size_t elements, bytes;
    int scale[2];
    void (*read)(float *to, const unsigned char *from);
} formats[] = {
    [SM_FORMAT_F32] = {1, 4, {-1, -1}, read_f32},
    [SM_FORMAT_F16] = {1, 2, {0, -1}, read_f16},
    [SM_FORMAT_BF16] = {1, 2, {-1, -1}, read_bf16},
    [SM_FORMAT_Q4_0] = {SM_GROUP, 18, {0, -1}, read_q4_0},
    [SM_FORMAT_Q4_1] = {SM_GROUP, 20, {0, 2}, read_q4_1},
    [SM_FORMAT_Q5_0] = {SM_GROUP, 22, {0, -1}, read_q5_0},
    [SM_FORMAT_Q5_1] = {SM_GROUP, 24, {0, 2}, read_q5_1},
    [SM_FORMAT_Q8_0] = {SM_GROUP, 34, {0, -1}, read_q8_0},
    [SM_FORMAT_Q2_K] = {LONG_GROUP, 84, {80, 82}, read_q2_k},
    [SM_FORMAT_Q3_K] = {LONG_GROUP, 110, {108, -1}, read_q3_k},
    [SM_FORMAT_Q4_K] = {LONG_GROUP, 144, {0, 2}, read_q4_k},
    [SM_FORMAT_Q5_K] = {LONG_GROUP, 176, {0, 2}, read_q5_k},
    [SM_FORMAT_Q6_K] = {LONG_GROUP, 210, {208, -1}, read_q6_k},
};

static bool known(enum sm_format format)
{
    return (size_t)format < sizeof formats / sizeof *formats && formats[format].elements;
}

/* The bits of a format whose rows are one piece, with one scale: 0 for the others. */
static int channel_bits(enum sm_format format)
{
    return format == SM_FORMAT_W4C ? 4 : format == SM_FORMAT_W8C ? 8 : 0;
}

size_t sm_row_bytes(enum sm_format format, size_t cols)
{
    const int bits = channel_bits(format);
    if (bits) return cols % SM_GROUP ? 0 : sm_channel_bytes(cols, bits);
    if (!known(format) || cols % formats[format].elements) return 0;
    return cols / formats[format].elements * formats[format].bytes;
}

void sm_dequantise(float *to, enum sm_format format, const void *from, size_t count)
{
    const unsigned char *at = from;
    if (channel_bits(format)) sm_dequantise_channel(to, channel_bits(format), from, count);
    if (!known(format)) return;
    for (size_t i = 0; i < count; i += formats[format].elements, at += formats[format].bytes)
        formats[format].read(to + i, at);
}

bool sm_blocks_finite(enum sm_format format, const void *from, size_t count)
{
    const unsigned char *at = from;
    if (channel_bits(format)) return (((at[3] << 8) | at[2]) & 0x7f80) != 0x7f80;
    bool finite = known(format);
    if (!finite) return false;
    const size_t bytes = formats[format].bytes, blocks = count / formats[format].elements;
    if (format == SM_FORMAT_F32 || format == SM_FORMAT_BF16) { /* the upper half of a float has its exponent */
        for (size_t i = 0; i < blocks; i++, at += bytes)
            finite &= ((at[bytes - 1] << 8 | at[bytes - 2]) & 0x7f80) != 0x7f80;
        return finite;
    }
    for (size_t s = 0; s < 2; s++) {
        const int where = formats[format].scale[s];
        if (where < 0) continue;
        at = (const unsigned char *)from + where;
        for (size_t i = 0; i < blocks; i++, at += bytes) finite &= ((at[1] << 8 | at[0]) & 0x7c00) != 0x7c00;
    }
    return finite;
}
