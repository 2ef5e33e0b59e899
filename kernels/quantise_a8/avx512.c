/* A group is two vectors, narrowed to bytes by one instruction each. Rounding to nearest even is what the conversion
 * does; |x * (127 / amax)| is at most 127 and a rounding error, so that nothing is left to clamp. */
#include <immintrin.h>

#include "quantise_a8/quantise_a8.h"

static inline void quantise_group(int8_t *q, float *scale, int32_t *sum, const float *x)
{
    const __m512 first = _mm512_loadu_ps(x), second = _mm512_loadu_ps(x + 16);
    const float amax = _mm512_reduce_max_ps(_mm512_max_ps(_mm512_abs_ps(first), _mm512_abs_ps(second)));
    const float inverse = 127.0f / amax;
    *scale = amax / 127.0f;
    const __m512 factor = _mm512_set1_ps(inverse <= 0x1.fffffep127f ? inverse : 0.0f);
    const __m512i low = _mm512_cvtps_epi32(_mm512_mul_ps(first, factor));
    const __m512i high = _mm512_cvtps_epi32(_mm512_mul_ps(second, factor));
    _mm_storeu_si128((__m128i *)(void *)q, _mm512_cvtepi32_epi8(low));
    _mm_storeu_si128((__m128i *)(void *)(q + 16), _mm512_cvtepi32_epi8(high));
    *sum = _mm512_reduce_add_epi32(_mm512_add_epi32(low, high));
}

void sm_quantise_a8_avx512(const void *args, struct sm_part part)
{
    const struct sm_quantise_a8 *a = args;
    const size_t groups = a->cols / SM_GROUP;
    for (size_t r = part.row_begin; r < part.row_end; r++)
        for (size_t g = part.col_begin; g < part.col_end; g++)
            quantise_group(a->out.q + r * a->cols + g * SM_GROUP, &a->out.scale[r * groups + g],
                           &a->out.sum[r * groups + g], a->x + r * a->x_stride + g * SM_GROUP);
}
