/* Four sums of squares side by side, then one pass that scales; the row stays in L1 between them. */
#include <math.h>

#include "rmsnorm/rmsnorm.h"
#include "vector_math_avx2.h"

static float sum_of_squares(const float *x, size_t n)
{
    __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
    size_t c = 0;
    for (; c + 32 <= n; c += 32) {
        const __m256 x0 = _mm256_loadu_ps(x + c), x1 = _mm256_loadu_ps(x + c + 8);
        const __m256 x2 = _mm256_loadu_ps(x + c + 16), x3 = _mm256_loadu_ps(x + c + 24);
        s0 = _mm256_fmadd_ps(x0, x0, s0);
        s1 = _mm256_fmadd_ps(x1, x1, s1);
        s2 = _mm256_fmadd_ps(x2, x2, s2);
        s3 = _mm256_fmadd_ps(x3, x3, s3);
    }
    for (; c < n; c += 8) {
        const __m256i lanes = sm_first_lanes_avx2(n - c < 8 ? n - c : 8);
        const __m256 x0 = _mm256_maskload_ps(x + c, lanes);
        s0 = _mm256_fmadd_ps(x0, x0, s0);
    }
    const __m256 sum = _mm256_add_ps(_mm256_add_ps(s0, s1), _mm256_add_ps(s2, s3));
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

void sm_rmsnorm_avx2(const void *args, struct sm_part part)
{
    const struct sm_rmsnorm *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const float *x = a->x + r * a->x_stride;
        float *y = a->y + r * a->y_stride;
        const __m256 scale = _mm256_set1_ps(1 / sqrtf(sum_of_squares(x, a->cols) / (float)a->cols + a->eps));
        const float *residual = a->residual ? a->residual + r * a->residual_stride : NULL;
        const __m256 factor = _mm256_set1_ps(a->scale);
        size_t c = 0;
        for (; c + 8 <= a->cols; c += 8) {
            __m256 v = _mm256_mul_ps(_mm256_loadu_ps(x + c), scale);
            if (a->w) v = _mm256_mul_ps(v, _mm256_loadu_ps(a->w + c));
            if (residual) v = _mm256_mul_ps(_mm256_add_ps(v, _mm256_loadu_ps(residual + c)), factor);
            _mm256_storeu_ps(y + c, v);
        }
        if (c < a->cols) {
            const __m256i lanes = sm_first_lanes_avx2(a->cols - c);
            __m256 v = _mm256_mul_ps(_mm256_maskload_ps(x + c, lanes), scale);
            if (a->w) v = _mm256_mul_ps(v, _mm256_maskload_ps(a->w + c, lanes));
            if (residual) v = _mm256_mul_ps(_mm256_add_ps(v, _mm256_maskload_ps(residual + c, lanes)), factor);
            _mm256_maskstore_ps(y + c, lanes, v);
        }
    }
}
