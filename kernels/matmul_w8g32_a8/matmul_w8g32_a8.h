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
 * The caller promises: rows, out >= 1; in >= 32 and a multiple of 32; y overlaps neither x nor w. */
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

enum { SM_MATMUL_W8G32_A8_ROWS, SM_MATMUL_W8G32_A8_OUT, SM_MATMUL_W8G32_A8_IN, SM_MATMUL_W8G32_A8_DIMS };

extern const struct sm_family sm_family_matmul_w8g32_a8;

#endif
