/* a16_avx2.h - rows of int16 (quant.h, struct sm_a16) from rows of something else, eight elements at a time. For files
 * compiled with AVX2. */
#ifndef SM_A16_AVX2_H
#define SM_A16_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Elements c to c + n of a row, n <= 8, as floats; zero beyond them. */
typedef __m256 sm_load8_fn(const void *row, size_t c, size_t n);

/* Clamped to int16, then rounded to nearest even: the bounds are whole, so this order is as good as the other. */
static inline __m256i sm_clamped_words_avx2(__m256 x)
{
    const __m256 most = _mm256_set1_ps(32767), least = _mm256_set1_ps(-32768);
    return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(x, least), most));
}

static inline __m128i sm_words_avx2(__m256i n)
{
    return _mm_packs_epi32(_mm256_castsi256_si128(n), _mm256_extracti128_si256(n, 1));
}

/* Sixteen of them in order, as packing works within halves. It clamps as well: what is less than any int32 is converted
 * to the least, and only what is more than any would be, too. */
static inline __m256i sm_sixteen_words_avx2(__m256 low, __m256 high)
{
    const __m256 most = _mm256_set1_ps(32767);
    const __m256i first = _mm256_cvtps_epi32(_mm256_min_ps(low, most));
    const __m256i second = _mm256_cvtps_epi32(_mm256_min_ps(high, most));
    return _mm256_permute4x64_epi64(_mm256_packs_epi32(first, second), 0xd8);
}

/* One row times a factor; its sum comes back. A lane adds up at most 2^16 elements of at most 2^15: -2^31 still fits.
 */
static inline __attribute__((always_inline)) int64_t sm_row_of_words_avx2(int16_t *q, const void *row, size_t cols,
                                                                          float factor, sm_load8_fn *load8)
{
    const __m256 times = _mm256_set1_ps(factor);
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i sums = _mm256_setzero_si256();
    size_t c = 0;
    for (; c + 16 <= cols; c += 16) {
        const __m256i words =
            sm_sixteen_words_avx2(_mm256_mul_ps(load8(row, c, 8), times), _mm256_mul_ps(load8(row, c + 8, 8), times));
        sums = _mm256_add_epi32(sums, _mm256_madd_epi16(words, ones));
        _mm256_storeu_si256((__m256i *)(void *)(q + c), words);
    }
    if (c < cols) {
        int16_t few[16];
        const size_t n = cols - c, first = n < 8 ? n : 8;
        const __m256 low = load8(row, c, first), high = load8(row, c + first, n - first);
        const __m256i words = sm_sixteen_words_avx2(_mm256_mul_ps(low, times), _mm256_mul_ps(high, times));
        sums = _mm256_add_epi32(sums, _mm256_madd_epi16(words, ones));
        _mm256_storeu_si256((__m256i *)(void *)few, words);
        memcpy(q + c, few, n * sizeof *q);
    }
    int32_t lane[8];
    int64_t sum = 0;
    _mm256_storeu_si256((__m256i *)(void *)lane, sums);
    for (size_t i = 0; i < 8; i++) sum += lane[i];
    return sum;
}

#endif
