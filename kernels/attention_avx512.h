/* attention_avx512.h - the vector operations that attention_tiles_body.h and attention_body.h are written in,
 * sixteen floats wide. For files compiled with AVX-512; attention_avx2.h has the same names eight wide. */
#ifndef SM_ATTENTION_AVX512_H
#define SM_ATTENTION_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "vector_math_avx512.h"

#define VEC_WIDTH 16
#define TILE_ROWS 6 /* of the outer product: 6 x 4 sums, 4 operands and a broadcast fill 29 of 32 registers */
#define TILE_VECS 4

typedef __m512 vec;

static inline vec vec_zero(void)
{
    return _mm512_setzero_ps();
}

static inline vec vec_set(float x)
{
    return _mm512_set1_ps(x);
}

static inline vec vec_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

static inline void vec_store(float *p, vec x)
{
    _mm512_storeu_ps(p, x);
}

/* The first `count` of a vector, the rest zero. */
static inline vec vec_load_part(const float *p, size_t count)
{
    return _mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), p);
}

static inline vec vec_load_f16(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

static inline vec vec_load_i8(const int8_t *p)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}

static inline vec vec_load_i16(const int16_t *p)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)p)));
}

/* Eight elements, as a head_dim that is no multiple of sixteen ends; the rest zero. */
static inline vec vec_load_half(const float *p)
{
    return vec_load_part(p, 8);
}

static inline vec vec_load_half_f16(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_zextsi128_si256(_mm_loadu_si128((const __m128i *)p)));
}

static inline vec vec_load_half_i16(const int16_t *p)
{
    const __m256i few = _mm256_zextsi128_si256(_mm_loadu_si128((const __m128i *)p));
    return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(few));
}

static inline vec vec_load_half_i8(const int8_t *p)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}

static inline vec vec_add(vec a, vec b)
{
    return _mm512_add_ps(a, b);
}

static inline vec vec_sub(vec a, vec b)
{
    return _mm512_sub_ps(a, b);
}

static inline vec vec_mul(vec a, vec b)
{
    return _mm512_mul_ps(a, b);
}

static inline vec vec_div(vec a, vec b)
{
    return _mm512_div_ps(a, b);
}

static inline vec vec_max(vec a, vec b)
{
    return _mm512_max_ps(a, b);
}

/* a * b + c, rounded once */
static inline vec vec_fma(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

static inline vec vec_exp2(vec x)
{
    return sm_exp2_avx512(x);
}

static inline vec vec_tanh(vec x)
{
    return sm_tanh_avx512(x);
}

/* The cache line at p will be read soon, from the second-level cache. Any address will do.
 * gcc 12 takes a function that does nothing else for one without effect, and its calls away, unless it is inlined
 * first. */
static inline __attribute__((always_inline)) void vec_fetch(const void *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T1);
}

/* Whether any lane of a is above the lane of b. */
static inline int vec_any_above(vec a, vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) != 0;
}

static inline float vec_largest(vec x)
{
    return _mm512_reduce_max_ps(x);
}

static inline float vec_sum(vec x)
{
    return _mm512_reduce_add_ps(x);
}

/* Lane i of the result is the sum of the lanes of x[i]. */
static inline vec vec_sums(const vec x[VEC_WIDTH])
{
    __m512 pair[8], quad[4];
    for (int i = 0; i < 8; i++)
        pair[i] = _mm512_add_ps(_mm512_unpacklo_ps(x[2 * i], x[2 * i + 1]), _mm512_unpackhi_ps(x[2 * i], x[2 * i + 1]));
    for (int i = 0; i < 4; i++) {
        const __m512d a = _mm512_castps_pd(pair[2 * i]), b = _mm512_castps_pd(pair[2 * i + 1]);
        quad[i] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
    }
    const __m512 low =
        _mm512_add_ps(_mm512_shuffle_f32x4(quad[0], quad[1], 0x88), _mm512_shuffle_f32x4(quad[0], quad[1], 0xdd));
    const __m512 high =
        _mm512_add_ps(_mm512_shuffle_f32x4(quad[2], quad[3], 0x88), _mm512_shuffle_f32x4(quad[2], quad[3], 0xdd));
    return _mm512_add_ps(_mm512_shuffle_f32x4(low, high, 0x88), _mm512_shuffle_f32x4(low, high, 0xdd));
}

/* Rows become columns. */
static inline void vec_transpose(vec x[VEC_WIDTH])
{
    __m512 t[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
    }
    /* x[4 i + c]: in each 128-bit lane l, column 4 l + c of rows 4 i .. 4 i + 3 */
    for (int i = 0; i < 16; i += 4)
        for (int c = 0; c < 2; c++) {
            const __m512d a = _mm512_castps_pd(t[i + c]), b = _mm512_castps_pd(t[i + 2 + c]);
            x[i + 2 * c] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
            x[i + 2 * c + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
        }
    for (int c = 0; c < 4; c++) {
        t[c] = _mm512_shuffle_f32x4(x[c], x[4 + c], 0x88);
        t[4 + c] = _mm512_shuffle_f32x4(x[c], x[4 + c], 0xdd);
        t[8 + c] = _mm512_shuffle_f32x4(x[8 + c], x[12 + c], 0x88);
        t[12 + c] = _mm512_shuffle_f32x4(x[8 + c], x[12 + c], 0xdd);
    }
    for (int c = 0; c < 4; c++) {
        x[c] = _mm512_shuffle_f32x4(t[c], t[8 + c], 0x88);
        x[4 + c] = _mm512_shuffle_f32x4(t[4 + c], t[12 + c], 0x88);
        x[8 + c] = _mm512_shuffle_f32x4(t[c], t[8 + c], 0xdd);
        x[12 + c] = _mm512_shuffle_f32x4(t[4 + c], t[12 + c], 0xdd);
    }
}

/* to[d][j] = slot[j][d] for sixteen slots of half floats and the first 32 of `left` >= 8 elements, in a register for
 * each slot: three stages inside the eights of 128 bits, and one that puts slots 8..15 beside 0..7. */
static inline void transpose_halves(uint16_t *to, size_t to_stride, const uint16_t *const slot[16], size_t left)
{
    const __mmask32 there = left >= 32 ? ~(__mmask32)0 : ((__mmask32)1 << left) - 1;
    const __m512i even = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                  odd = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    __m512i x[16];
#pragma GCC unroll 2
    for (int h = 0; h < 16; h += 8) {
        __m512i s[8], t[8];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const __m512i a = _mm512_maskz_loadu_epi16(there, slot[h + i]);
            const __m512i b = _mm512_maskz_loadu_epi16(there, slot[h + i + 4]);
            s[2 * i] = _mm512_unpacklo_epi16(a, b);
            s[2 * i + 1] = _mm512_unpackhi_epi16(a, b);
        }
        /* s: elements 0..3 or 4..7 of slots i, i + 4; next those of slots i, i + 2, i + 4, i + 6; then of all eight */
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++)
#pragma GCC unroll 2
            for (int c = 0; c < 2; c++) {
                t[4 * i + 2 * c] = _mm512_unpacklo_epi16(s[2 * i + c], s[2 * i + 4 + c]);
                t[4 * i + 2 * c + 1] = _mm512_unpackhi_epi16(s[2 * i + c], s[2 * i + 4 + c]);
            }
#pragma GCC unroll 4
        for (int c = 0; c < 4; c++) {
            x[h + 2 * c] = _mm512_unpacklo_epi16(t[c], t[4 + c]);
            x[h + 2 * c + 1] = _mm512_unpackhi_epi16(t[c], t[4 + c]);
        }
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < 8; r++) {
        const __m512i low = _mm512_permutex2var_epi64(x[r], even, x[8 + r]);
        const __m512i high = _mm512_permutex2var_epi64(x[r], odd, x[8 + r]);
        _mm256_storeu_si256((__m256i *)(void *)(to + r * to_stride), _mm512_castsi512_si256(low));
        if (left > 8)
            _mm256_storeu_si256((__m256i *)(void *)(to + (8 + r) * to_stride), _mm512_extracti64x4_epi64(low, 1));
        if (left > 16)
            _mm256_storeu_si256((__m256i *)(void *)(to + (16 + r) * to_stride), _mm512_castsi512_si256(high));
        if (left > 24)
            _mm256_storeu_si256((__m256i *)(void *)(to + (24 + r) * to_stride), _mm512_extracti64x4_epi64(high, 1));
    }
}

#endif
