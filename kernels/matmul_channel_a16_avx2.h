/* matmul_channel_a16_avx2.h - the operations of matmul_channel_a16_body.h in 256 bits, for the AVX2 variants. Two
 * vectors of channels x 4 rows: eight sums, which leaves room for weights and values among 16 registers. */
#ifndef SM_MATMUL_CHANNEL_A16_AVX2_H
#define SM_MATMUL_CHANNEL_A16_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define LANES 8
#define ROWS 4
#define EACH_COUNT(X) X(1, 2) X(2, 2) X(3, 2) X(4, 2)
#define VECTOR __m256i
#define ZERO() _mm256_setzero_si256()
#define LOAD(p) _mm256_load_si256((const __m256i *)(const void *)(p))
#define NIBBLE(v, j)                                                                                                   \
    ((j) == 3 ? _mm256_srli_epi16(v, 12)                                                                               \
              : _mm256_and_si256((j) == 0   ? (v)                                                                      \
                                 : (j) == 1 ? _mm256_srli_epi16(v, 4)                                                  \
                                            : _mm256_srli_epi16(v, 8),                                                 \
                                 _mm256_set1_epi16(15)))
#define WIDEN(p) _mm256_cvtepi8_epi16(_mm_load_si128((const __m128i *)(const void *)(p)))
#define BROADCAST(p) _mm256_set1_epi32(two_int16(p))
#define MULADD(sum, w, x) _mm256_add_epi32(sum, _mm256_madd_epi16(w, x))
#define STORE(p, v) _mm256_store_si256((__m256i *)(void *)(p), v)

static inline int32_t two_int16(const int16_t *p)
{
    int32_t two;
    memcpy(&two, p, sizeof two);
    return two;
}

#endif
