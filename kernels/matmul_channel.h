/* matmul_channel.h - weights with one scale and zero point per output channel, times int8 or int16 rows: what the four
 * families matmul_w4c_a8, matmul_w8c_a8, matmul_w4c_a16 and matmul_w8c_a16 promise.
 *
 *     dot[r][o] = sum over i of (qw[o][i] - zero[o]) * qx[r][i]                        an integer, exact
 *     y[r][o]   = (scale_w[o] * scale_x[r]) * (float)dot  (+ bias[o])  (+ residual[r][o]),   in this order
 *
 *   y         [rows][y_stride] floats, the first `out` of each row overwritten
 *   x         [rows][in] int8 with a scale and a sum for each row, or int16 with sums and one scale (quant.h)
 *   w         [out][in] in the variant's layout, packed from canonical rows (quant.h, struct sm_channel)
 *   bias      [out] floats, or NULL
 *   residual  [rows][y_stride] floats, or NULL; may be y itself, overlaps it in no other way
 *
 * Each operation on floats, the conversion of dot too, is rounded to nearest once: every variant gives the same bits,
 * whatever the part. A part is activation rows x output channels; columns are cut at multiples of SM_CHANNEL_GRAIN.
 * The caller promises: rows, out >= 1; in >= 32, a multiple of 32 and at most what the family's axis says; y overlaps
 * neither x nor w; y is finite. */
#ifndef SM_MATMUL_CHANNEL_H
#define SM_MATMUL_CHANNEL_H

#include "quant.h"
#include "registry.h"

#define SM_CHANNEL_GRAIN 32

struct sm_matmul_c_a8 {
    float *y;
    size_t y_stride; /* in floats */
    struct sm_a8r x;
    const void *w;
    const float *bias;
    const float *residual;
    size_t rows, out, in;
};

struct sm_matmul_c_a16 {
    float *y;
    size_t y_stride; /* in floats */
    struct sm_a16 x;
    const void *w;
    const float *bias;
    const float *residual;
    size_t rows, out, in;
};

/* The axes of their shapes. */
enum { SM_MATMUL_C_ROWS, SM_MATMUL_C_OUT, SM_MATMUL_C_IN, SM_MATMUL_C_DIMS };

#endif
