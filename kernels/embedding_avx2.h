/* embedding_avx2.h - the loop of the AVX2 variants of embedding_{q4_0,q4_1,q8_0}, over what one block holds. */
#ifndef SM_EMBEDDING_AVX2_H
#define SM_EMBEDDING_AVX2_H

#include <immintrin.h>

#include "embedding.h"
#include "quant.h"

static inline __m256 sm_half_avx2(uint16_t h)
{
    return _mm256_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(h)));
}

/* 32 bytes in order, in halves: the low halves of 16 bytes, then the high ones. */
static inline void sm_nibbles_avx2(const uint8_t *q, __m128i half[2])
{
    const __m128i packed = _mm_loadu_si128((const __m128i *)q), low = _mm_set1_epi8(15);
    half[0] = _mm_and_si128(packed, low);
    half[1] = _mm_and_si128(_mm_srli_epi16(packed, 4), low);
}

static inline __m256 sm_floats_avx2(__m128i bytes)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
}

/* Rows of blocks of block_bytes; bytes_of gives the 32 integers of a block in halves, values_of turns their floats into
 * what they stand for. Both get the block, and are done with it before anything is stored, which might be another block
 * for all that the compiler knows. */
static inline __attribute__((always_inline)) void
sm_embedding_rows_avx2(const struct sm_embedding *a, struct sm_part part, size_t block_bytes,
                       void (*bytes_of)(const void *block, __m128i half[2]),
                       void (*values_of)(const void *block, __m256 n[4]))
{
    const size_t blocks = a->cols / SM_GROUP;
    const __m256 scale = _mm256_set1_ps(a->scale);
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const uint8_t *row = (const uint8_t *)a->table + (size_t)a->token[r] * blocks * block_bytes;
        float *y = a->y + r * a->y_stride;
        for (size_t b = 0; b < blocks; b++, row += block_bytes, y += SM_GROUP) {
            __m128i half[2];
            bytes_of(row, half);
            __m256 n[4] = {sm_floats_avx2(half[0]), sm_floats_avx2(_mm_srli_si128(half[0], 8)), sm_floats_avx2(half[1]),
                           sm_floats_avx2(_mm_srli_si128(half[1], 8))};
            values_of(row, n);
            for (size_t i = 0; i < 4; i++) _mm256_storeu_ps(y + 8 * i, _mm256_mul_ps(n[i], scale));
        }
    }
}

#endif
