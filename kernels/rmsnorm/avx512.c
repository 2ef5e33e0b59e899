/* Four sums of squares side by side, then one pass that scales; the row stays in L1 between them. */
#include <math.h>

#include "rmsnorm/rmsnorm.h"
#include "vector_math_avx512.h"

static float sum_of_squares(const float *x, size_t n)
{
    __m512 s0 = _mm512_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
    size_t c = 0;
    for (; c + 64 <= n; c += 64) {
        const __m512 x0 = _mm512_loadu_ps(x + c), x1 = _mm512_loadu_ps(x + c + 16);
        const __m512 x2 = _mm512_loadu_ps(x + c + 32), x3 = _mm512_loadu_ps(x + c + 48);
        s0 = _mm512_fmadd_ps(x0, x0, s0);
        s1 = _mm512_fmadd_ps(x1, x1, s1);
        s2 = _mm512_fmadd_ps(x2, x2, s2);
        s3 = _mm512_fmadd_ps(x3, x3, s3);
    }
    for (; c < n; c += 16) {
        const __mmask16 lanes = sm_first_lanes_avx512(n - c < 16 ? n - c : 16);
        const __m512 x0 = _mm512_maskz_loadu_ps(lanes, x + c);
        s0 = _mm512_fmadd_ps(x0, x0, s0);
    }
    const __m512 sum = _mm512_add_ps(_mm512_add_ps(s0, s1), _mm512_add_ps(s2, s3));
    return _mm512_reduce_add_ps(sum);
}

void sm_rmsnorm_avx512(const void *args, struct sm_part part)
{
    const struct sm_rmsnorm *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const float *x = a->x + r * a->x_stride;
        float *y = a->y + r * a->y_stride;
        const __m512 scale = _mm512_set1_ps(1 / sqrtf(sum_of_squares(x, a->cols) / (float)a->cols + a->eps));
        const float *residual = a->residual ? a->residual + r * a->residual_stride : NULL;
        const __m512 factor = _mm512_set1_ps(a->scale);
        size_t c = 0;
        for (; c + 16 <= a->cols; c += 16) {
            __m512 v = _mm512_mul_ps(_mm512_loadu_ps(x + c), scale);
            if (a->w) v = _mm512_mul_ps(v, _mm512_loadu_ps(a->w + c));
            if (residual) v = _mm512_mul_ps(_mm512_add_ps(v, _mm512_loadu_ps(residual + c)), factor);
            _mm512_storeu_ps(y + c, v);
        }
        if (c < a->cols) {
            const __mmask16 lanes = sm_first_lanes_avx512(a->cols - c);
            __m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, x + c), scale);
            if (a->w) v = _mm512_mul_ps(v, _mm512_maskz_loadu_ps(lanes, a->w + c));
            if (residual) v = _mm512_mul_ps(_mm512_add_ps(v, _mm512_maskz_loadu_ps(lanes, residual + c)), factor);
            _mm512_mask_storeu_ps(y + c, lanes, v);
        }
    }
}
