/* rmsnorm.h - root-mean-square normalisation of rows, in float.
 *
 *     y[r][c] = x[r][c] / sqrt(mean over c of x[r][c]^2 + eps) * w[c]        (w NULL: no weight)
 *
 * y may be x itself. A part is rows x all columns (its column range is ignored). */
#ifndef SM_RMSNORM_H
#define SM_RMSNORM_H

#include "registry.h"

struct sm_rmsnorm {
    float *y;
    size_t y_stride;
    const float *x;
    size_t x_stride;
    const float *w;
    size_t rows, cols;
    float eps;
};

enum { SM_RMSNORM_ROWS, SM_RMSNORM_COLS, SM_RMSNORM_DIMS };

extern const struct sm_family sm_family_rmsnorm;

#endif
