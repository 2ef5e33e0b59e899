/* argmax.h - the index of the largest element of each row, the first of equals.
 *
 *   index  [rows], overwritten
 *   x      [rows][x_stride] floats, finite.    A part is rows x all columns. */
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

extern const struct sm_family sm_family_argmax;

#endif
