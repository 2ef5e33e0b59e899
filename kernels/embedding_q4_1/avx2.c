/* A block at a time. */
#include "embedding_q4_1/embedding_q4_1.h"

#include "embedding_avx2.h"

static inline void bytes_of(const void *block, __m128i half[2])
{
    const struct sm_block_q4_1 *b = block;
    sm_nibbles_avx2(b->q, half);
}

static inline void values_of(const void *block, __m256 n[4])
{
    const struct sm_block_q4_1 *b = block;
    const __m256 d = sm_half_avx2(b->d), m = sm_half_avx2(b->m);
    for (int i = 0; i < 4; i++) n[i] = _mm256_fmadd_ps(n[i], d, m);
}

void sm_embedding_q4_1_avx2(const void *args, struct sm_part part)
{
    sm_embedding_rows_avx2(args, part, sizeof(struct sm_block_q4_1), bytes_of, values_of);
}
