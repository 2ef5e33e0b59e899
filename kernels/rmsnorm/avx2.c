/* Eight sums of squares side by side, then one pass that scales; the row stays in L1 between them. */
#include <math.h>
#include <stdbool.h>

#include "rmsnorm/rmsnorm.h"
#include "vector_math_avx2.h"

#define SUMS 8

static float sum_of_squares(const float *x, size_t n)
{
    __m256 sum[SUMS];
    size_t c = 0;
#pragma GCC unroll 8
    for (size_t i = 0; i < SUMS; i++) sum[i] = _mm256_setzero_ps();
    for (; c + 8 * SUMS <= n; c += 8 * SUMS)
#pragma GCC unroll 8
        for (size_t i = 0; i < SUMS; i++) {
            const __m256 v = _mm256_loadu_ps(x + c + 8 * i);
            sum[i] = _mm256_fmadd_ps(v, v, sum[i]);
        }
    for (; c + 8 <= n; c += 8) {
        const __m256 v = _mm256_loadu_ps(x + c);
        sum[0] = _mm256_fmadd_ps(v, v, sum[0]);
    }
    if (c < n) {
        const __m256i lanes = sm_first_lanes_avx2(n - c);
        const __m256 v = _mm256_maskload_ps(x + c, lanes);
        sum[1] = _mm256_fmadd_ps(v, v, sum[1]);
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) sum[i] = _mm256_add_ps(sum[i], sum[i + 4]);
#pragma GCC unroll 2
    for (size_t i = 0; i < 2; i++) sum[i] = _mm256_add_ps(sum[i], sum[i + 2]);
    const __m256 all = _mm256_add_ps(sum[0], sum[1]);
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

struct row {
    float *y;
    const float *x, *w, *residual; /* the last two: where there are such */
    __m256 scale, factor;
};

static inline __m256 value(__m256 x, __m256 w, __m256 residual, const struct row *row, bool weighted, bool added)
{
    __m256 v = _mm256_mul_ps(x, row->scale);
    if (weighted) v = _mm256_mul_ps(v, w);
    return added ? _mm256_mul_ps(_mm256_add_ps(v, residual), row->factor) : v;
}

/* Elements c to c + 8 of the row; without weights or a residual nothing is read of them. */
static inline __attribute__((always_inline)) void scale_vector(const struct row *row, size_t c, bool weighted,
                                                               bool added)
{
    const __m256 x = _mm256_loadu_ps(row->x + c), w = weighted ? _mm256_loadu_ps(row->w + c) : x;
    const __m256 residual = added ? _mm256_loadu_ps(row->residual + c) : x;
    _mm256_storeu_ps(row->y + c, value(x, w, residual, row, weighted, added));
}

static inline __attribute__((always_inline)) void scale_row(const struct row row, size_t n, bool weighted, bool added)
{
    size_t c = 0;
    for (; c + 2 * 8 <= n; c += 2 * 8) {
        scale_vector(&row, c, weighted, added);
        scale_vector(&row, c + 8, weighted, added);
    }
    if (c + 8 <= n) {
        scale_vector(&row, c, weighted, added);
        c += 8;
    }
    if (c < n) {
        const __m256i lanes = sm_first_lanes_avx2(n - c);
        const __m256 x = _mm256_maskload_ps(row.x + c, lanes), w = weighted ? _mm256_maskload_ps(row.w + c, lanes) : x;
        const __m256 residual = added ? _mm256_maskload_ps(row.residual + c, lanes) : x;
        const __m256 v = value(x, w, residual, &row, weighted, added);
        _mm256_maskstore_ps(row.y + c, lanes, v);
    }
}

void sm_rmsnorm_avx2(const void *args, struct sm_part part)
{
    const struct sm_rmsnorm *a = args;
    const size_t cols = a->cols;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const float *x = a->x + r * a->x_stride;
        const struct row row = {.y = a->y + r * a->y_stride,
                                .x = x,
                                .w = a->w,
                                .residual = a->residual ? a->residual + r * a->residual_stride : NULL,
                                .scale = _mm256_set1_ps(1 / sqrtf(sum_of_squares(x, cols) / (float)cols + a->eps)),
                                .factor = _mm256_set1_ps(a->scale)};
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
