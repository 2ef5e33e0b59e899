/* 32 values are four vectors. Magnitudes of floats are in the order of their bits, and integers have more units to
 * compare them. Rounding to nearest even is what the conversion does; |x * (127 / amax)| is at most 127 and a rounding
 * error, so that nothing is left to clamp. */
#include <immintrin.h>

#include "quantise_a8r/quantise_a8r.h"
#include "vector_math_avx2.h"

static inline int32_t sum_lanes(__m256i v)
{
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

static float largest(const float *x, size_t cols)
{
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256i most[4];
    for (int i = 0; i < 4; i++) most[i] = _mm256_setzero_si256();
    for (size_t c = 0; c < cols; c += 32)
        for (int i = 0; i < 4; i++) {
            const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(x + c + 8 * i));
            most[i] = _mm256_max_epi32(most[i], _mm256_and_si256(magnitude, v));
        }
    most[0] = _mm256_max_epi32(_mm256_max_epi32(most[0], most[1]), _mm256_max_epi32(most[2], most[3]));
    return sm_max_of_lanes_avx2(_mm256_castsi256_ps(most[0]));
}

static void quantise_row(int8_t *q, float *scale, int32_t *sum, const float *x, size_t cols)
{
    const float amax = largest(x, cols), inverse = 127.0f / amax;
    const __m256 factor = _mm256_set1_ps(inverse <= 0x1.fffffep127f ? inverse : 0.0f);
    /* packs work within halves, so that fours of bytes come out of order */
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7), ones = _mm256_set1_epi16(1);
    __m256i total = _mm256_setzero_si256();
    for (size_t c = 0; c < cols; c += 32) {
        __m256i n[4];
        for (int i = 0; i < 4; i++) n[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + c + 8 * i), factor));
        const __m256i low = _mm256_packs_epi32(n[0], n[1]), high = _mm256_packs_epi32(n[2], n[3]);
        total = _mm256_add_epi32(total, _mm256_madd_epi16(_mm256_add_epi16(low, high), ones));
        const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
        _mm256_storeu_si256((__m256i *)(void *)(q + c), bytes);
    }
    *scale = amax / 127.0f;
    *sum = sum_lanes(total);
}

void sm_quantise_a8r_avx2(const void *args, struct sm_part part)
{
    const struct sm_quantise_a8r *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++)
        quantise_row(a->out.q + r * a->cols, &a->out.scale[r], &a->out.sum[r], a->x + r * a->x_stride, a->cols);
}
