/* argmax_avx512.h - the largest of some floats and its first place: what argmax and softcap_argmax search with.
 *
 * Both go block by block, take only the maximum of each, and look for its place in the few blocks that beat
 * all before them. */
#ifndef SM_ARGMAX_AVX512_H
#define SM_ARGMAX_AVX512_H

#include "vector_math_avx512.h"

#define SM_ARGMAX_BLOCK 1024 /* floats: a block is still in L1 when it is searched again */

/* Of n >= 1 floats, no NaN among them. */
static inline float sm_largest_avx512(const float *x, size_t n)
{
    __m512 m0 = _mm512_set1_ps(x[0]), m1 = m0, m2 = m0, m3 = m0;
    size_t c = 0;
    for (; c + 64 <= n; c += 64) {
        m0 = _mm512_max_ps(m0, _mm512_loadu_ps(x + c));
        m1 = _mm512_max_ps(m1, _mm512_loadu_ps(x + c + 16));
        m2 = _mm512_max_ps(m2, _mm512_loadu_ps(x + c + 32));
        m3 = _mm512_max_ps(m3, _mm512_loadu_ps(x + c + 48));
    }
    for (; c < n; c += 16) {
        const __mmask16 lanes = sm_first_lanes_avx512(n - c < 16 ? n - c : 16);
        m0 = _mm512_mask_max_ps(m0, lanes, m0, _mm512_maskz_loadu_ps(lanes, x + c));
    }
    return _mm512_reduce_max_ps(_mm512_max_ps(_mm512_max_ps(m0, m1), _mm512_max_ps(m2, m3)));
}

/* The first c with x[c] == value, which is there. */
static inline size_t sm_first_place_avx512(const float *x, size_t n, float value)
{
    const __m512 wanted = _mm512_set1_ps(value);
    for (size_t c = 0; c < n; c += 16) {
        const __mmask16 lanes = sm_first_lanes_avx512(n - c < 16 ? n - c : 16);
        const unsigned equal = _mm512_mask_cmp_ps_mask(lanes, _mm512_maskz_loadu_ps(lanes, x + c), wanted, _CMP_EQ_OQ);
        if (equal) return c + (size_t)__builtin_ctz(equal);
    }
    return n;
}

#endif
