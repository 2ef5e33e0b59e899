/* rmsnorm.h - root-mean-square normalisation of rows, in float.
 *
 *     n[r][c] = x[r][c] / sqrt(mean over c of x[r][c]^2 + eps) * w[c]        (w NULL: no weight)
 *     y[r][c] = n[r][c], or (n[r][c] + residual[r][c]) * scale when there is a residual
 *
 * y may be x itself, or residual itself with its stride. A part is rows x all columns (its column range is ignored).
 * The caller promises: |x| <= 2^50; eps > 0, or no row of zeros.
 * Every variant divides the sum by cols (never multiplies by 1 / cols) and promises
 * |n - exact| <= T = ((cols + 2) / 2 + 4) * 2^-24 |exact| + 2^-149 max(1, |w|): any order of summation rounds at most
 * cols times and mean and eps once each, which the square root halves; root, reciprocal and two products are four more.
 * With a residual |y - exact| <= T |scale| + 3 * 2^-24 |exact| + 2^-149: the sum and the product round once each, what
 * is left of the third covers the terms of second order. */
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
    const float *residual; /* NULL: none, and scale counts for nothing */
    size_t residual_stride;
    float scale;
};

enum { SM_RMSNORM_ROWS, SM_RMSNORM_COLS, SM_RMSNORM_RESIDUAL, SM_RMSNORM_DIMS };

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_rmsnorm_##name;
#include "rmsnorm/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_rmsnorm;

#endif
