/* quantise_a8.h - float rows to int8 rows with a scale and a sum per group of 32 (quant.h, struct sm_a8).
 *
 *     amax     = max |x| over the group
 *     scale    = amax / 127
 *     q        = round-to-even(x * (127 / amax)), clamped to -127..127;  all zero where 127 / amax is not finite
 *     sum      = sum of the group's q
 *
 * Every variant gives the same bits. A part is rows x groups (columns count groups of 32).
 * The caller promises: x finite; cols a multiple of 32. */
#ifndef SM_QUANTISE_A8_H
#define SM_QUANTISE_A8_H

#include "quant.h"
#include "registry.h"

struct sm_quantise_a8 {
    struct sm_a8 out;
    const float *x;
    size_t x_stride;
    size_t rows, cols;
};

enum { SM_QUANTISE_A8_ROWS, SM_QUANTISE_A8_COLS, SM_QUANTISE_A8_DIMS };

extern const struct sm_family sm_family_quantise_a8;

#endif
