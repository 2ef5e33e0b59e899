/* requantise.h - int16 rows to int16 rows with another static scale (quant.h, struct sm_a16).
 *
 *     q        = round-to-even(x * (x_scale / scale)), clamped to -32768..32767
 *     sum      = sum of the row's q
 *
 *   out      q [rows][cols] and, unless it is NULL, sum [rows], overwritten; scale is given
 *   x        [rows][x_stride] int16, the first `cols` of each row read
 *
 * Each operation above is one float operation, rounded to nearest; every variant gives the same bits.
 * A part is rows x 1.
 * The caller promises: rows >= 1; 1 <= cols <= 2^19; scale and x_scale in 2^-60..2^60; the outputs overlap nothing. */
#ifndef SM_REQUANTISE_H
#define SM_REQUANTISE_H

#include "quant.h"
#include "registry.h"

struct sm_requantise {
    struct sm_a16 out;
    const int16_t *x;
    size_t x_stride; /* in elements */
    float x_scale;
    size_t rows, cols;
};

/* The axes of its shapes. */
enum { SM_REQUANTISE_ROWS, SM_REQUANTISE_COLS, SM_REQUANTISE_DIMS };

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_requantise_##name;
#include "requantise/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_requantise;

#endif
