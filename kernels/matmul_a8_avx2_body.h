/* matmul_a8_avx2_body.h - group-quantised weights (matmul_tile.h) times int8 rows, with vpmaddubsw.
 *
 * Included by one variant, which defines ARGS (its family's argument struct) first. A lane is an output channel; half a
 * tile, 8 channels, is a vector. Weights are expanded once for up to ROWS rows of activations.
 *
 * Nothing saturates. 4-bit weights: a pair is at most 2 * 15 * 127 = 3810, and the eight pairs of a block are summed in
 * 16 bits, 30480. 8-bit weights: vpmaddubsw wants one side unsigned, so the weight's sign moves to the activation: a
 * pair is at most 2 * 128 * 127 = 32512, summed in 32 bits. Activations are never -128, which has no negative; a weight
 * may be, as its magnitude is read as unsigned. */
#include <immintrin.h>
#include <stdalign.h>

#include "in_order.h"
#include "matmul_tile.h"

#define ROWS 4
#define STEP 32 /* blocks */

/* A constant number of turns, of which `rows` is known at compile time to be few: both gcc 12 and clang 14 unroll this
 * wholly, and so keep the rows' sums in registers. */
#define EACH_ROW(k) _Pragma("GCC unroll 4") for (size_t k = 0; k < ROWS; k++) if (k < rows)

/* What a block needs of each row besides the activations, made for STEP blocks ahead: for weights with an offset the
 * scaled sum, for 4-bit ones without what their lack of a sign is worth. */
struct step {
    alignas(32) float scaled_sum[ROWS][STEP];
    alignas(32) int32_t excess[ROWS][STEP];
};

static inline __m256i broadcast32(const void *four)
{
    int32_t value;
    memcpy(&value, four, sizeof value);
    return _mm256_set1_epi32(value);
}

static inline __m256 load_halves(const uint8_t *halves)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)halves));
}

static inline __m256i load_bytes(const uint8_t *bytes)
{
    return _mm256_load_si256((const __m256i *)(const void *)bytes);
}

static inline __attribute__((always_inline)) void step_prepare(struct step *step, const struct sm_a8 *x, size_t at,
                                                               size_t blocks, size_t count, size_t quant_bytes,
                                                               int has_offset, size_t rows)
{
#pragma GCC unroll 4
    for (size_t k = 0; k < rows; k++, at += blocks)
        for (size_t s = 0; s < count; s++) {
            if (has_offset)
                step->scaled_sum[k][s] = x->scale[at + s] * (float)x->sum[at + s];
            else if (quant_bytes == 16)
                step->excess[k][s] = 8 * x->sum[at + s];
        }
}

/* dot[k] = the block's 32 products of 8 channels and row k, for 4-bit weights. */
static inline __attribute__((always_inline)) void dot_nibbles(__m256i *dot, const uint8_t *quants, const int8_t *x,
                                                              size_t in, size_t rows)
{
    const __m256i low = _mm256_set1_epi8(15);
    EACH_ROW(k) dot[k] = _mm256_setzero_si256();
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++, x += 4) {
        const __m256i bytes = load_bytes(quants + 64 * j);
        const __m256i first = _mm256_and_si256(bytes, low);
        const __m256i second = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low);
        EACH_ROW(k)
        {
            dot[k] = _mm256_add_epi16(dot[k], _mm256_maddubs_epi16(first, broadcast32(x + k * in)));
            dot[k] = _mm256_add_epi16(dot[k], _mm256_maddubs_epi16(second, broadcast32(x + k * in + 16)));
            SM_IN_ORDER(dot[k]);
        }
    }
    EACH_ROW(k) dot[k] = _mm256_madd_epi16(dot[k], _mm256_set1_epi16(1));
}

/* The same for 8-bit weights, stored as q + 128. */
static inline __attribute__((always_inline)) void dot_int8(__m256i *dot, const uint8_t *quants, const int8_t *x,
                                                           size_t in, size_t rows)
{
    const __m256i ones = _mm256_set1_epi16(1);
    EACH_ROW(k) dot[k] = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (size_t j = 0; j < 8; j++, x += 4) {
        const __m256i w = _mm256_xor_si256(load_bytes(quants + 64 * j), _mm256_set1_epi8(-128));
        const __m256i magnitude = _mm256_abs_epi8(w);
        EACH_ROW(k)
        {
            const __m256i pairs = _mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(broadcast32(x + k * in), w));
            dot[k] = _mm256_add_epi32(dot[k], _mm256_madd_epi16(pairs, ones));
            SM_IN_ORDER(dot[k]);
        }
    }
}

static inline __attribute__((always_inline)) void store_rows(const ARGS *a, size_t r, size_t o, __m256 *y, size_t rows)
{
    const int left = a->out - o < 8 ? (int)(a->out - o) : 8;
    const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(left), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    EACH_ROW(k)
    {
        const size_t at = (r + k) * a->y_stride + o;
        if (a->bias) y[k] = _mm256_add_ps(y[k], _mm256_maskload_ps(a->bias + o, mask));
        if (a->residual) y[k] = _mm256_add_ps(y[k], _mm256_maskload_ps(a->residual + at, mask));
        _mm256_maskstore_ps(a->y + at, mask, y[k]);
    }
}

/* `rows` rows from r on of the 8 channels from o on, which are half a tile. */
static inline __attribute__((always_inline)) void half_tile_rows(const ARGS *a, const uint8_t *tile, size_t r, size_t o,
                                                                 size_t quant_bytes, int has_offset, size_t rows)
{
    const size_t blocks = a->in / SM_GROUP, half = o % SM_TILE / 8;
    const uint8_t *quants = tile + 32 * half, *scales = tile + sm_tile_scales_at(a->in, quant_bytes) + 16 * half;
    const int8_t *x = a->x.q + r * a->in;
    const float *x_scale = a->x.scale + r * blocks;
    struct step step;
    __m256 y[ROWS];
    EACH_ROW(k) y[k] = _mm256_setzero_ps();
    for (size_t b = 0; b < blocks; b += STEP, x_scale += STEP) {
        const size_t count = blocks - b < STEP ? blocks - b : STEP;
        step_prepare(&step, &a->x, r * blocks + b, blocks, count, quant_bytes, has_offset, rows);
        for (size_t s = 0; s < count; s++, x += SM_GROUP, quants += quant_bytes * SM_TILE) {
            __m256i dot[ROWS];
            if (quant_bytes == 16)
                dot_nibbles(dot, quants, x, a->in, rows);
            else
                dot_int8(dot, quants, x, a->in, rows);
            const __m256 d = load_halves(scales), m = has_offset ? load_halves(scales + 32) : d;
            scales += has_offset ? 64 : 32;
            EACH_ROW(k)
            {
                if (quant_bytes == 16 && !has_offset)
                    dot[k] = _mm256_sub_epi32(dot[k], _mm256_set1_epi32(step.excess[k][s]));
                const __m256 scale = _mm256_mul_ps(d, _mm256_set1_ps(x_scale[k * blocks + s]));
                y[k] = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(dot[k]), y[k]);
                if (has_offset) y[k] = _mm256_fmadd_ps(m, _mm256_set1_ps(step.scaled_sum[k][s]), y[k]);
            }
        }
    }
    store_rows(a, r, o, y, rows);
}

static inline __attribute__((always_inline)) void matmul_tiles(const ARGS *a, struct sm_part part, size_t quant_bytes,
                                                               int has_offset)
{
    const size_t tile_bytes = sm_tile_bytes(a->in, quant_bytes, has_offset);
    for (size_t o = part.col_begin; o < part.col_end; o += 8) {
        const uint8_t *tile = (const uint8_t *)a->w + o / SM_TILE * tile_bytes;
        size_t r = part.row_begin;
        for (; r + ROWS <= part.row_end; r += ROWS) half_tile_rows(a, tile, r, o, quant_bytes, has_offset, ROWS);
        switch (part.row_end - r) {
        case 1: half_tile_rows(a, tile, r, o, quant_bytes, has_offset, 1); break;
        case 2: half_tile_rows(a, tile, r, o, quant_bytes, has_offset, 2); break;
        case 3: half_tile_rows(a, tile, r, o, quant_bytes, has_offset, 3); break;
        default: break;
        }
    }
}
