/* A row at a time, in the four bytes that blocks keep together. */
#include "cache_write_i16/cache_write_i16.h"

#include "a16_avx2.h"
#include "cache_write_avx2.h"

static inline void store8(void *to, __m256 x, __m256 factor)
{
    _mm_storeu_si128((__m128i *)to, sm_words_avx2(sm_clamped_words_avx2(_mm256_mul_ps(x, factor))));
}

void sm_cache_write_i16_avx2_blocks16(const void *args, struct sm_part part)
{
    sm_cache_blocks16_avx2(args, part, sizeof(int16_t), SM_CACHE_WRITE_TOGETHER_i16, SM_CACHE_SCALED_BY_TENSOR, store8);
}
