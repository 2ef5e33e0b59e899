/* A block at a time. */
#include "embedding_q4_0/embedding_q4_0.h"

#include "embedding_avx2.h"

static inline void bytes_of(const void *block, __m128i half[2])
{
    const struct sm_block_q4_0 *b = block;
    sm_nibbles_avx2(b->q, half);
    for (int i = 0; i < 2; i++) half[i] = _mm_sub_epi8(half[i], _mm_set1_epi8(8));
}

static inline void values_of(const void *block, __m256 n[4])
{
    const struct sm_block_q4_0 *b = block;
    const __m256 d = sm_half_avx2(b->d);
    for (int i = 0; i < 4; i++) n[i] = _mm256_mul_ps(n[i], d);
}

void sm_embedding_q4_0_avx2(const void *args, struct sm_part part)
{
    sm_embedding_rows_avx2(args, part, sizeof(struct sm_block_q4_0), bytes_of, values_of);
}
