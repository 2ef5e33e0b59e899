/* Four groups at a time, so that one tree of shuffles finds the magnitudes of all four and another their sums, and two
 * divisions serve four scales. Rounding to nearest even is what the conversion does; |x * (127 / amax)| is at most 127
 * and a rounding error, so that nothing is left to clamp. */
#include <immintrin.h>

#include "quantise_a8/quantise_a8.h"

#define GROUPS 4

/* Every 128-bit lane l of x[g] counts; element g of the result is the largest of x[g]'s sixteen. */
static inline __m128 largest_of_each(const __m512 x[GROUPS])
{
    const __m512 a = _mm512_max_ps(_mm512_unpacklo_ps(x[0], x[1]), _mm512_unpackhi_ps(x[0], x[1]));
    const __m512 b = _mm512_max_ps(_mm512_unpacklo_ps(x[2], x[3]), _mm512_unpackhi_ps(x[2], x[3]));
    const __m512 c = _mm512_max_ps(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xee));
    const __m256 d = _mm256_max_ps(_mm512_castps512_ps256(c), _mm512_extractf32x8_ps(c, 1));
    return _mm_max_ps(_mm256_castps256_ps128(d), _mm256_extractf128_ps(d, 1));
}

static inline __m128i sum_of_each(const __m512i x[GROUPS])
{
    const __m512i a = _mm512_add_epi32(_mm512_unpacklo_epi32(x[0], x[1]), _mm512_unpackhi_epi32(x[0], x[1]));
    const __m512i b = _mm512_add_epi32(_mm512_unpacklo_epi32(x[2], x[3]), _mm512_unpackhi_epi32(x[2], x[3]));
    const __m512i c = _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
    const __m256i d = _mm256_add_epi32(_mm512_castsi512_si256(c), _mm512_extracti64x4_epi64(c, 1));
    return _mm_add_epi32(_mm256_castsi256_si128(d), _mm256_extracti128_si256(d, 1));
}

/* n of GROUPS groups: the last is worked on again in place of those that are not there. */
static inline __attribute__((always_inline)) void quantise_groups(int8_t *q, float *scale, int32_t *sum, const float *x,
                                                                  size_t n)
{
    __m512 first[GROUPS], second[GROUPS], most[GROUPS];
    __m512i total[GROUPS];
    for (size_t g = 0; g < GROUPS; g++) {
        const float *const group = x + (g < n ? g : n - 1) * SM_GROUP;
        first[g] = _mm512_loadu_ps(group);
        second[g] = _mm512_loadu_ps(group + 16);
        most[g] = _mm512_max_ps(_mm512_abs_ps(first[g]), _mm512_abs_ps(second[g]));
    }
    const __m128 amax = largest_of_each(most), inverse = _mm_div_ps(_mm_set1_ps(127), amax);
    const __mmask8 there = (__mmask8)((1u << n) - 1);
    const __m128 finite = _mm_cmp_ps(inverse, _mm_set1_ps(0x1.fffffep127f), _CMP_LE_OQ);
    const __m512 factors = _mm512_castps128_ps512(_mm_and_ps(finite, inverse));
    for (size_t g = 0; g < GROUPS; g++) {
        const __m512 factor = _mm512_permutexvar_ps(_mm512_set1_epi32((int)g), factors);
        const __m512i low = _mm512_cvtps_epi32(_mm512_mul_ps(first[g], factor));
        const __m512i high = _mm512_cvtps_epi32(_mm512_mul_ps(second[g], factor));
        total[g] = _mm512_add_epi32(low, high);
        if (g >= n) continue;
        _mm_storeu_si128((__m128i *)(void *)(q + g * SM_GROUP), _mm512_cvtepi32_epi8(low));
        _mm_storeu_si128((__m128i *)(void *)(q + g * SM_GROUP + 16), _mm512_cvtepi32_epi8(high));
    }
    _mm_mask_storeu_ps(scale, there, _mm_div_ps(amax, _mm_set1_ps(127)));
    _mm_mask_storeu_epi32(sum, there, sum_of_each(total));
}

void sm_quantise_a8_avx512(const void *args, struct sm_part part)
{
    const struct sm_quantise_a8 *a = args;
    const size_t groups = a->cols / SM_GROUP;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        int8_t *const q = a->out.q + r * a->cols;
        float *const scale = a->out.scale + r * groups;
        int32_t *const sum = a->out.sum + r * groups;
        const float *const x = a->x + r * a->x_stride;
        size_t g = part.col_begin;
        for (; g + GROUPS <= part.col_end; g += GROUPS)
            quantise_groups(q + g * SM_GROUP, scale + g, sum + g, x + g * SM_GROUP, GROUPS);
        if (g < part.col_end) quantise_groups(q + g * SM_GROUP, scale + g, sum + g, x + g * SM_GROUP, part.col_end - g);
    }
}
