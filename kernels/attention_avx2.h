/* attention_avx2.h - the vector operations that attention_tiles_body.h and attention_body.h are written in, eight
 * floats wide. For files compiled with AVX2, FMA and F16C; attention_avx512.h has the same names sixteen wide. */
#ifndef SM_ATTENTION_AVX2_H
#define SM_ATTENTION_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "vector_math_avx2.h"

#define VEC_WIDTH 8
#define TILE_ROWS 6 /* of the outer product: 6 x 2 sums, 2 operands and a broadcast fill 15 of 16 registers */
#define TILE_VECS 2

typedef __m256 vec;

static inline vec vec_zero(void)
{
    return _mm256_setzero_ps();
}

static inline vec vec_set(float x)
{
    return _mm256_set1_ps(x);
}

static inline vec vec_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

static inline void vec_store(float *p, vec x)
{
    _mm256_storeu_ps(p, x);
}

/* The first `count` of a vector, the rest zero. */
static inline vec vec_load_part(const float *p, size_t count)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lane));
}

static inline vec vec_load_f16(const uint16_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}

static inline vec vec_load_i8(const int8_t *p)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}

static inline vec vec_load_i16(const int16_t *p)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p)));
}

/* A head_dim is a multiple of eight: no vector ends in a half. */
static inline vec vec_load_half(const float *p)
{
    return vec_load(p);
}

static inline vec vec_load_half_f16(const uint16_t *p)
{
    return vec_load_f16(p);
}

static inline vec vec_load_half_i16(const int16_t *p)
{
    return vec_load_i16(p);
}

static inline vec vec_load_half_i8(const int8_t *p)
{
    return vec_load_i8(p);
}

static inline vec vec_add(vec a, vec b)
{
    return _mm256_add_ps(a, b);
}

static inline vec vec_sub(vec a, vec b)
{
    return _mm256_sub_ps(a, b);
}

static inline vec vec_mul(vec a, vec b)
{
    return _mm256_mul_ps(a, b);
}

static inline vec vec_div(vec a, vec b)
{
    return _mm256_div_ps(a, b);
}

static inline vec vec_max(vec a, vec b)
{
    return _mm256_max_ps(a, b);
}

/* a * b + c, rounded once */
static inline vec vec_fma(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

static inline vec vec_exp2(vec x)
{
    return sm_exp2_avx2(x);
}

static inline vec vec_tanh(vec x)
{
    return sm_tanh_avx2(x);
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
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)) != 0;
}

static inline float vec_largest(vec x)
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

static inline float vec_sum(vec x)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

/* Lane i of the result is the sum of the lanes of x[i]. */
static inline vec vec_sums(const vec x[VEC_WIDTH])
{
    const __m256 low = _mm256_hadd_ps(_mm256_hadd_ps(x[0], x[1]), _mm256_hadd_ps(x[2], x[3]));
    const __m256 high = _mm256_hadd_ps(_mm256_hadd_ps(x[4], x[5]), _mm256_hadd_ps(x[6], x[7]));
    return _mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31));
}

/* Rows become columns. */
static inline void vec_transpose(vec x[VEC_WIDTH])
{
    __m256 t[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int c = 0; c < 2; c++) {
            x[i + 2 * c] = _mm256_shuffle_ps(t[i + c], t[i + 2 + c], 0x44);
            x[i + 2 * c + 1] = _mm256_shuffle_ps(t[i + c], t[i + 2 + c], 0xee);
        }
    for (int c = 0; c < 4; c++) {
        t[c] = _mm256_permute2f128_ps(x[c], x[4 + c], 0x20);
        t[4 + c] = _mm256_permute2f128_ps(x[c], x[4 + c], 0x31);
    }
    for (int c = 0; c < 8; c++) x[c] = t[c];
}

#endif
