/* Eight pairs at a time: both halves of a head are loaded before either is stored. */
#include "rope/rope.h"
#include "vector_math_avx2.h"

static inline __m256 turn_first(__m256 first, __m256 second, __m256 cos, __m256 sin)
{
    return _mm256_fmsub_ps(first, cos, _mm256_mul_ps(second, sin));
}

static inline __m256 turn_second(__m256 first, __m256 second, __m256 cos, __m256 sin)
{
    return _mm256_fmadd_ps(second, cos, _mm256_mul_ps(first, sin));
}

static void turn_head(float *y, const float *x, const float *cos, const float *sin, size_t half)
{
    size_t i = 0;
    for (; i + 8 <= half; i += 8) {
        const __m256 first = _mm256_loadu_ps(x + i), second = _mm256_loadu_ps(x + i + half);
        const __m256 c = _mm256_loadu_ps(cos + i), s = _mm256_loadu_ps(sin + i);
        _mm256_storeu_ps(y + i, turn_first(first, second, c, s));
        _mm256_storeu_ps(y + i + half, turn_second(first, second, c, s));
    }
    if (i < half) {
        const __m256i lanes = sm_first_lanes_avx2(half - i);
        const __m256 first = _mm256_maskload_ps(x + i, lanes), second = _mm256_maskload_ps(x + i + half, lanes);
        const __m256 c = _mm256_maskload_ps(cos + i, lanes), s = _mm256_maskload_ps(sin + i, lanes);
        _mm256_maskstore_ps(y + i, lanes, turn_first(first, second, c, s));
        _mm256_maskstore_ps(y + i + half, lanes, turn_second(first, second, c, s));
    }
}

void sm_rope_avx2(const void *args, struct sm_part part)
{
    const struct sm_rope *a = args;
    const size_t half = a->head_dim / 2;
    for (size_t r = part.row_begin; r < part.row_end; r++)
        for (size_t h = part.col_begin; h < part.col_end; h++) {
            float *x = a->x + r * a->x_stride + h * a->head_dim;
            float *y = a->y ? a->y + r * a->y_stride + h * a->head_dim : x;
            turn_head(y, x, a->cos + r * half, a->sin + r * half, half);
        }
}
