/* quantise_a16.h - float rows to int16 rows with one static scale and a sum a row (quant.h, struct sm_a16).
 *
 *     q        = round-to-even(x * (1 / scale)), clamped to -32768..32767
 *     sum      = sum of the row's q
 *
 *   out      q [rows][cols] and, unless it is NULL, sum [rows], overwritten; scale is given: it comes of a calibration
 *   x        [rows][x_stride] floats, the first `cols` of each row read
 *
 * Each operation above is one float operation, rounded to nearest; every variant gives the same bits.
 * A part is rows x 1.
 * The caller promises: rows >= 1; 1 <= cols <= 2^19; x finite; scale in 2^-100..2^100; the outputs overlap nothing. */
#ifndef SM_QUANTISE_A16_H
#define SM_QUANTISE_A16_H

#include "quant.h"
#include "registry.h"

struct sm_quantise_a16 {
    struct sm_a16 out;
    const float *x;
    size_t x_stride; /* in floats */
    size_t rows, cols;
};

/* The axes of its shapes. */
enum { SM_QUANTISE_A16_ROWS, SM_QUANTISE_A16_COLS, SM_QUANTISE_A16_DIMS };

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_quantise_a16_##name;
#include "quantise_a16/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_quantise_a16;

#endif
