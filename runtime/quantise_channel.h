/* quantise_channel.h - rows of floats into rows with one scale and zero point each (quant.h, struct sm_channel), by
 * rounding to nearest (static-contract: 3.1).
 *
 *     range    widened to hold 0
 *     scale    (most - least) / (2^bits - 1), at least 1e-8
 *     zero     round-half-even(-least / scale), clamped to 0 .. 2^bits - 1
 *     q        round-half-even(x * (1 / scale)) + zero, clamped likewise
 *
 * With `clip` the range is first shrunk to p times itself, the p of 1, 0.99, ... 0.21 that has the least sum of
 * |error|^2.4 (the first of equals): a few large weights then cost the many small ones less. */
#ifndef SM_QUANTISE_CHANNEL_H
#define SM_QUANTISE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

/* One row of `cols` finite floats, a multiple of 32. bits: 4 or 8. A range that no float holds gives a scale that is
 * not finite. */
void sm_quantise_channel(void *row, int bits, const float *x, size_t cols, bool clip);

/* The floats that a row means, (q - zero) * scale. */
void sm_dequantise_channel(float *to, int bits, const void *row, size_t cols);

#endif
