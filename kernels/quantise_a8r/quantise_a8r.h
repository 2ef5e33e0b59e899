/* quantise_a8r.h - float rows to int8 rows with one scale and one sum for each row (quant.h, struct sm_a8r).
 *
 *     amax     = max |x| over the row
 *     scale    = amax / 127
 *     q        = round-to-even(x * (127 / amax)), clamped to -127..127;  all zero where 127 / amax is not finite
 *     sum      = sum of the row's q
 *
 *   out      q [rows][cols], scale and sum [rows], all overwritten
 *   x        [rows][x_stride] floats, the first `cols` of each row read
 *
 * Each operation above is one float operation, rounded to nearest; every variant gives the same bits.
 * A part is rows; it has one column, which stands for all of them.
 * The caller promises: rows >= 1; cols >= 32 and a multiple of 32; x finite; the outputs overlap nothing. */
#ifndef SM_QUANTISE_A8R_H
#define SM_QUANTISE_A8R_H

#include "quant.h"
#include "registry.h"

struct sm_quantise_a8r {
    struct sm_a8r out;
    const float *x;
    size_t x_stride; /* in floats */
    size_t rows, cols;
};

/* The axes of its shapes. */
enum { SM_QUANTISE_A8R_ROWS, SM_QUANTISE_A8R_COLS, SM_QUANTISE_A8R_DIMS };

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_quantise_a8r_##name;
#include "quantise_a8r/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_quantise_a8r;

#endif
