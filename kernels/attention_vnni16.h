/* attention_vnni16.h - dot products of float queries with int16 keys in integers. For files compiled with AVX-512 VNNI;
 * attention_vnni.h has the same names for int8.
 *
 * A query is rounded to 16 bits, q = step * (255 high + low) with step = max|q| / 32512, and each of its planes high
 * and low, both in -127..127, multiplied with pairs of keys by vpdpwssd. One product of full int16 would leave room for
 * a single pair in 32 bits; of these 512 * 127 * 32768 < 2^31 fits a whole head, so that integers do not round. */
#ifndef SM_ATTENTION_VNNI16_H
#define SM_ATTENTION_VNNI16_H

#include <immintrin.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "attention_avx512.h"

#define VNNI_BLOCK 64  /* keys worked on at once */
#define VNNI_QUERIES 3 /* at once: 3 x 2 planes x 4 sums, 4 keys and 2 broadcasts fill 30 of 32 registers */

/* Of the planes of one query, which is padded with zeros to a multiple of 16. */
static inline size_t vnni_plane_bytes(size_t head_dim)
{
    return (head_dim + 15) / 16 * 16 * 4;
}

/* planes: for each pair of elements two words of high and two of low. Sums begin at 0. Returns step. */
static inline float vnni_planes(int8_t *planes, int32_t begin[2], const float *q, size_t head_dim)
{
    __m512 most = _mm512_setzero_ps();
    for (size_t d = 0; d < head_dim; d += 16) most = _mm512_max_ps(most, _mm512_abs_ps(_mm512_loadu_ps(q + d)));
    const float largest = _mm512_reduce_max_ps(most);
    const float per_step = largest > 0x1p-100f ? 32512 / largest : 0; /* a query of next to nothing is nothing */
    begin[0] = begin[1] = 0;
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

/* to[d / 2][key] = two elements of the key, for VNNI_BLOCK keys of which `count` are there; the rest repeat the last.
 */
static inline void vnni_keys(uint8_t *to, const int16_t *keys, size_t count, size_t head_dim)
{
    for (size_t j = 0; j < count; j += 16)
        for (size_t d = 0; d < head_dim; d += 32) {
            const size_t left = head_dim - d;
            const __mmask32 there = left >= 32 ? ~(__mmask32)0 : ((__mmask32)1 << left) - 1;
            vec x[16];
            for (size_t i = 0; i < 16; i++) {
                const int16_t *key = keys + (j + i < count ? j + i : count - 1) * head_dim + d;
                x[i] = _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(there, key));
            }
            vec_transpose(x);
            for (size_t i = 0; i < 16; i++)
                _mm512_storeu_ps((float *)(void *)(to + ((d / 2 + i) * VNNI_BLOCK + j) * 4), x[i]);
        }
}

/* Constant numbers of turns, so that gcc 12 and clang 14 both unroll them wholly and keep the sums in registers. */
#define VNNI_EACH_QUERY(i) _Pragma("GCC unroll 3") for (size_t i = 0; i < VNNI_QUERIES; i++) if (i < queries)
#define VNNI_EACH_VEC(v) _Pragma("GCC unroll 4") for (size_t v = 0; v < 4; v++)

/* z[query][key] of `queries` <= VNNI_QUERIES. */
static inline __attribute__((always_inline)) void vnni_tile(const size_t queries, float *z, const int8_t *planes,
                                                            const float *step, const uint8_t *keys, size_t head_dim)
{
    __m512i high[VNNI_QUERIES][4], low[VNNI_QUERIES][4];
    VNNI_EACH_QUERY(i)
    VNNI_EACH_VEC(v) high[i][v] = low[i][v] = _mm512_setzero_si512();
    for (size_t d = 0; d < head_dim; d += 2, keys += 4 * VNNI_BLOCK) {
        __m512i key[4];
        VNNI_EACH_VEC(v) key[v] = _mm512_loadu_si512(keys + v * 64);
        VNNI_EACH_QUERY(i)
        {
            int32_t pair[2];
            memcpy(pair, planes + i * vnni_plane_bytes(head_dim) + 4 * d, sizeof pair);
            const __m512i h = _mm512_set1_epi32(pair[0]), l = _mm512_set1_epi32(pair[1]);
            VNNI_EACH_VEC(v)
            {
                high[i][v] = _mm512_dpwssd_epi32(high[i][v], key[v], h);
                low[i][v] = _mm512_dpwssd_epi32(low[i][v], key[v], l);
            }
        }
    }
    VNNI_EACH_QUERY(i)
    VNNI_EACH_VEC(v)
    {
        const __m512 n =
            _mm512_fmadd_ps(_mm512_cvtepi32_ps(high[i][v]), _mm512_set1_ps(255), _mm512_cvtepi32_ps(low[i][v]));
        _mm512_storeu_ps(z + i * VNNI_BLOCK + v * 16, _mm512_mul_ps(n, _mm512_set1_ps(step[i])));
    }
}

/* z[query][key] = dot of query and key, for a block of keys that vnni_keys laid out. */
static inline void vnni_dots(float *z, const int8_t *planes, const int32_t (*begin)[2], const float *step,
                             size_t queries, const uint8_t *keys, size_t head_dim)
{
    const size_t bytes = vnni_plane_bytes(head_dim);
    size_t i = 0;
    (void)begin;
    for (; i + 3 <= queries && i + 4 != queries; i += 3)
        vnni_tile(3, z + i * VNNI_BLOCK, planes + i * bytes, step + i, keys, head_dim);
    for (; i + 2 <= queries; i += 2) vnni_tile(2, z + i * VNNI_BLOCK, planes + i * bytes, step + i, keys, head_dim);
    if (i < queries) vnni_tile(1, z + i * VNNI_BLOCK, planes + i * bytes, step + i, keys, head_dim);
}

#endif
