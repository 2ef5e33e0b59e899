/* Eight columns of eight rows at a time, in blocks that fill whole cache lines. */
#include "cache_write_i16/cache_write_i16.h"

#include "cache_write_avx2.h"

static inline void store8(void *to, __m256 x, __m256 factor)
{
    const __m256 most = _mm256_set1_ps(32767), least = _mm256_set1_ps(-32768);
    const __m256 scaled = _mm256_min_ps(_mm256_max_ps(_mm256_mul_ps(x, factor), least), most);
    const __m256i n = _mm256_cvtps_epi32(scaled);
    _mm_storeu_si128((__m128i *)to, _mm_packs_epi32(_mm256_castsi256_si128(n), _mm256_extracti128_si256(n, 1)));
}

void sm_cache_write_i16_avx2_transposed(const void *args, struct sm_part part)
{
    sm_cache_columns_avx2(args, part, sizeof(int16_t), SM_CACHE_SCALED_BY_TENSOR, store8);
}
