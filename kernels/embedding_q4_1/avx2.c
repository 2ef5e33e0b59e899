/* A block at a time. */
#include "embedding_q4_1/embedding_q4_1.h"

#include "embedding_avx2.h"

static inline __m256i bytes_of(const void *block)
{
    const struct sm_block_q4_1 *b = block;
    return sm_nibbles_avx2(b->q);
}

static inline __m256 value_of(const void *block, __m256 n)
{
    const struct sm_block_q4_1 *b = block;
    return _mm256_fmadd_ps(n, sm_half_avx2(b->d), sm_half_avx2(b->m));
}

void sm_embedding_q4_1_avx2(const void *args, struct sm_part part)
{
    sm_embedding_rows_avx2(args, part, sizeof(struct sm_block_q4_1), bytes_of, value_of);
}
