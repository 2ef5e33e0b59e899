/* a16_avx512.h - rows of int16 (quant.h, struct sm_a16) from rows of something else, sixteen elements at a time. For
 * files compiled with AVX-512; a16_avx2.h says more. */
#ifndef SM_A16_AVX512_H
#define SM_A16_AVX512_H

#include <stdint.h>

#include "vector_math_avx512.h"

/* The elements of `lanes`, of the sixteen from c on, as floats; zero in the other lanes. */
typedef __m512 sm_load16_fn(const void *row, size_t c, __mmask16 lanes);

static inline __m512i sm_rounded_avx512(__m512 x)
{
    return _mm512_cvtps_epi32(_mm512_min_ps(x, _mm512_set1_ps(32767)));
}

/* Up to 32 elements in order: packing works within lanes of 128 bits. */
static inline __attribute__((always_inline)) __m512i sm_words_avx512(const void *row, size_t c, __mmask32 lanes,
                                                                     __m512 times, sm_load16_fn *load16)
{
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    const __m512 low = load16(row, c, (__mmask16)lanes), high = load16(row, c + 16, (__mmask16)(lanes >> 16));
    return _mm512_permutexvar_epi64(order, _mm512_packs_epi32(sm_rounded_avx512(_mm512_mul_ps(low, times)),
                                                              sm_rounded_avx512(_mm512_mul_ps(high, times))));
}

static inline __attribute__((always_inline)) int64_t sm_row_of_words_avx512(int16_t *q, const void *row, size_t cols,
                                                                            float factor, sm_load16_fn *load16)
{
    const __m512 times = _mm512_set1_ps(factor);
    const __m512i ones = _mm512_set1_epi16(1);
    __m512i sums = _mm512_setzero_si512();
    size_t c = 0;
    for (; c + 32 <= cols; c += 32) {
        const __m512i words = sm_words_avx512(row, c, 0xffffffff, times, load16);
        sums = _mm512_add_epi32(sums, _mm512_madd_epi16(words, ones));
        _mm512_storeu_si512(q + c, words);
    }
    if (c < cols) {
        const __mmask32 lanes = ((__mmask32)1 << (cols - c)) - 1;
        const __m512i words = sm_words_avx512(row, c, lanes, times, load16);
        sums = _mm512_add_epi32(sums, _mm512_madd_epi16(words, ones));
        _mm512_mask_storeu_epi16(q + c, lanes, words);
    }
    int32_t lane[16];
    int64_t sum = 0;
    _mm512_storeu_si512(lane, sums);
    for (size_t i = 0; i < 16; i++) sum += lane[i];
    return sum;
}

#endif
