/* Sixteen pairs at a time: both halves of a head are loaded before either is stored. */
#include "rope/rope.h"
#include "vector_math_avx512.h"

static inline __m512 turn_first(__m512 first, __m512 second, __m512 cos, __m512 sin)
{
    return _mm512_fmsub_ps(first, cos, _mm512_mul_ps(second, sin));
}

static inline __m512 turn_second(__m512 first, __m512 second, __m512 cos, __m512 sin)
{
    return _mm512_fmadd_ps(second, cos, _mm512_mul_ps(first, sin));
}

static void turn_head(float *y, const float *x, const float *cos, const float *sin, size_t half)
{
    size_t i = 0;
    for (; i + 16 <= half; i += 16) {
        const __m512 first = _mm512_loadu_ps(x + i), second = _mm512_loadu_ps(x + i + half);
        const __m512 c = _mm512_loadu_ps(cos + i), s = _mm512_loadu_ps(sin + i);
        _mm512_storeu_ps(y + i, turn_first(first, second, c, s));
        _mm512_storeu_ps(y + i + half, turn_second(first, second, c, s));
    }
    if (i < half) {
        const __mmask16 lanes = sm_first_lanes_avx512(half - i);
        const __m512 first = _mm512_maskz_loadu_ps(lanes, x + i), second = _mm512_maskz_loadu_ps(lanes, x + i + half);
        const __m512 c = _mm512_maskz_loadu_ps(lanes, cos + i), s = _mm512_maskz_loadu_ps(lanes, sin + i);
        _mm512_mask_storeu_ps(y + i, lanes, turn_first(first, second, c, s));
        _mm512_mask_storeu_ps(y + i + half, lanes, turn_second(first, second, c, s));
    }
}

void sm_rope_avx512(const void *args, struct sm_part part)
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
