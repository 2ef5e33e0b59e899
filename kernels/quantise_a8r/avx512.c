/* 64 values are four vectors, narrowed together; the last 32 are half of that. Magnitudes of floats are in the order of
 * their bits, and integers have more units to compare them. Rounding to nearest even is what the conversion does;
 * |x * (127 / amax)| is at most 127 and a rounding error, so that nothing is left to clamp. */
#include <immintrin.h>

#include "quantise_a8r/quantise_a8r.h"

static inline __m512i magnitudes(const float *x)
{
    return _mm512_and_si512(_mm512_set1_epi32(0x7fffffff), _mm512_loadu_si512(x));
}

static float largest(const float *x, size_t cols)
{
    __m512i most[4];
    size_t c = 0;
    for (int i = 0; i < 4; i++) most[i] = _mm512_setzero_si512();
    for (; c + 64 <= cols; c += 64)
        for (int i = 0; i < 4; i++) most[i] = _mm512_max_epi32(most[i], magnitudes(x + c + 16 * i));
    if (c < cols)
        for (int i = 0; i < 2; i++) most[i] = _mm512_max_epi32(most[i], magnitudes(x + c + 16 * i));
    most[0] = _mm512_max_epi32(_mm512_max_epi32(most[0], most[1]), _mm512_max_epi32(most[2], most[3]));
    return _mm512_reduce_max_ps(_mm512_castsi512_ps(most[0]));
}

static inline __m512i words(const float *x, __m512 factor)
{
    return _mm512_packs_epi32(_mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), factor)),
                              _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + 16), factor)));
}

static void quantise_row(int8_t *q, float *scale, int32_t *sum, const float *x, size_t cols)
{
    const float amax = largest(x, cols), inverse = 127.0f / amax;
    const __m512 factor = _mm512_set1_ps(inverse <= 0x1.fffffep127f ? inverse : 0.0f);
    /* packs work within lanes of 128 bits, so that fours of bytes come out of order */
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i ones = _mm512_set1_epi16(1);
    __m512i total = _mm512_setzero_si512();
    size_t c = 0;
    for (; c + 64 <= cols; c += 64) {
        const __m512i low = words(x + c, factor), high = words(x + c + 32, factor);
        total = _mm512_add_epi32(total, _mm512_madd_epi16(_mm512_add_epi16(low, high), ones));
        _mm512_storeu_si512(q + c, _mm512_permutexvar_epi32(order, _mm512_packs_epi16(low, high)));
    }
    if (c < cols) {
        const __m512i low = words(x + c, factor);
        total = _mm512_add_epi32(total, _mm512_madd_epi16(low, ones));
        _mm512_mask_storeu_epi32(q + c, 0xff, _mm512_permutexvar_epi32(order, _mm512_packs_epi16(low, low)));
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
