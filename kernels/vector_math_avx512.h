/* vector_math_avx512.h - exp and tanh of sixteen floats. For files compiled with AVX-512 F and DQ.
 *
 * Promises and proof as in vector_math_avx2.h, bit by bit. */
#ifndef SM_VECTOR_MATH_AVX512_H
#define SM_VECTOR_MATH_AVX512_H

#include <immintrin.h>
#include <stddef.h>

#include "vector_math.h"

/* The mask of the first n of sixteen lanes, n in 0..16. */
static inline __mmask16 sm_first_lanes_avx512(size_t n)
{
    return (__mmask16)((1u << n) - 1);
}

/* 2^-n exp(x), in [0.7, 1.42], for |x| < 2^15; n goes out. */
static inline __m512 sm_exp_reduced_avx512(__m512 x, __m512 *n)
{
    *n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(SM_LOG2_E)),
                              _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512 r = _mm512_fnmadd_ps(*n, _mm512_set1_ps(SM_LN2_HIGH), x);
    r = _mm512_fnmadd_ps(*n, _mm512_set1_ps(SM_LN2_LOW), r);
    __m512 p = _mm512_set1_ps(SM_EXP_C7);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(SM_EXP_C6));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(SM_EXP_C5));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(SM_EXP_C4));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(SM_EXP_C3));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(SM_EXP_C2));
    p = _mm512_fmadd_ps(_mm512_mul_ps(r, r), p, r);
    return _mm512_add_ps(p, _mm512_set1_ps(1));
}

static inline __m512 sm_exp_avx512(__m512 x)
{
    /* Lanes below -104 are left out and cleared: a product that underflows costs a hundred cycles. NaN is not below
     * anything, and min gives its second operand when one is NaN. */
    const __mmask16 keep = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-104), _CMP_NLT_UQ);
    __m512 n;
    const __m512 p = sm_exp_reduced_avx512(_mm512_maskz_min_ps(keep, _mm512_set1_ps(89), x), &n);
    return _mm512_maskz_scalef_ps(keep, p, n); /* rounds once, also to a denormal */
}

/* The powers of r in pairs: a chain of four multiply-adds, not six. Lanes that are cleared may hold anything. */
static inline __m512 sm_exp2_avx512(__m512 x)
{
    const __mmask16 keep = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-150), _CMP_NLT_UQ);
    const __m512 n = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512 r = _mm512_sub_ps(x, n), square = _mm512_mul_ps(r, r);
    const __m512 p01 = _mm512_fmadd_ps(_mm512_set1_ps(SM_EXP2_C1), r, _mm512_set1_ps(1));
    const __m512 p23 = _mm512_fmadd_ps(_mm512_set1_ps(SM_EXP2_C3), r, _mm512_set1_ps(SM_EXP2_C2));
    __m512 p = _mm512_fmadd_ps(_mm512_set1_ps(SM_EXP2_C5), r, _mm512_set1_ps(SM_EXP2_C4));
    p = _mm512_fmadd_ps(_mm512_set1_ps(SM_EXP2_C6), square, p);
    p = _mm512_fmadd_ps(p, square, p23);
    p = _mm512_fmadd_ps(p, square, p01);
    return _mm512_maskz_scalef_ps(keep, p, n); /* rounds once, also to a denormal */
}

/* x, or the limit that it is beyond; a NaN stays one (vrangeps would lose it). */
static inline __m512 sm_within_avx512(__m512 x, float limit)
{
    return _mm512_max_ps(_mm512_set1_ps(-limit), _mm512_min_ps(_mm512_set1_ps(limit), x));
}

static inline __m512 sm_tanh_avx512(__m512 x)
{
    const __m512 a = sm_within_avx512(x, SM_TANH_END), z = _mm512_mul_ps(a, a);
    __m512 p = _mm512_fmadd_ps(_mm512_set1_ps(SM_TANH_P8), z, _mm512_set1_ps(SM_TANH_P6));
    p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(SM_TANH_P4));
    p = _mm512_fmadd_ps(p, z, _mm512_set1_ps(SM_TANH_P2));
    p = _mm512_fmadd_ps(_mm512_mul_ps(p, z), a, a);
    __m512 q = _mm512_fmadd_ps(_mm512_set1_ps(SM_TANH_Q8), z, _mm512_set1_ps(SM_TANH_Q6));
    q = _mm512_fmadd_ps(q, z, _mm512_set1_ps(SM_TANH_Q4));
    q = _mm512_fmadd_ps(q, z, _mm512_set1_ps(SM_TANH_Q2));
    q = _mm512_fmadd_ps(q, z, _mm512_set1_ps(1));
    return sm_within_avx512(_mm512_div_ps(p, q), 1);
}

#endif
