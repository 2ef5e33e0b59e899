#include "convert.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "dequantise.h"
#include "quant.h"
#include "quantise.h"
#include "quantise_channel.h"

/* The bits of n are those of n - 16, which an int8 holds: nothing is lost. */
static void q5_0_to_q8_0(struct sm_block_q8_0 *to, const unsigned char *from, size_t cols)
{
    for (size_t b = 0; b < cols / SM_GROUP; b++, to++, from += 22) {
        memcpy(&to->d, from, sizeof to->d);
        for (size_t i = 0; i < SM_GROUP; i++) {
            const int four = i < 16 ? from[6 + i] & 15 : from[6 + i - 16] >> 4;
            to->q[i] = (int8_t)((four | (from[2 + i / 8] >> i % 8 & 1) << 4) - 16);
        }
    }
}

/* Group by group with its own nibbles: only the products scale * d and least * dmin are rounded, to halves. */
static void q4_k_to_q4_1(struct sm_block_q4_1 *to, const unsigned char *from, size_t cols)
{
    for (size_t b = 0; b < cols / SM_GROUP; b++, to++) {
        const unsigned char *block = from + b / 8 * 144, *q = block + 16 + b % 8 / 2 * SM_GROUP;
        float step, low;
        sm_q4_k_group(block, b % 8, &step, &low);
        to->d = sm_f32_to_f16(step);
        to->m = sm_f32_to_f16(-low);
        for (size_t i = 0; i < SM_GROUP / 2; i++) {
            const int shift = b % 2 ? 4 : 0;
            to->q[i] = (uint8_t)((q[i] >> shift & 15) | (q[i + SM_GROUP / 2] >> shift & 15) << 4);
        }
    }
}

void sm_convert(void *to, enum sm_format to_format, const void *from, enum sm_format from_format, size_t cols,
                bool clip, float *scratch, struct sm_error_sums *sums)
{
    float *x = scratch, *y = scratch + cols;
    sm_dequantise(x, from_format, from, cols);
    if (to_format == SM_FORMAT_F32) {
        memcpy(to, x, cols * sizeof *x);
        return; /* every format's values are floats */
    }
    if (from_format == SM_FORMAT_Q5_0 && to_format == SM_FORMAT_Q8_0)
        q5_0_to_q8_0(to, from, cols);
    else if (from_format == SM_FORMAT_Q4_K && to_format == SM_FORMAT_Q4_1)
        q4_k_to_q4_1(to, from, cols);
    else if (to_format == SM_FORMAT_W4C || to_format == SM_FORMAT_W8C)
        sm_quantise_channel(to, to_format == SM_FORMAT_W4C ? 4 : 8, x, cols, clip);
    else
        sm_quantise(to, to_format, x, cols);
    sm_dequantise(y, to_format, to, cols);
    for (size_t i = 0; i < cols; i++) {
        const double value = fabs((double)x[i]), error = fabs((double)x[i] - (double)y[i]);
        sums->squares += value * value;
        sums->error_squares += error * error;
        if (value > sums->most) sums->most = value;
        if (error > sums->most_error) sums->most_error = error;
    }
}

void sm_error_add(struct sm_error_sums *to, const struct sm_error_sums *more)
{
    to->squares += more->squares;
    to->error_squares += more->error_squares;
    if (more->most > to->most) to->most = more->most;
    if (more->most_error > to->most_error) to->most_error = more->most_error;
}

enum sm_format sm_nearest_format(enum sm_format format)
{
    switch (format) {
    case SM_FORMAT_BF16: return SM_FORMAT_F32;
    case SM_FORMAT_Q4_K: return SM_FORMAT_Q4_1;
    case SM_FORMAT_Q5_0:
    case SM_FORMAT_Q5_1:
    case SM_FORMAT_Q2_K:
    case SM_FORMAT_Q3_K:
    case SM_FORMAT_Q5_K:
    case SM_FORMAT_Q6_K: return SM_FORMAT_Q8_0;
    default: return format;
    }
}
