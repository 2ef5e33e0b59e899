/* Four sums of squares side by side, then one pass that scales; the row stays in L1 between them. */
#include <math.h>
#include <stdbool.h>

#include "rmsnorm/rmsnorm.h"
#include "vector_math_avx512.h"

#define SUMS 4

static float sum_of_squares(const float *x, size_t n)
{
    __m512 sum[SUMS];
    size_t c = 0;
#pragma GCC unroll 8
    for (size_t i = 0; i < SUMS; i++) sum[i] = _mm512_setzero_ps();
    for (; c + 16 * SUMS <= n; c += 16 * SUMS)
#pragma GCC unroll 8
        for (size_t i = 0; i < SUMS; i++) {
            const __m512 v = _mm512_loadu_ps(x + c + 16 * i);
            sum[i] = _mm512_fmadd_ps(v, v, sum[i]);
        }
    for (; c + 16 <= n; c += 16) {
        const __m512 v = _mm512_loadu_ps(x + c);
        sum[0] = _mm512_fmadd_ps(v, v, sum[0]);
    }
    if (c < n) {
        const __mmask16 lanes = sm_first_lanes_avx512(n - c);
        const __m512 v = _mm512_maskz_loadu_ps(lanes, x + c);
        sum[1] = _mm512_fmadd_ps(v, v, sum[1]);
    }
#pragma GCC unroll 2
    for (size_t i = 0; i < 2; i++) sum[i] = _mm512_add_ps(sum[i], sum[i + 2]);
    return _mm512_reduce_add_ps(_mm512_add_ps(sum[0], sum[1]));
}

struct row {
    float *y;
    const float *x, *w, *residual; /* the last two: where there are such */
    __m512 scale, factor;
};

static inline __m512 value(__m512 x, __m512 w, __m512 residual, const struct row *row, bool weighted, bool added)
{
    __m512 v = _mm512_mul_ps(x, row->scale);
    if (weighted) v = _mm512_mul_ps(v, w);
    return added ? _mm512_mul_ps(_mm512_add_ps(v, residual), row->factor) : v;
}

/* Elements c to c + 16 of the row; without weights or a residual nothing is read of them. */
static inline __attribute__((always_inline)) void scale_vector(const struct row *row, size_t c, bool weighted,
                                                               bool added)
{
    const __m512 x = _mm512_loadu_ps(row->x + c), w = weighted ? _mm512_loadu_ps(row->w + c) : x;
    const __m512 residual = added ? _mm512_loadu_ps(row->residual + c) : x;
    _mm512_storeu_ps(row->y + c, value(x, w, residual, row, weighted, added));
}

static inline __attribute__((always_inline)) void scale_row(const struct row row, size_t n, bool weighted, bool added)
{
    size_t c = 0;
    for (; c + 2 * 16 <= n; c += 2 * 16) {
        scale_vector(&row, c, weighted, added);
        scale_vector(&row, c + 16, weighted, added);
    }
    if (c + 16 <= n) {
        scale_vector(&row, c, weighted, added);
        c += 16;
    }
    if (c < n) {
        const __mmask16 lanes = sm_first_lanes_avx512(n - c);
        const __m512 x = _mm512_maskz_loadu_ps(lanes, row.x + c),
                     w = weighted ? _mm512_maskz_loadu_ps(lanes, row.w + c) : x;
        const __m512 residual = added ? _mm512_maskz_loadu_ps(lanes, row.residual + c) : x;
        const __m512 v = value(x, w, residual, &row, weighted, added);
        _mm512_mask_storeu_ps(row.y + c, lanes, v);
    }
}

void sm_rmsnorm_avx512(const void *args, struct sm_part part)
{
    const struct sm_rmsnorm *a = args;
    const size_t cols = a->cols;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const float *x = a->x + r * a->x_stride;
        const struct row row = {.y = a->y + r * a->y_stride,
                                .x = x,
                                .w = a->w,
                                .residual = a->residual ? a->residual + r * a->residual_stride : NULL,
                                .scale = _mm512_set1_ps(1 / sqrtf(sum_of_squares(x, cols) / (float)cols + a->eps)),
                                .factor = _mm512_set1_ps(a->scale)};
        if (row.residual && row.w)
            scale_row(row, cols, true, true);
        else if (row.residual)
            scale_row(row, cols, false, true);
        else if (row.w)
            scale_row(row, cols, true, false);
        else
            scale_row(row, cols, false, false);
    }
}
