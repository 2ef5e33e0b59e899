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

/* 32 bytes in order: the low halves of 16 bytes, then the high ones. */
static inline __m256i sm_nibbles_avx2(const uint8_t *q)
{
    const __m128i packed = _mm_loadu_si128((const __m128i *)q);
    return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(packed, 4), packed), _mm256_set1_epi8(15));
}

/* Elements 8 part to 8 part + 7 of 32 signed bytes, as floats. */
static inline __m256 sm_floats_avx2(__m256i bytes, int part)
{
    const __m128i half = part < 2 ? _mm256_castsi256_si128(bytes) : _mm256_extracti128_si256(bytes, 1);
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(part % 2 ? _mm_srli_si128(half, 8) : half));
}

/* Rows of blocks of block_bytes; bytes_of gives the 32 integers of a block, value_of turns eight of them, as floats,
 * into what they stand for. Both get the block. */
static inline __attribute__((always_inline)) void
sm_embedding_rows_avx2(const struct sm_embedding *a, struct sm_part part, size_t block_bytes,
                       __m256i (*bytes_of)(const void *block), __m256 (*value_of)(const void *block, __m256 n))
{
    const size_t blocks = a->cols / SM_GROUP;
    const __m256 scale = _mm256_set1_ps(a->scale);
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const uint8_t *row = (const uint8_t *)a->table + (size_t)a->token[r] * blocks * block_bytes;
        float *y = a->y + r * a->y_stride;
        for (size_t b = 0; b < blocks; b++, row += block_bytes, y += SM_GROUP) {
            const __m256i bytes = bytes_of(row);
            _mm256_storeu_ps(y, _mm256_mul_ps(value_of(row, sm_floats_avx2(bytes, 0)), scale));
            _mm256_storeu_ps(y + 8, _mm256_mul_ps(value_of(row, sm_floats_avx2(bytes, 1)), scale));
            _mm256_storeu_ps(y + 16, _mm256_mul_ps(value_of(row, sm_floats_avx2(bytes, 2)), scale));
            _mm256_storeu_ps(y + 24, _mm256_mul_ps(value_of(row, sm_floats_avx2(bytes, 3)), scale));
        }
    }
}

#endif
