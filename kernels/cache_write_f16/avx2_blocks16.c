/* Eight columns of eight rows at a time where they fill half a block, else a row at a time. */
#include "cache_write_f16/cache_write_f16.h"

#include "cache_write_avx2.h"

static inline void store8(void *to, __m256 x, __m256 factor)
{
    (void)factor;
    _mm_storeu_si128((__m128i *)to, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

void sm_cache_write_f16_avx2_blocks16(const void *args, struct sm_part part)
{
    sm_cache_blocks16_avx2(args, part, sizeof(uint16_t), SM_CACHE_WRITE_TOGETHER_f16, SM_CACHE_UNSCALED, store8);
}
