/* A block at a time. */
#include "embedding_q8_0/embedding_q8_0.h"

#include "embedding_avx2.h"

static inline __m256i bytes_of(const void *block)
{
    const struct sm_block_q8_0 *b = block;
    return _mm256_loadu_si256((const __m256i *)b->q);
}

static inline __m256 value_of(const void *block, __m256 n)
{
    const struct sm_block_q8_0 *b = block;
    return _mm256_mul_ps(n, sm_half_avx2(b->d));
}

void sm_embedding_q8_0_avx2(const void *args, struct sm_part part)
{
    sm_embedding_rows_avx2(args, part, sizeof(struct sm_block_q8_0), bytes_of, value_of);
}
