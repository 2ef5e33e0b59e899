/* Eight columns of eight rows at a time where they fill half a block, else a row at a time. */
#include "cache_write_f32/cache_write_f32.h"

#include "cache_write_avx2.h"

static inline void store8(void *to, __m256 x, __m256 factor)
{
    (void)factor;
    _mm256_storeu_ps((float *)to, x);
}

void sm_cache_write_f32_avx2_blocks16(const void *args, struct sm_part part)
{
    sm_cache_blocks16_avx2(args, part, sizeof(float), SM_CACHE_WRITE_TOGETHER_f32, SM_CACHE_UNSCALED, store8);
}
