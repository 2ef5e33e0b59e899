/* vector_math_avx2.h - exp and tanh of eight floats. For files compiled with AVX2 and FMA.
 *
 * Proven by tests/vector_math.c against double over all exponents; vector_math_avx512.h gives the same bits.
 *   sm_exp_avx2   within SM_EXP_ULP of the exact value, denormal results included; exactly 0 below -104,
 *                 infinite from where float ends (88.72284), exactly 1 at 0
 *   sm_exp2_avx2  of x < 128: within SM_EXP2_ULP of 2^x, denormal results included; exactly 0 below -150, exactly 1 at
 * 0 sm_tanh_avx2  within SM_TANH_ULP, keeps the sign (of zeros too), never above 1, exactly 1 from SM_TANH_END on,
 *                 exactly x below 2^-14
 * A NaN stays one. */
#ifndef SM_VECTOR_MATH_AVX2_H
#define SM_VECTOR_MATH_AVX2_H

#include <immintrin.h>
#include <stddef.h>

#include "vector_math.h"

/* The mask of the first n of eight lanes, n in 0..8. */
static inline __m256i sm_first_lanes_avx2(size_t n)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lane);
}

static inline float sm_max_of_lanes_avx2(__m256 v)
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

/* 2^-n exp(x), in [0.7, 1.42], for |x| < 2^15; n goes out. */
static inline __m256 sm_exp_reduced_avx2(__m256 x, __m256i *n)
{
    const __m256 nf =
        _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(SM_LOG2_E)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(nf, _mm256_set1_ps(SM_LN2_HIGH), x);
    r = _mm256_fnmadd_ps(nf, _mm256_set1_ps(SM_LN2_LOW), r);
    __m256 p = _mm256_set1_ps(SM_EXP_C7);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(SM_EXP_C6));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(SM_EXP_C5));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(SM_EXP_C4));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(SM_EXP_C3));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(SM_EXP_C2));
    p = _mm256_fmadd_ps(_mm256_mul_ps(r, r), p, r);
    *n = _mm256_cvtps_epi32(nf);
    return _mm256_add_ps(p, _mm256_set1_ps(1));
}

/* x * 2^n for n in -126..127. */
static inline __m256 sm_scale_avx2(__m256 x, __m256i n)
{
    const __m256i power = _mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23);
    return _mm256_mul_ps(x, _mm256_castsi256_ps(power));
}

static inline __m256 sm_exp_avx2(__m256 x)
{
    /* Lanes below -104 compute exp(0) and are cleared: a product that underflows costs a hundred cycles. NaN is not
     * below anything, and min gives its second operand when one is NaN. */
    const __m256 keep = _mm256_cmp_ps(x, _mm256_set1_ps(-104), _CMP_NLT_UQ);
    x = _mm256_and_ps(keep, _mm256_min_ps(_mm256_set1_ps(89), x));
    __m256i n;
    const __m256 p = sm_exp_reduced_avx2(x, &n);
    /* In two steps, of which only the second can leave the normal range and round. */
    const __m256i half = _mm256_srai_epi32(n, 1);
    return _mm256_and_ps(keep, sm_scale_avx2(sm_scale_avx2(p, half), _mm256_sub_epi32(n, half)));
}

/* The powers of r in pairs: a chain of four multiply-adds, not six. */
static inline __m256 sm_exp2_avx2(__m256 x)
{
    const __m256 keep = _mm256_cmp_ps(x, _mm256_set1_ps(-150), _CMP_NLT_UQ);
    x = _mm256_and_ps(keep, x); /* a product that underflows costs a hundred cycles */
    const __m256 nf = _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256 r = _mm256_sub_ps(x, nf), square = _mm256_mul_ps(r, r);
    const __m256 p01 = _mm256_fmadd_ps(_mm256_set1_ps(SM_EXP2_C1), r, _mm256_set1_ps(1));
    const __m256 p23 = _mm256_fmadd_ps(_mm256_set1_ps(SM_EXP2_C3), r, _mm256_set1_ps(SM_EXP2_C2));
    __m256 p = _mm256_fmadd_ps(_mm256_set1_ps(SM_EXP2_C5), r, _mm256_set1_ps(SM_EXP2_C4));
    p = _mm256_fmadd_ps(_mm256_set1_ps(SM_EXP2_C6), square, p);
    p = _mm256_fmadd_ps(p, square, p23);
    p = _mm256_fmadd_ps(p, square, p01);
    const __m256i n = _mm256_cvtps_epi32(nf), half = _mm256_srai_epi32(n, 1);
    return _mm256_and_ps(keep, sm_scale_avx2(sm_scale_avx2(p, half), _mm256_sub_epi32(n, half)));
}

/* x, or the limit that it is beyond; a NaN stays one. */
static inline __m256 sm_within_avx2(__m256 x, float limit)
{
    return _mm256_max_ps(_mm256_set1_ps(-limit), _mm256_min_ps(_mm256_set1_ps(limit), x));
}

static inline __m256 sm_tanh_avx2(__m256 x)
{
    const __m256 a = sm_within_avx2(x, SM_TANH_END), z = _mm256_mul_ps(a, a);
    __m256 p = _mm256_fmadd_ps(_mm256_set1_ps(SM_TANH_P8), z, _mm256_set1_ps(SM_TANH_P6));
    p = _mm256_fmadd_ps(p, z, _mm256_set1_ps(SM_TANH_P4));
    p = _mm256_fmadd_ps(p, z, _mm256_set1_ps(SM_TANH_P2));
    p = _mm256_fmadd_ps(_mm256_mul_ps(p, z), a, a);
    __m256 q = _mm256_fmadd_ps(_mm256_set1_ps(SM_TANH_Q8), z, _mm256_set1_ps(SM_TANH_Q6));
    q = _mm256_fmadd_ps(q, z, _mm256_set1_ps(SM_TANH_Q4));
    q = _mm256_fmadd_ps(q, z, _mm256_set1_ps(SM_TANH_Q2));
    q = _mm256_fmadd_ps(q, z, _mm256_set1_ps(1));
    return sm_within_avx2(_mm256_div_ps(p, q), 1);
}

#endif
