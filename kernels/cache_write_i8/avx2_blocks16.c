/* A row at a time, in the four bytes that blocks keep together. */
#include "cache_write_i8/cache_write_i8.h"

#include "cache_write_avx2.h"

static inline void store8(void *to, __m256 x, __m256 factor)
{
    const __m256i n = _mm256_cvtps_epi32(_mm256_mul_ps(x, factor));
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(n), _mm256_extracti128_si256(n, 1));
    _mm_storel_epi64((__m128i *)to, _mm_packs_epi16(words, words));
}

void sm_cache_write_i8_avx2_blocks16(const void *args, struct sm_part part)
{
    sm_cache_blocks16_avx2(args, part, sizeof(int8_t), SM_CACHE_WRITE_TOGETHER_i8, SM_CACHE_SCALED_BY_SLOT, store8);
}
