/* argmax.h - the index of the largest element of each row, the first of equals.
 *
 *   index  [rows], overwritten
 *   x      [rows][x_stride] floats, no NaN.    A part is rows x all columns (its column range is ignored).
 * -0 and 0 are equals. Every variant gives the same answer. */
#ifndef SM_ARGMAX_H
#define SM_ARGMAX_H

#include "registry.h"

struct sm_argmax {
    int32_t *index;
    const float *x;
    size_t x_stride;
    size_t rows, cols;
};

enum { SM_ARGMAX_ROWS, SM_ARGMAX_COLS, SM_ARGMAX_DIMS };

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_argmax_##name;
#include "argmax/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_argmax;

#endif
