/* quantise_a8.h - float rows to int8 rows with a scale and a sum per group of 32 (quant.h, struct sm_a8).
 *
 *     amax     = max |x| over the group
 *     scale    = amax / 127
 *     q        = round-to-even(x * (127 / amax)), clamped to -127..127;  all zero where 127 / amax is not finite
 *     sum      = sum of the group's q
 *
 *   out      q [rows][cols], scale and sum [rows][cols / 32], all overwritten
 *   x        [rows][x_stride] floats, the first `cols` of each row read
 *
 * Each operation above is one float operation, rounded to nearest; every variant gives the same bits.
 * A part is rows x groups (columns count groups of 32).
 * The caller promises: rows >= 1; cols >= 32 and a multiple of 32; x finite; the outputs overlap nothing. */
#ifndef SM_QUANTISE_A8_H
#define SM_QUANTISE_A8_H

#include "quant.h"
#include "registry.h"

struct sm_quantise_a8 {
    struct sm_a8 out;
    const float *x;
    size_t x_stride; /* in floats */
    size_t rows, cols;
};

/* The axes of its shapes. */
enum { SM_QUANTISE_A8_ROWS, SM_QUANTISE_A8_COLS, SM_QUANTISE_A8_DIMS };

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_quantise_a8_##name;
#include "quantise_a8/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_quantise_a8;

#endif
