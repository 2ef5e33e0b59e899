/* matmul_f32.h - float weights times float rows: the reference path of a model, and the yardstick of the rest.
 *
 *     y[r][o] = sum over i of w[o][i] * x[r][i]  (+ bias[o])  (+ residual[r][o]),   in this order
 *
 *   y         [rows][y_stride] floats, the first `out` of each row overwritten
 *   x         [rows][x_stride] floats, the first `in` of each row read
 *   w         [out][in] floats in the variant's layout
 *   bias      [out] floats, or NULL
 *   residual  [rows][y_stride] floats, or NULL; may be y itself, overlaps it in no other way
 *
 * A part is activation rows x output channels. Columns are cut at multiples of SM_MATMUL_F32_GRAIN.
 * The caller promises: rows, out, in >= 1; strides >= widths; y overlaps neither x nor w.
 * Every variant promises: an answer depends neither on the part nor on the other rows, and
 *
 *     |y - exact| <= n u / (1 - n u) S + n 2^-149,   u = 2^-24, n = in + 3
 *     S = sum over i of |w x|, plus |bias| + |residual|
 *
 * as any order of summation rounds at most in + 2 times (Higham, Accuracy and Stability, 2nd ed., 3.1); the second
 * summand is what products may lose among the denormals. */
#ifndef SM_MATMUL_F32_H
#define SM_MATMUL_F32_H

#include "registry.h"

#define SM_MATMUL_F32_GRAIN 32
#define SM_MATMUL_F32_TILE 16 /* channels of a tile of layout tile16: [out / 16][in][16], zeros past out */

struct sm_matmul_f32 {
    float *y;
    size_t y_stride; /* in floats */
    const float *x;
    size_t x_stride; /* in floats */
    const void *w;
    const float *bias;
    const float *residual;
    size_t rows, out, in;
};

/* The axes of its shapes. */
enum { SM_MATMUL_F32_ROWS, SM_MATMUL_F32_OUT, SM_MATMUL_F32_IN, SM_MATMUL_F32_DIMS };

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_matmul_f32_##name;
#include "matmul_f32/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_matmul_f32;

#endif
