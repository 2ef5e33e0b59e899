/* matmul_channel_a8_avx2_body.h - weights per output channel times int8 rows, with vpmaddubsw.
 *
 * Included by one variant, which defines ARGS, SCALE_OF and BITS first. A lane is an output channel; half a tile, 8
 * channels, is a vector; a step takes `halves` of them and `rows` rows, together at most SUMS sums.
 *
 * Nothing saturates. 4-bit weights: a pair is at most 2 * 15 * 127 = 3810, and the eight pairs of GROUP inputs are
 * summed in 16 bits, 30480. 8-bit weights: vpmaddubsw wants one side unsigned and small, so 128 is taken from the
 * weight (and from the zero point) and its sign moves to the activation: a pair is at most 2 * 128 * 127 = 32512,
 * summed in 32 bits. Activations are never -128, which has no negative. */
#include <immintrin.h>
#include <stdalign.h>

#include "in_order.h"
#define LANES 8
#include "matmul_channel_store_body.h"

#define SUMS 4
#define GROUP 32 /* inputs */

/* A constant number of turns, of which `halves * rows` is known at compile time: unrolled wholly, so that sums stay in
 * registers. Sum s is of half s / rows and row s % rows. */
#define EACH_SUM(s) _Pragma("GCC unroll 4") for (size_t s = 0; s < SUMS; s++) if (s < halves * rows)
#define EACH_HALF(h) _Pragma("GCC unroll 4") for (size_t h = 0; h < SUMS; h++) if (h < halves)

static inline __m256i broadcast32(const void *four)
{
    int32_t value;
    memcpy(&value, four, sizeof value);
    return _mm256_set1_epi32(value);
}

static inline __m256i load_bytes(const uint8_t *bytes)
{
    return _mm256_load_si256((const __m256i *)(const void *)bytes);
}

/* Adds the products of GROUP inputs. quants: of each half. */
static inline __attribute__((always_inline)) void group_nibbles(__m256i *dot, const uint8_t *const *quants,
                                                                const int8_t *x, size_t in, size_t halves, size_t rows)
{
    const __m256i low = _mm256_set1_epi8(15);
    __m256i pairs[SUMS];
    EACH_SUM(s) pairs[s] = _mm256_setzero_si256();
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++, x += 8) {
        __m256i first[SUMS], second[SUMS];
        EACH_HALF(h)
        {
            const __m256i bytes = load_bytes(quants[h] + 64 * j);
            first[h] = _mm256_and_si256(bytes, low);
            second[h] = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low);
        }
        EACH_SUM(s)
        {
            const int8_t *at = x + s % rows * in;
            pairs[s] = _mm256_add_epi16(pairs[s], _mm256_maddubs_epi16(first[s / rows], broadcast32(at)));
            pairs[s] = _mm256_add_epi16(pairs[s], _mm256_maddubs_epi16(second[s / rows], broadcast32(at + 4)));
            SM_IN_ORDER(pairs[s]);
        }
    }
    EACH_SUM(s)
    dot[s] = _mm256_add_epi32(dot[s], _mm256_madd_epi16(pairs[s], _mm256_set1_epi16(1)));
}

static inline __attribute__((always_inline)) void group_bytes(__m256i *dot, const uint8_t *const *quants,
                                                              const int8_t *x, size_t in, size_t halves, size_t rows)
{
    const __m256i ones = _mm256_set1_epi16(1);
#pragma GCC unroll 8
    for (size_t j = 0; j < 8; j++, x += 4) {
        __m256i w[SUMS], magnitude[SUMS];
        EACH_HALF(h)
        {
            w[h] = _mm256_xor_si256(load_bytes(quants[h] + 64 * j), _mm256_set1_epi8(-128));
            magnitude[h] = _mm256_abs_epi8(w[h]);
        }
        EACH_SUM(s)
        {
            const __m256i four = _mm256_sign_epi8(broadcast32(x + s % rows * in), w[s / rows]);
            dot[s] = _mm256_add_epi32(dot[s], _mm256_madd_epi16(_mm256_maddubs_epi16(magnitude[s / rows], four), ones));
            SM_IN_ORDER(dot[s]);
        }
    }
}

/* dot: of row r and the 8 channels from o on, zeros not yet taken away. */
static inline __attribute__((always_inline)) void store_dot(const ARGS *a, size_t r, size_t o, __m256i dot)
{
    if (o >= a->out) return;
    const uint8_t *head = head_of(a, o);
    __m256i zero = load_bytes(head + 4 * SM_CHANNELS);
    if (BITS == 8) zero = _mm256_sub_epi32(zero, _mm256_set1_epi32(128));
    dot = _mm256_sub_epi32(dot, _mm256_mullo_epi32(zero, _mm256_set1_epi32(a->x.sum[r])));
    const __m256 scale = _mm256_load_ps((const float *)(const void *)head);
    alignas(32) float y[LANES];
    _mm256_store_ps(y, _mm256_mul_ps(_mm256_mul_ps(scale, _mm256_set1_ps(SCALE_OF(a->x, r))), _mm256_cvtepi32_ps(dot)));
    store_floats(a, r, o, y);
}

/* `rows` rows from r on of the 8 channels of each of `halves` halves, from channel o on. */
static inline __attribute__((always_inline)) void halves_rows(const ARGS *a, size_t r, size_t o, size_t halves,
                                                              size_t rows)
{
    const int8_t *x = a->x.q + r * a->in;
    const uint8_t *quants[SUMS] = {NULL};
    __m256i dot[SUMS];
    EACH_HALF(h) quants[h] = head_of(a, o + h * LANES) + SM_CHANNEL_HEAD;
    EACH_SUM(s) dot[s] = _mm256_setzero_si256();
    for (size_t i = 0; i < a->in; i += GROUP, x += GROUP) {
        if (BITS == 4)
            group_nibbles(dot, quants, x, a->in, halves, rows);
        else
            group_bytes(dot, quants, x, a->in, halves, rows);
        EACH_HALF(h) quants[h] += GROUP * SM_CHANNELS * BITS / 8;
    }
    EACH_SUM(s) store_dot(a, r + s % rows, o + s / rows * LANES, dot[s]);
}

static inline __attribute__((always_inline)) void matmul(const ARGS *a, struct sm_part part)
{
    for (size_t o = part.col_begin; o < part.col_end; o += SM_CHANNEL_GRAIN) {
        size_t r = part.row_begin;
        for (; r + 4 <= part.row_end; r += 4)
            for (size_t h = 0; h < SM_CHANNEL_GRAIN; h += LANES) halves_rows(a, r, o + h, 1, 4);
        switch (part.row_end - r) {
        case 1: halves_rows(a, r, o, 4, 1); break;
        case 2:
            for (size_t h = 0; h < SM_CHANNEL_GRAIN; h += 2 * LANES) halves_rows(a, r, o + h, 2, 2);
            break;
        case 3:
            for (size_t h = 0; h < SM_CHANNEL_GRAIN; h += LANES) halves_rows(a, r, o + h, 1, 3);
            break;
        default: break;
        }
    }
}
