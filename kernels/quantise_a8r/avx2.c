/* 32 values are four vectors. Rounding to nearest even is what the conversion does; |x * (127 / amax)| is at most 127
 * and a rounding error, so that nothing is left to clamp. */
#include <immintrin.h>

#include "quantise_a8r/quantise_a8r.h"

static inline float max_lanes(__m256 v)
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

static inline int32_t sum_lanes(__m256i v)
{
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

static void quantise_row(int8_t *q, float *scale, int32_t *sum, const float *x, size_t cols)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    __m256 largest[4];
    for (int i = 0; i < 4; i++) largest[i] = _mm256_setzero_ps();
    for (size_t c = 0; c < cols; c += 32)
        for (int i = 0; i < 4; i++)
            largest[i] = _mm256_max_ps(largest[i], _mm256_andnot_ps(sign, _mm256_loadu_ps(x + c + 8 * i)));
    const float amax =
        max_lanes(_mm256_max_ps(_mm256_max_ps(largest[0], largest[1]), _mm256_max_ps(largest[2], largest[3])));
    const float inverse = 127.0f / amax;
    const __m256 factor = _mm256_set1_ps(inverse <= 0x1.fffffep127f ? inverse : 0.0f);
    __m256i total = _mm256_setzero_si256();
    for (size_t c = 0; c < cols; c += 32) {
        __m256i n[4];
        for (int i = 0; i < 4; i++) n[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + c + 8 * i), factor));
        total = _mm256_add_epi32(total, _mm256_add_epi32(_mm256_add_epi32(n[0], n[1]), _mm256_add_epi32(n[2], n[3])));
        const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(n[0], n[1]), _mm256_packs_epi32(n[2], n[3]));
        /* packs work within halves, so that fours of bytes come out of order */
        const __m256i ordered = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
        _mm256_storeu_si256((__m256i *)(void *)(q + c), ordered);
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
