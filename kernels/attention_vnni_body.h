/* attention_vnni_body.h - dot products of float queries with int8 or int16 keys (SM_ATTENTION_KV) in integers. For
 * files compiled with AVX-512 VNNI.
 *
 * A query is rounded to 16 bits of step = max|q| / 32512 and cut into two planes, each of which is multiplied with the
 * keys, four bytes of a key at a time: of int8 by vpdpbusd, of int16 by vpdpwssd. Integers do not round.
 *
 * int8: q = step * (256 high + low). vpdpbusd wants one operand unsigned: keys are taken as key + 128, and a sum starts
 * at -128 times the sum of its plane. |sum of (256 high + low) key| is at most 512 * 32512 * 127 < 2^31.
 * int16: q = step * (255 high + low), both in -127..127. A product of full int16 would leave room for a single pair in
 * 32 bits; of these 512 * 127 * 32768 < 2^31 fits a whole head. */
#ifndef SM_ATTENTION_VNNI_H
#define SM_ATTENTION_VNNI_H

#include <immintrin.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "attention_avx512.h"

#define VNNI_BLOCK 64  /* keys worked on at once */
#define VNNI_QUERIES 2 /* at once: 16 sums, 4 keys and 2 broadcasts; of 3 queries, gcc 12 keeps sums in memory */

#if SM_ATTENTION_KV == 15 || defined SM_ATTENTION_AMX
#define VNNI_FLIP 0 /* keys as they are */
#else
#define VNNI_FLIP -128
#endif

#if SM_ATTENTION_KV == 15

/* Of the planes of one query: those of whole registers of keys. */
static inline size_t vnni_plane_bytes(size_t head_dim)
{
    return (head_dim + 31) / 32 * 128;
}

/* planes: for each pair of elements two words of high and two of low, zeros beyond head_dim. Sums begin at 0. Returns
 * step. q is padded with zeros to a multiple of 16. */
static inline float vnni_planes(int8_t *planes, int32_t begin[2], const float *q, size_t head_dim)
{
    __m512 most = _mm512_setzero_ps();
    for (size_t d = 0; d < head_dim; d += 16) most = _mm512_max_ps(most, _mm512_abs_ps(_mm512_loadu_ps(q + d)));
    const float largest = _mm512_reduce_max_ps(most);
    const float per_step = largest > 0x1p-100f ? 32512 / largest : 0; /* a query of next to nothing is nothing */
    begin[0] = begin[1] = 0;
    memset(planes, 0, vnni_plane_bytes(head_dim));
    for (size_t d = 0; d < head_dim; d += 16) {
        const __m512i n = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(q + d), _mm512_set1_ps(per_step)));
        const __m512i high = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(n), _mm512_set1_ps(1.0f / 255)));
        const __m512i low = _mm512_sub_epi32(n, _mm512_mullo_epi32(high, _mm512_set1_epi32(255)));
        const __m256i h = _mm512_cvtepi32_epi16(high), l = _mm512_cvtepi32_epi16(low);
        /* pairs of words interleaved within 128-bit lanes, which are then put in order */
        const __m256i first = _mm256_unpacklo_epi32(h, l), second = _mm256_unpackhi_epi32(h, l);
        _mm256_storeu_si256((__m256i *)(void *)(planes + 4 * d), _mm256_permute2x128_si256(first, second, 0x20));
        _mm256_storeu_si256((__m256i *)(void *)(planes + 4 * d + 32), _mm256_permute2x128_si256(first, second, 0x31));
    }
    return largest / 32512;
}

static inline __m512i vnni_add_products(__m512i sum, __m512i keys, __m512i plane)
{
    return _mm512_dpwssd_epi32(sum, keys, plane);
}

static inline __m512 vnni_total(__m512i high, __m512i low)
{
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(high), _mm512_set1_ps(255), _mm512_cvtepi32_ps(low));
}

#else

/* Of the planes of one query: those of whole registers of keys. */
static inline size_t vnni_plane_bytes(size_t head_dim)
{
    return (head_dim + 63) / 64 * 128;
}

/* planes: for each four elements four bytes of high and four of low, zeros beyond head_dim. begin: what the sums of
 * high and low start with. Returns step. q is padded with zeros to a multiple of 16. */
static inline float vnni_planes(int8_t *planes, int32_t begin[2], const float *q, size_t head_dim)
{
    __m512 most = _mm512_setzero_ps();
    for (size_t d = 0; d < head_dim; d += 16) most = _mm512_max_ps(most, _mm512_abs_ps(_mm512_loadu_ps(q + d)));
    const float largest = _mm512_reduce_max_ps(most);
    const float per_step = largest > 0x1p-100f ? 32512 / largest : 0; /* a query of next to nothing is nothing */
    __m512i high_sum = _mm512_setzero_si512(), low_sum = high_sum;
    memset(planes, 0, vnni_plane_bytes(head_dim));
    for (size_t d = 0; d < head_dim; d += 16) {
        const __m512i n = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(q + d), _mm512_set1_ps(per_step)));
        const __m512i high = _mm512_srai_epi32(_mm512_add_epi32(n, _mm512_set1_epi32(128)), 8);
        const __m512i low = _mm512_sub_epi32(n, _mm512_slli_epi32(high, 8));
        high_sum = _mm512_add_epi32(high_sum, high);
        low_sum = _mm512_add_epi32(low_sum, low);
        const __m128i h = _mm512_cvtepi32_epi8(high), l = _mm512_cvtepi32_epi8(low);
#ifdef SM_ATTENTION_AMX /* one plane after the other */
        _mm_storeu_si128((__m128i *)(planes + d), h);
        _mm_storeu_si128((__m128i *)(planes + vnni_plane_bytes(head_dim) / 2 + d), l);
#else
        _mm_storeu_si128((__m128i *)(planes + 2 * d), _mm_unpacklo_epi32(h, l));
        _mm_storeu_si128((__m128i *)(planes + 2 * d + 16), _mm_unpackhi_epi32(h, l));
#endif
    }
    /* unsigned, so that a query that is no number gives a wrong answer and not an undefined one */
    begin[0] = (int32_t)(0u - 128u * (uint32_t)_mm512_reduce_add_epi32(high_sum));
    begin[1] = (int32_t)(0u - 128u * (uint32_t)_mm512_reduce_add_epi32(low_sum));
    return largest / 32512;
}

static inline __m512i vnni_add_products(__m512i sum, __m512i keys, __m512i plane)
{
    return _mm512_dpbusd_epi32(sum, keys, plane);
}

static inline __m512 vnni_total(__m512i high, __m512i low)
{
    return _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_slli_epi32(high, 8), low));
}

#endif

/* to[n][key] = the n-th four of key_bytes bytes of a key, those of int8 plus 128, for VNNI_BLOCK keys of which `count`
 * are there; the rest repeat the last. */
static inline void vnni_keys(uint8_t *to, const void *keys, size_t count, size_t key_bytes)
{
    const __m512 flip = _mm512_castsi512_ps(_mm512_set1_epi8(VNNI_FLIP));
    for (size_t j = 0; j < count; j += 16)
        for (size_t at = 0; at < key_bytes; at += 64) {
            const size_t left = key_bytes - at;
            const __mmask64 there = left >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << left) - 1;
            vec x[16];
            for (size_t i = 0; i < 16; i++) {
                const uint8_t *key = (const uint8_t *)keys + (j + i < count ? j + i : count - 1) * key_bytes + at;
                x[i] = _mm512_xor_ps(flip, _mm512_castsi512_ps(_mm512_maskz_loadu_epi8(there, key)));
            }
            vec_transpose(x);
            for (size_t i = 0; i < 16; i++)
                _mm512_storeu_ps((float *)(void *)(to + ((at / 4 + i) * VNNI_BLOCK + j) * 4), x[i]);
        }
}

/* Constant numbers of turns, so that gcc 12 and clang 14 both unroll them wholly and keep the sums in registers. */
#define VNNI_EACH_QUERY(i) _Pragma("GCC unroll 2") for (size_t i = 0; i < VNNI_QUERIES; i++) if (i < queries)
#define VNNI_EACH_VEC(v) _Pragma("GCC unroll 4") for (size_t v = 0; v < 4; v++)

/* Four bytes for each lane. Each four are loaded for themselves: gcc 12 takes two neighbours through a scalar register.
 */
static inline __m512i vnni_four(const void *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm512_set1_epi32(four);
}

/* z[query][key] of `queries` <= VNNI_QUERIES. */
static inline __attribute__((always_inline)) void vnni_tile(const size_t queries, float *z, const int8_t *planes,
                                                            const int32_t (*begin)[2], const float *step,
                                                            const uint8_t *keys, size_t head_dim)
{
    const size_t stride = vnni_plane_bytes(head_dim), key_bytes = head_dim * sizeof(attention_element);
    __m512i high[VNNI_QUERIES][4], low[VNNI_QUERIES][4];
    VNNI_EACH_QUERY(i)
    VNNI_EACH_VEC(v)
    {
        high[i][v] = _mm512_set1_epi32(begin[i][0]);
        low[i][v] = _mm512_set1_epi32(begin[i][1]);
    }
    for (size_t at = 0; at < key_bytes; at += 4, keys += 4 * VNNI_BLOCK) {
        __m512i key[4];
        VNNI_EACH_VEC(v) key[v] = _mm512_loadu_si512(keys + v * 64);
        VNNI_EACH_QUERY(i)
        {
            const __m512i h = vnni_four(planes + i * stride + 2 * at), l = vnni_four(planes + i * stride + 2 * at + 4);
            VNNI_EACH_VEC(v)
            {
                high[i][v] = vnni_add_products(high[i][v], key[v], h);
                low[i][v] = vnni_add_products(low[i][v], key[v], l);
            }
        }
    }
    VNNI_EACH_QUERY(i)
    VNNI_EACH_VEC(v)
    _mm512_storeu_ps(z + i * VNNI_BLOCK + v * 16,
                     _mm512_mul_ps(vnni_total(high[i][v], low[i][v]), _mm512_set1_ps(step[i])));
}

/* z[query][key] = dot of query and key, for a block of keys that vnni_keys laid out. */
static inline void vnni_dots(float *z, const int8_t *planes, const int32_t (*begin)[2], const float *step,
                             size_t queries, const uint8_t *keys, size_t head_dim)
{
    const size_t stride = vnni_plane_bytes(head_dim);
    size_t i = 0;
    for (; i + 2 <= queries; i += 2)
        vnni_tile(2, z + i * VNNI_BLOCK, planes + i * stride, begin + i, step + i, keys, head_dim);
    if (i < queries) vnni_tile(1, z + i * VNNI_BLOCK, planes + i * stride, begin + i, step + i, keys, head_dim);
}

#endif
