/* matmul_w8g32_a8.h - 8-bit weights with a scale per group of 32 (Q8_0), times int8 rows.
 *
 *     y[r][o] = sum over i of w[o][i] * x[r][i]  (+ bias[o])  (+ residual[r][o]),   in this order
 *
 *   y         [rows][y_stride] floats, the first `out` of each row overwritten
 *   x         [rows][in] int8 with scales and sums per group of 32 (quant.h)
 *   w         [out][in] in the variant's layout, packed from GGUF blocks
 *   bias      [out] floats, or NULL
 *   residual  [rows][y_stride] floats, or NULL; may be y itself, overlaps it in no other way
 *
 * A part is activation rows x output channels; columns are cut at multiples of SM_MATMUL_W8G32_A8_GRAIN.
 * The caller promises: rows, out >= 1; in >= 32 and a multiple of 32; y overlaps neither x nor w; scales are finite,
 * and so is the sum S below as a float. Weights may be -128; activations may not.
 * Every variant promises: an answer depends neither on the part nor on the other rows, and, with B = in / 32,
 *
 *     |y - exact| <= n u / (1 - n u) S + 2^-149 sum over groups of (|dot| + 2),   u = 2^-24, n = B + 4
 *     S = sum over groups of scale_x |scale_w dot|, plus |bias| + |residual|
 *
 * dot is a group's integer, exact in every variant. At most B + 2 terms are added, each a product rounded at most
 * twice, in any order (Higham, Accuracy and Stability, 2nd ed., 3.1); the second summand is what products may lose
 * among the denormals. */
#ifndef SM_MATMUL_W8G32_A8_H
#define SM_MATMUL_W8G32_A8_H

#include "quant.h"
#include "registry.h"

#define SM_MATMUL_W8G32_A8_GRAIN 32

struct sm_matmul_w8g32_a8 {
    float *y;
    size_t y_stride; /* in floats */
    struct sm_a8 x;
    const void *w;
    const float *bias;
    const float *residual;
    size_t rows, out, in;
};

/* The axes of its shapes. */
enum { SM_MATMUL_W8G32_A8_ROWS, SM_MATMUL_W8G32_A8_OUT, SM_MATMUL_W8G32_A8_IN, SM_MATMUL_W8G32_A8_DIMS };

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_matmul_w8g32_a8_##name;
#include "matmul_w8g32_a8/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_matmul_w8g32_a8;

#endif
