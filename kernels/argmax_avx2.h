/* argmax_avx2.h - the largest of some floats and its first place: what argmax and softcap_argmax search with.
 *
 * Both go block by block, take only the maximum of each, and look for its place in the few blocks that beat
 * all before them. */
#ifndef SM_ARGMAX_AVX2_H
#define SM_ARGMAX_AVX2_H

#include "vector_math_avx2.h"

#define SM_ARGMAX_BLOCK 1024 /* floats: a block is still in L1 when it is searched again */

/* Of n >= 1 floats, no NaN among them. */
static inline float sm_largest_avx2(const float *x, size_t n)
{
    __m256 m0 = _mm256_set1_ps(x[0]), m1 = m0, m2 = m0, m3 = m0;
    size_t c = 0;
    for (; c + 32 <= n; c += 32) {
        m0 = _mm256_max_ps(m0, _mm256_loadu_ps(x + c));
        m1 = _mm256_max_ps(m1, _mm256_loadu_ps(x + c + 8));
        m2 = _mm256_max_ps(m2, _mm256_loadu_ps(x + c + 16));
        m3 = _mm256_max_ps(m3, _mm256_loadu_ps(x + c + 24));
    }
    float largest = sm_max_of_lanes_avx2(_mm256_max_ps(_mm256_max_ps(m0, m1), _mm256_max_ps(m2, m3)));
    for (; c < n; c++)
        if (x[c] > largest) largest = x[c];
    return largest;
}

/* The first c with x[c] == value, which is there. */
static inline size_t sm_first_place_avx2(const float *x, size_t n, float value)
{
    const __m256 wanted = _mm256_set1_ps(value);
    size_t c = 0;
    for (; c + 8 <= n; c += 8) {
        const int equal = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(x + c), wanted, _CMP_EQ_OQ));
        if (equal) return c + (size_t)__builtin_ctz((unsigned)equal);
    }
    while (c < n && x[c] != value) c++;
    return c;
}

#endif
