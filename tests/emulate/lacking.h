/* lacking.h - intrinsics that SIMDe 0.7.4 has not, or rounds otherwise than the instruction does.
 *
 * Each is written lane by lane, after the operation section of Intel's Software Developer's Manual, volume 2, and
 * compared with the real instruction by emulate_check.c on a machine that has it. Immediates are parameters here. */
#ifndef SM_EMULATE_LACKING_H
#define SM_EMULATE_LACKING_H

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t __mmask8;
typedef uint16_t __mmask16;
typedef uint32_t __mmask32;
typedef uint64_t __mmask64;

/* Names for immediates that SIMDe gives no alias. */
#ifndef _MM_FROUND_NO_EXC
#define _MM_FROUND_TO_NEAREST_INT 0
#define _MM_FROUND_TO_NEG_INF 1
#define _MM_FROUND_TO_POS_INF 2
#define _MM_FROUND_TO_ZERO 3
#define _MM_FROUND_CUR_DIRECTION 4
#define _MM_FROUND_NO_EXC 8
#endif

#define SM_OP static __attribute__((noinline, unused)) /* inlined, a kernel takes 40 s to compile */

/* y[i] = expression of x[i], from a vector of `from` to one of `to`. */
#define SM_LANES_1(name, To, to, From, from, n, expression)                                                            \
    SM_OP To name(From a)                                                                                              \
    {                                                                                                                  \
        from x[sizeof a / sizeof(from)];                                                                               \
        to y[sizeof(To) / sizeof(to)] = {0};                                                                           \
        memcpy(x, &a, sizeof x);                                                                                       \
        for (int i = 0; i < (n); i++) y[i] = (to)(expression);                                                         \
        To r;                                                                                                          \
        memcpy(&r, y, sizeof r);                                                                                       \
        return r;                                                                                                      \
    }
#define SM_LANES_3(name, V, T, n, expression)                                                                          \
    SM_OP V name(V a, V b, V c)                                                                                        \
    {                                                                                                                  \
        T x[n], y[n], z[n];                                                                                            \
        memcpy(x, &a, sizeof x), memcpy(y, &b, sizeof y), memcpy(z, &c, sizeof z);                                     \
        for (int i = 0; i < (n); i++) x[i] = expression;                                                               \
        memcpy(&a, x, sizeof a);                                                                                       \
        return a;                                                                                                      \
    }
/* The masked forms of an operation with one, two and three operands; t is the element of the result. */
#define SM_MASKED_1(pre, op, t, K, V, A)                                                                               \
    SM_OP V pre##_mask_##op(V s, K k, A a)                                                                             \
    {                                                                                                                  \
        return pre##_mask_mov_##t(s, k, pre##_##op(a));                                                                \
    }                                                                                                                  \
    SM_OP V pre##_maskz_##op(K k, A a)                                                                                 \
    {                                                                                                                  \
        return pre##_maskz_mov_##t(k, pre##_##op(a));                                                                  \
    }
#define SM_MASKED_2(pre, op, t, K, V)                                                                                  \
    SM_OP V pre##_mask_##op(V s, K k, V a, V b)                                                                        \
    {                                                                                                                  \
        return pre##_mask_mov_##t(s, k, pre##_##op(a, b));                                                             \
    }                                                                                                                  \
    SM_OP V pre##_maskz_##op(K k, V a, V b)                                                                            \
    {                                                                                                                  \
        return pre##_maskz_mov_##t(k, pre##_##op(a, b));                                                               \
    }
#define SM_MASKED_3(pre, op, K, V)                                                                                     \
    SM_OP V pre##_mask_##op(V a, K k, V b, V c)                                                                        \
    {                                                                                                                  \
        return pre##_mask_mov_ps(a, k, pre##_##op(a, b, c));                                                           \
    }                                                                                                                  \
    SM_OP V pre##_mask3_##op(V a, V b, V c, K k)                                                                       \
    {                                                                                                                  \
        return pre##_mask_mov_ps(c, k, pre##_##op(a, b, c));                                                           \
    }                                                                                                                  \
    SM_OP V pre##_maskz_##op(K k, V a, V b, V c)                                                                       \
    {                                                                                                                  \
        return pre##_maskz_mov_ps(k, pre##_##op(a, b, c));                                                             \
    }

/* Fused: SIMDe rounds twice. */
#undef _mm_fmadd_ps
#undef _mm_fmsub_ps
#undef _mm_fnmadd_ps
#undef _mm_fnmsub_ps
#undef _mm256_fmadd_ps
#undef _mm256_fmsub_ps
#undef _mm256_fnmadd_ps
#undef _mm256_fnmsub_ps
#undef _mm512_fmadd_ps
#undef _mm512_fmsub_ps
#undef _mm512_fnmadd_ps
#undef _mm512_fnmsub_ps
#undef _mm512_mask_fmadd_ps
#undef _mm512_maskz_fmadd_ps
#undef _mm_fmadd_ss
#define SM_FUSED(pre, V, n, K)                                                                                         \
    SM_LANES_3(pre##_fmadd_ps, V, float, n, fmaf(x[i], y[i], z[i]))                                                    \
    SM_LANES_3(pre##_fmsub_ps, V, float, n, fmaf(x[i], y[i], -z[i]))                                                   \
    SM_LANES_3(pre##_fnmadd_ps, V, float, n, fmaf(-x[i], y[i], z[i]))                                                  \
    SM_LANES_3(pre##_fnmsub_ps, V, float, n, fmaf(-x[i], y[i], -z[i]))                                                 \
    SM_MASKED_3(pre, fmadd_ps, K, V)                                                                                   \
    SM_MASKED_3(pre, fmsub_ps, K, V)                                                                                   \
    SM_MASKED_3(pre, fnmadd_ps, K, V)                                                                                  \
    SM_MASKED_3(pre, fnmsub_ps, K, V)
SM_FUSED(_mm, __m128, 4, __mmask8)
SM_FUSED(_mm256, __m256, 8, __mmask8)
SM_FUSED(_mm512, __m512, 16, __mmask16)
SM_LANES_3(_mm_fmadd_ss, __m128, float, 4, i ? x[i] : fmaf(x[i], y[i], z[i]))

/* Rounding: SIMDe takes halves away from zero. */
#undef _mm_round_ps
#undef _mm256_round_ps
SM_OP float sm_emulate_round(float f, int mode)
{
    switch (mode & 7) {
    case 1: return floorf(f);
    case 2: return ceilf(f);
    case 3: return truncf(f);
    default: return nearbyintf(f); /* 0, and 4: as MXCSR says */
    }
}
#define SM_ROUND(name, V, n)                                                                                           \
    SM_OP V name(V a, int mode)                                                                                        \
    {                                                                                                                  \
        float x[n];                                                                                                    \
        memcpy(x, &a, sizeof x);                                                                                       \
        for (int i = 0; i < (n); i++) x[i] = sm_emulate_round(x[i], mode);                                             \
        memcpy(&a, x, sizeof a);                                                                                       \
        return a;                                                                                                      \
    }
SM_ROUND(_mm_round_ps, __m128, 4)
SM_ROUND(_mm256_round_ps, __m256, 8)

/* a times 2 to the floor of b; SIMDe flushes denormals. */
SM_OP float sm_emulate_scalef(float a, float b)
{
    if (isnan(a) && isinf(b)) return b > 0 ? INFINITY : 0; /* of a quiet NaN; so says the manual's table */
    if (isnan(a) || isnan(b)) return NAN;
    if (isinf(b)) return b > 0 ? (a == 0 ? NAN : a * INFINITY) : isinf(a) ? NAN : copysignf(0, a);
    b = floorf(b);
    return ldexpf(a, b > 1000 ? 1000 : b < -1000 ? -1000 : (int)b);
}
#define SM_LANES_2(name, V, T, n, expression)                                                                          \
    SM_OP V name(V a, V b)                                                                                             \
    {                                                                                                                  \
        T x[n], y[n];                                                                                                  \
        memcpy(x, &a, sizeof x), memcpy(y, &b, sizeof y);                                                              \
        for (int i = 0; i < (n); i++) x[i] = (T)(expression);                                                          \
        memcpy(&a, x, sizeof a);                                                                                       \
        return a;                                                                                                      \
    }
#undef _mm512_scalef_ps
#undef _mm512_mask_scalef_ps
#undef _mm512_maskz_scalef_ps
SM_LANES_2(_mm512_scalef_ps, __m512, float, 16, sm_emulate_scalef(x[i], y[i]))
SM_MASKED_2(_mm512, scalef_ps, ps, __mmask16, __m512)

/* The sign of zero, which SIMDe drops or keeps where the instruction does not. */
#undef _mm512_abs_ps
#undef _mm256_sign_epi8
#undef _mm_sign_epi8
SM_LANES_1(_mm512_abs_ps, __m512, float, __m512, float, 16, fabsf(x[i]))
SM_LANES_2(_mm256_sign_epi8, __m256i, int8_t, 32, y[i] < 0 ? -x[i] : y[i] ? x[i] : 0)
SM_LANES_2(_mm_sign_epi8, __m128i, int8_t, 16, y[i] < 0 ? -x[i] : y[i] ? x[i] : 0)

/* Conversions. Out of range, and NaN, become the "integer indefinite" value. */
SM_OP int32_t sm_emulate_f32_to_i32(float f)
{
    return f >= -0x1p31f && f < 0x1p31f ? (int32_t)f : INT32_MIN;
}
SM_LANES_1(_mm512_cvtepi32_ps, __m512, float, __m512i, int32_t, 16, x[i])
SM_LANES_1(_mm512_cvtepu32_ps, __m512, float, __m512i, uint32_t, 16, x[i])
SM_LANES_1(_mm512_cvtps_epi32, __m512i, int32_t, __m512, float, 16, sm_emulate_f32_to_i32(nearbyintf(x[i])))
SM_LANES_1(_mm512_cvttps_epi32, __m512i, int32_t, __m512, float, 16, sm_emulate_f32_to_i32(truncf(x[i])))
SM_LANES_1(_mm512_cvtepi8_epi32, __m512i, int32_t, __m128i, int8_t, 16, x[i])
SM_LANES_1(_mm512_cvtepu8_epi32, __m512i, int32_t, __m128i, uint8_t, 16, x[i])
SM_LANES_1(_mm512_cvtepi16_epi32, __m512i, int32_t, __m256i, int16_t, 16, x[i])
SM_LANES_1(_mm512_cvtepu16_epi32, __m512i, int32_t, __m256i, uint16_t, 16, x[i])
SM_LANES_1(_mm512_cvtepu8_epi16, __m512i, int16_t, __m256i, uint8_t, 32, x[i])
SM_LANES_1(_mm512_cvtepi32_epi8, __m128i, int8_t, __m512i, int32_t, 16, x[i])
SM_LANES_1(_mm512_cvtepi32_epi16, __m256i, int16_t, __m512i, int32_t, 16, x[i])
SM_LANES_1(_mm256_cvtepi32_epi8, __m128i, int8_t, __m256i, int32_t, 8, x[i])
SM_LANES_1(_mm256_cvtepi32_epi16, __m128i, int16_t, __m256i, int32_t, 8, x[i])
SM_LANES_1(_mm256_cvtepi16_epi8, __m128i, int8_t, __m256i, int16_t, 16, x[i])
SM_LANES_1(_mm512_cvtusepi32_epi8, __m128i, uint8_t, __m512i, uint32_t, 16, x[i] > 255 ? 255 : x[i])
SM_LANES_1(_mm512_cvtph_ps, __m512, float, __m256i, uint16_t, 16,
           simde_float16_to_float32(simde_uint16_as_float16(x[i])))
/* To nearest even, the only rounding in use; SIMDe loses what a NaN carries. */
SM_OP uint16_t sm_emulate_f32_to_f16(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (isnan(f)) return (uint16_t)((bits >> 16 & 0x8000) | 0x7e00 | (bits >> 13 & 0x3ff));
    return simde_float16_as_uint16(simde_float16_from_float32(f));
}
#undef _mm_cvtps_ph
#undef _mm256_cvtps_ph
SM_LANES_1(sm_emulate_cvtps_ph, __m256i, uint16_t, __m512, float, 16, sm_emulate_f32_to_f16(x[i]))
SM_LANES_1(sm_emulate_256_cvtps_ph, __m128i, uint16_t, __m256, float, 8, sm_emulate_f32_to_f16(x[i]))
SM_LANES_1(sm_emulate_128_cvtps_ph, __m128i, uint16_t, __m128, float, 4, sm_emulate_f32_to_f16(x[i]))
#define _mm512_cvtps_ph(a, rounding) sm_emulate_cvtps_ph(a)
#define _mm512_cvt_roundps_ph(a, rounding) sm_emulate_cvtps_ph(a)
#define _mm256_cvtps_ph(a, rounding) sm_emulate_256_cvtps_ph(a)
#define _mm_cvtps_ph(a, rounding) sm_emulate_128_cvtps_ph(a)
SM_MASKED_1(_mm512, cvtepi32_ps, ps, __mmask16, __m512, __m512i)
SM_MASKED_1(_mm512, cvtps_epi32, epi32, __mmask16, __m512i, __m512)
SM_MASKED_1(_mm512, cvttps_epi32, epi32, __mmask16, __m512i, __m512)
SM_MASKED_1(_mm512, cvtepi8_epi32, epi32, __mmask16, __m512i, __m128i)
SM_MASKED_1(_mm512, cvtepu8_epi32, epi32, __mmask16, __m512i, __m128i)
SM_MASKED_1(_mm512, cvtepi16_epi32, epi32, __mmask16, __m512i, __m256i)
SM_MASKED_1(_mm512, cvtepu8_epi16, epi16, __mmask32, __m512i, __m256i)
SM_MASKED_1(_mm512, cvtepi8_epi16, epi16, __mmask32, __m512i, __m256i)
SM_MASKED_1(_mm512, cvtph_ps, ps, __mmask16, __m512, __m256i)
SM_OP float _cvtsh_ss(uint16_t h)
{
    return simde_float16_to_float32(simde_uint16_as_float16(h));
}
#define _cvtss_sh(f, rounding) sm_emulate_f32_to_f16(f)
SM_OP float _mm512_cvtss_f32(__m512 a)
{
    float f;
    memcpy(&f, &a, sizeof f);
    return f;
}
SM_OP int _mm512_cvtsi512_si32(__m512i a)
{
    int i;
    memcpy(&i, &a, sizeof i);
    return i;
}

/* Masked loads and stores touch only the lanes of the mask. */
#define SM_MASKED_MEMORY(pre, V, K, t, T)                                                                              \
    SM_OP V pre##_mask_loadu_##t(V s, K k, const void *p)                                                              \
    {                                                                                                                  \
        T x[sizeof s / sizeof(T)];                                                                                     \
        memcpy(x, &s, sizeof x);                                                                                       \
        for (size_t i = 0; i < sizeof x / sizeof *x; i++)                                                              \
            if (k >> i & 1) memcpy(x + i, (const char *)p + i * sizeof *x, sizeof *x);                                 \
        memcpy(&s, x, sizeof s);                                                                                       \
        return s;                                                                                                      \
    }                                                                                                                  \
    SM_OP V pre##_maskz_loadu_##t(K k, const void *p)                                                                  \
    {                                                                                                                  \
        V zero;                                                                                                        \
        memset(&zero, 0, sizeof zero);                                                                                 \
        return pre##_mask_loadu_##t(zero, k, p);                                                                       \
    }                                                                                                                  \
    SM_OP void pre##_mask_storeu_##t(void *p, K k, V v)                                                                \
    {                                                                                                                  \
        T x[sizeof v / sizeof(T)];                                                                                     \
        memcpy(x, &v, sizeof x);                                                                                       \
        for (size_t i = 0; i < sizeof x / sizeof *x; i++)                                                              \
            if (k >> i & 1) memcpy((char *)p + i * sizeof *x, x + i, sizeof *x);                                       \
    }
SM_MASKED_MEMORY(_mm512, __m512, __mmask16, ps, float)
SM_MASKED_MEMORY(_mm512, __m512i, __mmask16, epi32, int32_t)
SM_MASKED_MEMORY(_mm512, __m512i, __mmask32, epi16, int16_t)
SM_MASKED_MEMORY(_mm512, __m512i, __mmask64, epi8, int8_t)
SM_MASKED_MEMORY(_mm256, __m256, __mmask8, ps, float)
SM_MASKED_MEMORY(_mm256, __m256i, __mmask8, epi32, int32_t)
SM_MASKED_MEMORY(_mm256, __m256i, __mmask16, epi16, int16_t)
SM_MASKED_MEMORY(_mm256, __m256i, __mmask32, epi8, int8_t)
SM_MASKED_MEMORY(_mm, __m128, __mmask8, ps, float)
SM_MASKED_MEMORY(_mm, __m128i, __mmask8, epi32, int32_t)
SM_MASKED_MEMORY(_mm, __m128i, __mmask8, epi16, int16_t)
SM_MASKED_MEMORY(_mm, __m128i, __mmask16, epi8, int8_t)
/* The masks of AVX and AVX2 are the signs of a vector's lanes; SIMDe loads all lanes and then clears some. */
#undef _mm256_maskload_ps
#undef _mm256_maskload_epi32
#undef _mm_maskload_ps
#undef _mm_maskload_epi32
#define SM_MASKLOAD(pre, t, V, M)                                                                                      \
    SM_OP V pre##_maskload_##t(const void *p, M mask)                                                                  \
    {                                                                                                                  \
        int32_t m[sizeof mask / 4];                                                                                    \
        __mmask8 k = 0;                                                                                                \
        memcpy(m, &mask, sizeof m);                                                                                    \
        for (size_t i = 0; i < sizeof m / 4; i++) k |= (__mmask8)((m[i] < 0) << i);                                    \
        return pre##_maskz_loadu_##t(k, p);                                                                            \
    }
SM_MASKLOAD(_mm256, ps, __m256, __m256i)
SM_MASKLOAD(_mm256, epi32, __m256i, __m256i)
SM_MASKLOAD(_mm, ps, __m128, __m128i)
SM_MASKLOAD(_mm, epi32, __m128i, __m128i)
SM_OP void _mm512_mask_cvtepi32_storeu_epi8(void *p, __mmask16 k, __m512i a)
{
    _mm_mask_storeu_epi8(p, k, _mm512_cvtepi32_epi8(a));
}
SM_OP void _mm512_mask_cvtepi32_storeu_epi16(void *p, __mmask16 k, __m512i a)
{
    _mm256_mask_storeu_epi16(p, k, _mm512_cvtepi32_epi16(a));
}
SM_OP void _mm512_stream_ps(float *p, __m512 a)
{
    memcpy(p, &a, sizeof a);
}
SM_OP void _mm512_stream_si512(void *p, __m512i a)
{
    memcpy(p, &a, sizeof a);
}

/* Reductions, in the order of the compilers: halves onto halves. */
#define SM_REDUCE(op, t, V, T, n, K, expression, neutral)                                                              \
    SM_OP T _mm512_reduce_##op##_##t(V a)                                                                              \
    {                                                                                                                  \
        T x[n];                                                                                                        \
        memcpy(x, &a, sizeof x);                                                                                       \
        for (int half = (n) / 2; half; half /= 2)                                                                      \
            for (int i = 0; i < half; i++) x[i] = expression;                                                          \
        return x[0];                                                                                                   \
    }                                                                                                                  \
    SM_OP T _mm512_mask_reduce_##op##_##t(K k, V a)                                                                    \
    {                                                                                                                  \
        T x[n];                                                                                                        \
        memcpy(x, &a, sizeof x);                                                                                       \
        for (int i = 0; i < (n); i++)                                                                                  \
            if (!(k >> i & 1)) x[i] = neutral;                                                                         \
        memcpy(&a, x, sizeof a);                                                                                       \
        return _mm512_reduce_##op##_##t(a);                                                                            \
    }
SM_REDUCE(add, ps, __m512, float, 16, __mmask16, x[i] + x[i + half], 0)
SM_REDUCE(mul, ps, __m512, float, 16, __mmask16, x[i] * x[i + half], 1)
SM_REDUCE(max, ps, __m512, float, 16, __mmask16, x[i + half] > x[i] ? x[i + half] : x[i], -INFINITY)
SM_REDUCE(min, ps, __m512, float, 16, __mmask16, x[i + half] < x[i] ? x[i + half] : x[i], INFINITY)
SM_REDUCE(max, epi32, __m512i, int32_t, 16, __mmask16, x[i + half] > x[i] ? x[i + half] : x[i], INT32_MIN)
SM_REDUCE(min, epi32, __m512i, int32_t, 16, __mmask16, x[i + half] < x[i] ? x[i + half] : x[i], INT32_MAX)
SM_REDUCE(or, epi32, __m512i, int32_t, 16, __mmask16, x[i] | x[i + half], 0)
SM_OP int _mm512_reduce_add_epi32(__m512i a)
{
    uint32_t x[16], sum = 0;
    memcpy(x, &a, sizeof x);
    for (int i = 0; i < 16; i++) sum += x[i];
    return (int)sum;
}

/* Comparisons into masks. */
#define SM_COMPARE(pre, V, K, t, T)                                                                                    \
    SM_OP K pre##_cmp_##t##_mask(V a, V b, int predicate)                                                              \
    {                                                                                                                  \
        T x[sizeof a / sizeof(T)], y[sizeof a / sizeof(T)];                                                            \
        K k = 0;                                                                                                       \
        memcpy(x, &a, sizeof x), memcpy(y, &b, sizeof y);                                                              \
        for (size_t i = 0; i < sizeof x / sizeof *x; i++) {                                                            \
            const int lt = x[i] < y[i], eq = x[i] == y[i];                                                             \
            const int yes[8] = {eq, lt, lt | eq, 0, !eq, !lt, !(lt | eq), 1};                                          \
            k |= (K)((K)yes[predicate & 7] << i);                                                                      \
        }                                                                                                              \
        return k;                                                                                                      \
    }                                                                                                                  \
    SM_OP K pre##_mask_cmp_##t##_mask(K k, V a, V b, int predicate)                                                    \
    {                                                                                                                  \
        return k & pre##_cmp_##t##_mask(a, b, predicate);                                                              \
    }
SM_COMPARE(_mm512, __m512i, __mmask16, epi32, int32_t)
SM_COMPARE(_mm512, __m512i, __mmask16, epu32, uint32_t)
SM_COMPARE(_mm512, __m512i, __mmask32, epi16, int16_t)
SM_COMPARE(_mm512, __m512i, __mmask64, epi8, int8_t)
SM_COMPARE(_mm512, __m512i, __mmask64, epu8, uint8_t)
SM_COMPARE(_mm256, __m256i, __mmask8, epi32, int32_t)
SM_COMPARE(_mm256, __m256i, __mmask32, epi8, int8_t)
#define _mm512_cmplt_epi32_mask(a, b) _mm512_cmp_epi32_mask(a, b, 1)
#define _mm512_cmpneq_epi32_mask(a, b) _mm512_cmp_epi32_mask(a, b, 4)
#define _mm256_cmpeq_epi32_mask(a, b) _mm256_cmp_epi32_mask(a, b, 0)
#define _mm256_cmplt_epi32_mask(a, b) _mm256_cmp_epi32_mask(a, b, 1)
#define _mm256_cmpgt_epi32_mask(a, b) _mm256_cmp_epi32_mask(a, b, 6)
#define _mm512_cmpneq_epi8_mask(a, b) _mm512_cmp_epi8_mask(a, b, 4)
#define _mm512_mask_cmp_ps_mask(k, a, b, predicate) ((__mmask16)((k)&_mm512_cmp_ps_mask(a, b, predicate)))
#define _mm512_cmple_ps_mask(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LE_OS)
#define _mm512_cmpneq_ps_mask(a, b) _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ)
#define _mm512_cmpord_ps_mask(a, b) _mm512_cmp_ps_mask(a, b, _CMP_ORD_Q)
#define _mm512_cmpunord_ps_mask(a, b) _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q)

/* Masks. */
#define SM_MASK_OPS(bits)                                                                                              \
    SM_OP __mmask##bits _kand_mask##bits(__mmask##bits a, __mmask##bits b)                                             \
    {                                                                                                                  \
        return a & b;                                                                                                  \
    }                                                                                                                  \
    SM_OP __mmask##bits _kor_mask##bits(__mmask##bits a, __mmask##bits b)                                              \
    {                                                                                                                  \
        return a | b;                                                                                                  \
    }                                                                                                                  \
    SM_OP __mmask##bits _kxor_mask##bits(__mmask##bits a, __mmask##bits b)                                             \
    {                                                                                                                  \
        return a ^ b;                                                                                                  \
    }                                                                                                                  \
    SM_OP __mmask##bits _knot_mask##bits(__mmask##bits a)                                                              \
    {                                                                                                                  \
        return (__mmask##bits) ~a;                                                                                     \
    }                                                                                                                  \
    SM_OP __mmask##bits _kandn_mask##bits(__mmask##bits a, __mmask##bits b)                                            \
    {                                                                                                                  \
        return (__mmask##bits)(~a & b);                                                                                \
    }                                                                                                                  \
    SM_OP uint8_t _kortestz_mask##bits##_u8(__mmask##bits a, __mmask##bits b)                                          \
    {                                                                                                                  \
        return !(a | b);                                                                                               \
    }
SM_MASK_OPS(8)
SM_MASK_OPS(16)
SM_MASK_OPS(32)
SM_MASK_OPS(64)
#define _cvtu32_mask16(x) ((__mmask16)(x))
#define _cvtmask16_u32(k) ((uint32_t)(k))
#define _cvtu32_mask8(x) ((__mmask8)(x))
#define _cvtu32_mask32(x) ((__mmask32)(x))
#define _cvtu64_mask64(x) ((__mmask64)(x))
#define _cvtmask64_u64(k) ((uint64_t)(k))
#define _mm512_kunpackb(a, b) ((__mmask16)(((a)&255) << 8 | ((b)&255)))

/* SIMDe's alias for it takes the operands of the masked form. */
#undef _mm512_madd_epi16
#define _mm512_madd_epi16(a, b) simde_mm512_madd_epi16(a, b)

/* Moving lanes. */
#define SM_SHUFFLE(name, V, T, n, expression)                                                                          \
    SM_OP V name(V a, V b, int imm)                                                                                    \
    {                                                                                                                  \
        T x[n], y[n], z[n];                                                                                            \
        memcpy(x, &a, sizeof x), memcpy(y, &b, sizeof y);                                                              \
        for (int i = 0; i < (n); i++) z[i] = expression;                                                               \
        memcpy(&a, z, sizeof a);                                                                                       \
        return a;                                                                                                      \
    }
SM_SHUFFLE(_mm512_shuffle_f32x4, __m512, float, 16, (i < 8 ? x : y)[(imm >> i / 4 * 2 & 3) * 4 + i % 4])
SM_SHUFFLE(_mm512_shuffle_i64x2, __m512i, int64_t, 8, (i < 4 ? x : y)[(imm >> i / 2 * 2 & 3) * 2 + i % 2])
SM_SHUFFLE(_mm512_alignr_epi32, __m512i, int32_t, 16, i + (imm & 15) < 16 ? y[i + (imm & 15)] : x[i + (imm & 15) - 16])
SM_SHUFFLE(sm_emulate_shuffle_epi32, __m512i, int32_t, 16, ((void)y, x[i / 4 * 4 + (imm >> i % 4 * 2 & 3)]))
SM_SHUFFLE(sm_emulate_permute_ps, __m512, float, 16, ((void)y, x[i / 4 * 4 + (imm >> i % 4 * 2 & 3)]))
SM_SHUFFLE(sm_emulate_srai_epi32, __m512i, int32_t, 16, ((void)y, x[i] >> (imm > 31 ? 31 : imm)))
#define _mm512_shuffle_epi32(a, imm) sm_emulate_shuffle_epi32(a, a, imm)
#define _mm512_permute_ps(a, imm) sm_emulate_permute_ps(a, a, imm)
#define _mm512_srai_epi32(a, imm) sm_emulate_srai_epi32(a, a, (int)(imm))
SM_OP __m256 _mm512_extractf32x8_ps(__m512 a, int imm)
{
    __m256 r;
    memcpy(&r, (const char *)&a + (imm & 1) * 32, sizeof r);
    return r;
}
SM_OP __m256i _mm512_extracti32x8_epi32(__m512i a, int imm)
{
    __m256i r;
    memcpy(&r, (const char *)&a + (imm & 1) * 32, sizeof r);
    return r;
}
#define SM_WIDEN(name, To, From)                                                                                       \
    SM_OP To name(From a)                                                                                              \
    {                                                                                                                  \
        To r;                                                                                                          \
        memset(&r, 0, sizeof r);                                                                                       \
        memcpy(&r, &a, sizeof a);                                                                                      \
        return r;                                                                                                      \
    }
SM_WIDEN(_mm512_zextps256_ps512, __m512, __m256)
SM_WIDEN(_mm512_zextps128_ps512, __m512, __m128)
SM_WIDEN(_mm512_zextsi256_si512, __m512i, __m256i)
SM_WIDEN(_mm512_zextsi128_si512, __m512i, __m128i)
#define _mm512_undefined_ps() _mm512_setzero_ps()
#define _mm512_undefined_epi32() _mm512_setzero_si512()

/* Gathers; no lane of a full gather is masked. */
#define SM_GATHER(name, V, T, I, n)                                                                                    \
    SM_OP V name(I index, const void *base, int scale)                                                                 \
    {                                                                                                                  \
        int32_t at[n];                                                                                                 \
        T x[n];                                                                                                        \
        memcpy(at, &index, sizeof at);                                                                                 \
        for (int i = 0; i < (n); i++) memcpy(x + i, (const char *)base + (int64_t)at[i] * scale, sizeof *x);           \
        V r;                                                                                                           \
        memcpy(&r, x, sizeof r);                                                                                       \
        return r;                                                                                                      \
    }
SM_GATHER(_mm512_i32gather_ps, __m512, float, __m512i, 16)
SM_GATHER(_mm512_i32gather_epi32, __m512i, int32_t, __m512i, 16)

/* Masked forms on 256 and 128 bits. */
SM_MASKED_2(_mm256, add_ps, ps, __mmask8, __m256)
SM_MASKED_2(_mm256, sub_ps, ps, __mmask8, __m256)
SM_MASKED_2(_mm256, mul_ps, ps, __mmask8, __m256)
SM_MASKED_2(_mm256, div_ps, ps, __mmask8, __m256)
SM_MASKED_2(_mm256, max_ps, ps, __mmask8, __m256)
SM_MASKED_2(_mm256, min_ps, ps, __mmask8, __m256)

#endif
