/* 32 values are two vectors, narrowed to bytes by one instruction each. Rounding to nearest even is what the
 * conversion does; |x * (127 / amax)| is at most 127 and a rounding error, so that nothing is left to clamp. */
#include <immintrin.h>

#include "quantise_a8r/quantise_a8r.h"

static void quantise_row(int8_t *q, float *scale, int32_t *sum, const float *x, size_t cols)
{
    __m512 even = _mm512_setzero_ps(), odd = even;
    for (size_t c = 0; c < cols; c += 32) {
        even = _mm512_max_ps(even, _mm512_abs_ps(_mm512_loadu_ps(x + c)));
        odd = _mm512_max_ps(odd, _mm512_abs_ps(_mm512_loadu_ps(x + c + 16)));
    }
    const float amax = _mm512_reduce_max_ps(_mm512_max_ps(even, odd)), inverse = 127.0f / amax;
    const __m512 factor = _mm512_set1_ps(inverse <= 0x1.fffffep127f ? inverse : 0.0f);
    __m512i total = _mm512_setzero_si512();
    for (size_t c = 0; c < cols; c += 32) {
        const __m512i low = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + c), factor));
        const __m512i high = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + c + 16), factor));
        _mm_storeu_si128((__m128i *)(void *)(q + c), _mm512_cvtepi32_epi8(low));
        _mm_storeu_si128((__m128i *)(void *)(q + c + 16), _mm512_cvtepi32_epi8(high));
        total = _mm512_add_epi32(total, _mm512_add_epi32(low, high));
    }
    *scale = amax / 127.0f;
    *sum = _mm512_reduce_add_epi32(total);
}

void sm_quantise_a8r_avx512(const void *args, struct sm_part part)
{
    const struct sm_quantise_a8r *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++)
        quantise_row(a->out.q + r * a->cols, &a->out.scale[r], &a->out.sum[r], a->x + r * a->x_stride, a->cols);
}
