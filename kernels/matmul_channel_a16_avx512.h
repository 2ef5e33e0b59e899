/* matmul_channel_a16_avx512.h - the operations of matmul_channel_a16_body.h in 512 bits, all but MULADD, for the
 * AVX-512 variants. Two vectors of channels x 8 rows: sixteen sums. */
#ifndef SM_MATMUL_CHANNEL_A16_AVX512_H
#define SM_MATMUL_CHANNEL_A16_AVX512_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define LANES 16
#define ROWS 8
#define EACH_COUNT(X) X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2) X(7, 2) X(8, 2)
#define VECTOR __m512i
#define ZERO() _mm512_setzero_si512()
#define LOAD(p) _mm512_load_si512(p)
#define NIBBLE(v, j)                                                                                                   \
    ((j) == 3 ? _mm512_srli_epi16(v, 12)                                                                               \
              : _mm512_and_si512((j) == 0   ? (v)                                                                      \
                                 : (j) == 1 ? _mm512_srli_epi16(v, 4)                                                  \
                                            : _mm512_srli_epi16(v, 8),                                                 \
                                 _mm512_set1_epi16(15)))
#define WIDEN(p) _mm512_cvtepi8_epi16(_mm256_load_si256((const __m256i *)(const void *)(p)))
#define BROADCAST(p) _mm512_set1_epi32(two_int16(p))
#define STORE(p, v) _mm512_store_si512(p, v)

static inline int32_t two_int16(const int16_t *p)
{
    int32_t two;
    memcpy(&two, p, sizeof two);
    return two;
}

#endif
