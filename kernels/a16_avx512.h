/* a16_avx512.h - rows of int16 (quant.h, struct sm_a16) from rows of something else, sixteen elements at a time. For
 * files compiled with AVX-512; a16_avx2.h says more. */
#ifndef SM_A16_AVX512_H
#define SM_A16_AVX512_H

#include <stdint.h>

#include "vector_math_avx512.h"

/* The elements of `lanes`, of the sixteen from c on, as floats; zero in the other lanes. */
typedef __m512 sm_load16_fn(const void *row, size_t c, __mmask16 lanes);

static inline __m256i sm_words_avx512(__m512i *sums, __m512 x)
{
    const __m512 most = _mm512_set1_ps(32767), least = _mm512_set1_ps(-32768);
    const __m512i n = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(x, least), most));
    *sums = _mm512_add_epi32(*sums, n);
    return _mm512_cvtepi32_epi16(n);
}

static inline __attribute__((always_inline)) int64_t sm_row_of_words_avx512(int16_t *q, const void *row, size_t cols,
                                                                            float factor, sm_load16_fn *load16)
{
    const __m512 times = _mm512_set1_ps(factor);
    __m512i sums = _mm512_setzero_si512();
    for (size_t c = 0; c < cols; c += 16) {
        const __mmask16 lanes = sm_first_lanes_avx512(cols - c < 16 ? cols - c : 16);
        const __m256i words = sm_words_avx512(&sums, _mm512_mul_ps(load16(row, c, lanes), times));
        _mm256_mask_storeu_epi16(q + c, lanes, words);
    }
    int32_t lane[16];
    int64_t sum = 0;
    _mm512_storeu_si512(lane, sums);
    for (size_t i = 0; i < 16; i++) sum += lane[i];
    return sum;
}

#endif
