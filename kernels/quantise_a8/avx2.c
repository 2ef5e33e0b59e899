/* A group is four vectors. Rounding to nearest even is what the conversion does; |x * (127 / amax)| is at most 127 and
 * a rounding error, so that nothing is left to clamp. */
#include <immintrin.h>

#include "quantise_a8/quantise_a8.h"

static inline float max_lanes(__m256 v)
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

static inline int32_t sum_bytes(__m256i q)
{
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), q);
    const __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(fours), _mm256_extracti128_si256(fours, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

static inline void quantise_group(int8_t *q, float *scale, int32_t *sum, const float *x)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    __m256 v[4], largest = _mm256_setzero_ps();
    for (int i = 0; i < 4; i++) {
        v[i] = _mm256_loadu_ps(x + 8 * i);
        largest = _mm256_max_ps(largest, _mm256_andnot_ps(sign, v[i]));
    }
    const float amax = max_lanes(largest), inverse = 127.0f / amax;
    *scale = amax / 127.0f;
    const __m256 factor = _mm256_set1_ps(inverse <= 0x1.fffffep127f ? inverse : 0.0f);
    __m256i n[4];
    for (int i = 0; i < 4; i++) n[i] = _mm256_cvtps_epi32(_mm256_mul_ps(v[i], factor));
    const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(n[0], n[1]), _mm256_packs_epi32(n[2], n[3]));
    /* packs work within halves, so that fours of bytes come out of order */
    const __m256i ordered = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256((__m256i *)(void *)q, ordered);
    *sum = sum_bytes(ordered);
}

void sm_quantise_a8_avx2(const void *args, struct sm_part part)
{
    const struct sm_quantise_a8 *a = args;
    const size_t groups = a->cols / SM_GROUP;
    for (size_t r = part.row_begin; r < part.row_end; r++)
        for (size_t g = part.col_begin; g < part.col_end; g++)
            quantise_group(a->out.q + r * a->cols + g * SM_GROUP, &a->out.scale[r * groups + g],
                           &a->out.sum[r * groups + g], a->x + r * a->x_stride + g * SM_GROUP);
}
