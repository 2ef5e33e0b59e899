/* attention_vnni_values_body.h - weighted sums of int8 values in integers. For files compiled with AVX-512 VNNI.
 *
 * The weights of a block of 64 slots, each times the scale of its value, are rounded to 16 bits of a step that is a
 * power of two, the largest of them in 32768..65535 steps: off by half a step, or by one where 65535 is the limit, and
 * so by at most 2^-16 of the largest. Weights of 0 and a step that is a power of two leave sums exact where they were,
 * and each block is rounded for itself: what others hold or whether they are skipped changes nothing here. High and low
 * bytes are each multiplied with the values by vpdpbusd, four slots at a time, and |sum of (256 high + low) value| is
 * at most 64 * 65535 * 127 < 2^31.
 *
 * The sums of 64 elements lie as the bytes of four slots are interleaved most cheaply: register v holds in its 128 bits
 * l the elements 16 l + 4 v .. 16 l + 4 v + 3. vnni_in_order ends that. */
#ifndef SM_ATTENTION_VNNI_VALUES_H
#define SM_ATTENTION_VNNI_VALUES_H

#include "attention_vnni_body.h"

#define VALUES_IN_INTEGERS
#define VALUES_AT_ONCE 64       /* elements of a head */
#define VALUES_WEIGHT_BYTES 256 /* from the weights of a query to the next: a half for high bytes, one for low */
#define VALUES_QUADS (VNNI_BLOCK / 4)
#define VALUES_RAW_QUERIES 4 /* up to here interleaving for each tile costs less than by way of memory */

/* Puts in the place of the weights of 16 `vecs` slots, which are not negative, 64 high bytes and 64 low ones, of 0
 * where no slot is. The four bytes of slots 4 t .. 4 t + 3 are number 4 (t % 4) + t / 4. Returns step. */
static inline __attribute__((always_inline)) float weights_in_integers(float *weights, const size_t vecs)
{
    uint8_t *const to = (uint8_t *)weights;
    vec w[4], most = vec_zero();
#pragma GCC unroll 4
    for (size_t v = 0; v < 4; v++) {
        w[v] = v < vecs ? vec_load(weights + v * 16) : vec_zero();
        most = vec_max(most, w[v]);
    }
    const float largest = vec_largest(most);
    int32_t exponent;
    memcpy(&exponent, &largest, sizeof exponent);
    exponent >>= 23;
    if (exponent < 16) exponent = 16; /* 2^-111: what weighs less is rounded as it does, by 2^-127 at most */
    const int32_t step_bits = (exponent - 15) << 23, per_step_bits = (2 * 127 + 15 - exponent) << 23;
    float step, per_step;
    memcpy(&step, &step_bits, sizeof step);
    memcpy(&per_step, &per_step_bits, sizeof per_step);
    __m512i n[4];
#pragma GCC unroll 4
    for (size_t v = 0; v < 4; v++) n[v] = _mm512_cvtps_epi32(_mm512_mul_ps(w[v], _mm512_set1_ps(per_step)));
    const __m512i a = _mm512_packus_epi32(n[0], n[1]), b = _mm512_packus_epi32(n[2], n[3]);
    const __m512i low = _mm512_set1_epi16(255);
    _mm512_storeu_si512(to, _mm512_packus_epi16(_mm512_srli_epi16(a, 8), _mm512_srli_epi16(b, 8)));
    _mm512_storeu_si512(to + VALUES_WEIGHT_BYTES / 2,
                        _mm512_packus_epi16(_mm512_and_si512(a, low), _mm512_and_si512(b, low)));
    return step;
}

/* x: the bytes of four slots interleaved, of 64 elements each, those that are not `there` 0. */
static inline __attribute__((always_inline)) void vnni_interleave(__m512i x[4], const int8_t *const slot[4],
                                                                  __mmask64 there)
{
    __m512i y[4], low[2], high[2];
    VNNI_EACH_VEC(i) y[i] = _mm512_maskz_loadu_epi8(there, slot[i]);
    low[0] = _mm512_unpacklo_epi8(y[0], y[1]), low[1] = _mm512_unpacklo_epi8(y[2], y[3]);
    high[0] = _mm512_unpackhi_epi8(y[0], y[1]), high[1] = _mm512_unpackhi_epi8(y[2], y[3]);
    x[0] = _mm512_unpacklo_epi16(low[0], low[1]), x[1] = _mm512_unpackhi_epi16(low[0], low[1]);
    x[2] = _mm512_unpacklo_epi16(high[0], high[1]), x[3] = _mm512_unpackhi_epi16(high[0], high[1]);
}

/* Those of 64 elements from d on that a head has. */
static inline __mmask64 vnni_there(size_t head_dim, size_t d)
{
    return head_dim - d >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << (head_dim - d)) - 1;
}

/* Where the interleaved bytes of slots 4 t .. 4 t + 3 lie. */
static inline size_t vnni_quad_at(size_t t)
{
#ifdef SM_ATTENTION_AMX /* in the order of the weights */
    return 256 * (4 * (t % 4) + t / 4);
#else
    return 256 * t;
#endif
}

/* to[d / 64][slot / 4]: the interleaved bytes of four slots, for whole sixteens of slots that hold first..count, whose
 * values these are; what else is there repeats one of them. Zeros beyond head_dim. */
static inline void vnni_values(uint8_t *to, const int8_t *values, size_t first, size_t count, size_t head_dim)
{
#ifdef SM_ATTENTION_AMX
    const size_t quads = VALUES_QUADS;
#else
    const size_t quads = (count + 15) / 16 * 4;
#endif
    for (size_t d = 0; d < head_dim; d += 64, to += 256 * VALUES_QUADS)
        for (size_t t = 0; t < quads; t++) {
            const int8_t *slot[4];
            __m512i x[4];
            VNNI_EACH_VEC(i)
            {
                const size_t at = 4 * t + i < count ? 4 * t + i : count - 1;
                slot[i] = values + (at > first ? at - first : 0) * head_dim + d;
            }
            vnni_interleave(x, slot, vnni_there(head_dim, d));
            VNNI_EACH_VEC(v) _mm512_storeu_si512(to + vnni_quad_at(t) + 64 * v, x[v]);
        }
}

/* sum[query][64 elements] += step * weighted values, of `queries` <= VNNI_QUERIES and 16 `vecs` slots. Values are laid
 * out (slot_bytes 0), or lie slot_bytes apart and are interleaved here. */
static inline __attribute__((always_inline)) void vnni_value_tile(const size_t queries, float *sum, size_t stride,
                                                                  const uint8_t *weights, const float *step,
                                                                  const uint8_t *values, size_t slot_bytes,
                                                                  __mmask64 there, size_t vecs)
{
    __m512i high[VNNI_QUERIES][4], low[VNNI_QUERIES][4];
    VNNI_EACH_QUERY(i)
    VNNI_EACH_VEC(v) high[i][v] = low[i][v] = _mm512_setzero_si512();
    for (size_t c = 0; c < vecs; c++, weights += 4)
        for (size_t t = 0; t < 4; t++, values += slot_bytes ? 4 * slot_bytes : 256) {
            __m512i value[4];
            if (slot_bytes) {
                const int8_t *slot[4];
                VNNI_EACH_VEC(i) slot[i] = (const int8_t *)values + i * slot_bytes;
                vnni_interleave(value, slot, there);
            } else {
                VNNI_EACH_VEC(v) value[v] = _mm512_loadu_si512(values + v * 64);
            }
            VNNI_EACH_QUERY(i)
            {
                const uint8_t *const four = weights + i * VALUES_WEIGHT_BYTES + 16 * t;
                const __m512i h = vnni_four(four), l = vnni_four(four + VALUES_WEIGHT_BYTES / 2);
                VNNI_EACH_VEC(v)
                {
                    high[i][v] = _mm512_dpbusd_epi32(high[i][v], h, value[v]);
                    low[i][v] = _mm512_dpbusd_epi32(low[i][v], l, value[v]);
                }
            }
        }
    VNNI_EACH_QUERY(i)
    VNNI_EACH_VEC(v)
    {
        const __m512i n = _mm512_add_epi32(_mm512_slli_epi32(high[i][v], 8), low[i][v]);
        float *const to = sum + i * stride + v * 16;
        _mm512_storeu_ps(to, _mm512_fmadd_ps(_mm512_cvtepi32_ps(n), _mm512_set1_ps(step[i]), _mm512_loadu_ps(to)));
    }
}

#define VALUE_TILES(n)                                                                                                 \
    for (size_t d = 0; d < stride; d += VALUES_AT_ONCE)                                                                \
    vnni_value_tile(n, sum + i * stride + d, stride, weights + i * VALUES_WEIGHT_BYTES, step + i, VALUE_TILE_FROM)

/* sum[query] += step * weights[query] * values, for `count` slots that vnni_values laid out; sums have whole 64s. */
static inline void vnni_add_values(float *sum, size_t stride, const uint8_t *weights, const float *step, size_t queries,
                                   const uint8_t *values, size_t count)
{
    const size_t vecs = (count + 15) / 16;
    size_t i = 0;
#define VALUE_TILE_FROM values + d *VNNI_BLOCK, 0, ~(__mmask64)0, vecs
    for (; i + 2 <= queries; i += 2) VALUE_TILES(2);
    if (i < queries) VALUE_TILES(1);
#undef VALUE_TILE_FROM
}

/* The same for a whole block of values as they lie. */
static inline void vnni_add_raw_values(float *sum, size_t stride, const uint8_t *weights, const float *step,
                                       size_t queries, const int8_t *values, size_t head_dim)
{
    size_t i = 0;
#define VALUE_TILE_FROM (const uint8_t *)values + d, head_dim, vnni_there(head_dim, d), VNNI_BLOCK / 16
    for (; i + 2 <= queries; i += 2) VALUE_TILES(2);
    if (i < queries) VALUE_TILES(1);
#undef VALUE_TILE_FROM
}
#undef VALUE_TILES

/* Elements of a finished sum in their order. */
static inline void vnni_in_order(float *sum, size_t stride)
{
    for (size_t d = 0; d < stride; d += VALUES_AT_ONCE, sum += VALUES_AT_ONCE) {
        vec x[4], half[4];
        VNNI_EACH_VEC(v) x[v] = vec_load(sum + v * 16);
        half[0] = _mm512_shuffle_f32x4(x[0], x[1], 0x44), half[1] = _mm512_shuffle_f32x4(x[0], x[1], 0xee);
        half[2] = _mm512_shuffle_f32x4(x[2], x[3], 0x44), half[3] = _mm512_shuffle_f32x4(x[2], x[3], 0xee);
        vec_store(sum, _mm512_shuffle_f32x4(half[0], half[2], 0x88));
        vec_store(sum + 16, _mm512_shuffle_f32x4(half[0], half[2], 0xdd));
        vec_store(sum + 32, _mm512_shuffle_f32x4(half[1], half[3], 0x88));
        vec_store(sum + 48, _mm512_shuffle_f32x4(half[1], half[3], 0xdd));
    }
}

#endif
