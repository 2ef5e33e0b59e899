/* matmul_a8_avx2_body.h - group-quantised weights (matmul_tile.h) times int8 rows, with vpmaddubsw.
 *
 * Included by one variant, which defines ARGS (its family's argument struct) first. A lane is an output channel; a
 * quarter of a tile, 8 channels, is a vector. Weights are expanded once for up to ROWS rows of activations; a step
 * takes `vectors` vectors of them and `rows` rows, together at most SUMS sums.
 *
 * Nothing saturates. 4-bit weights: a pair is at most 2 * 15 * 127 = 3810, and the eight pairs of a block are summed in
 * 16 bits, 30480. 8-bit weights: vpmaddubsw wants one side unsigned, so the weight's sign moves to the activation: a
 * pair is at most 2 * 128 * 127 = 32512, summed in 32 bits. Activations are never -128, which has no negative; a weight
 * may be, as its magnitude is read as unsigned. */
#include <immintrin.h>
#include <stdalign.h>

#include "in_order.h"
#include "matmul_tile.h"
#include "matmul_walk.h"

#define LANES 8
#define SUMS 4
#define ROWS SUMS
#define STEP 32 /* blocks */

/* A constant number of turns, of which `vectors * rows` is known at compile time to be few: both gcc 12 and clang 14
 * unroll this wholly, and so keep the sums in registers. Sum i is of vector i / rows and row i % rows. */
#define EACH_SUM(i) _Pragma("GCC unroll 4") for (size_t i = 0; i < SUMS; i++) if (i < vectors * rows)
#define EACH_VECTOR(v) _Pragma("GCC unroll 4") for (size_t v = 0; v < SUMS; v++) if (v < vectors)
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

/* dot = the block's 32 products of each vector and row, for 4-bit weights. */
static inline __attribute__((always_inline)) void dot_nibbles(__m256i *dot, const uint8_t *quants, const int8_t *x,
                                                              size_t in, size_t vectors, size_t rows)
{
    const __m256i low = _mm256_set1_epi8(15);
    EACH_SUM(i) dot[i] = _mm256_setzero_si256();
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++, x += 4, quants += 4 * SM_TILE) {
        EACH_VECTOR(v)
        {
            const __m256i bytes = load_bytes(quants + 4 * LANES * v);
            const __m256i first = _mm256_and_si256(bytes, low);
            const __m256i second = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low);
            EACH_ROW(k)
            {
                __m256i *sum = dot + v * rows + k;
                *sum = _mm256_add_epi16(*sum, _mm256_maddubs_epi16(first, broadcast32(x + k * in)));
                *sum = _mm256_add_epi16(*sum, _mm256_maddubs_epi16(second, broadcast32(x + k * in + 16)));
                SM_IN_ORDER(*sum);
            }
        }
    }
    EACH_SUM(i) dot[i] = _mm256_madd_epi16(dot[i], _mm256_set1_epi16(1));
}

/* The same for 8-bit weights, stored as q + 128. */
static inline __attribute__((always_inline)) void dot_int8(__m256i *dot, const uint8_t *quants, const int8_t *x,
                                                           size_t in, size_t vectors, size_t rows)
{
    const __m256i ones = _mm256_set1_epi16(1);
    EACH_SUM(i) dot[i] = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (size_t j = 0; j < 8; j++, x += 4, quants += 4 * SM_TILE) {
        EACH_VECTOR(v)
        {
            const __m256i w = _mm256_xor_si256(load_bytes(quants + 4 * LANES * v), _mm256_set1_epi8(-128));
            const __m256i magnitude = _mm256_abs_epi8(w);
            EACH_ROW(k)
            {
                __m256i *sum = dot + v * rows + k;
                const __m256i four = _mm256_sign_epi8(broadcast32(x + k * in), w);
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(_mm256_maddubs_epi16(magnitude, four), ones));
                SM_IN_ORDER(*sum);
            }
        }
    }
}

static inline __attribute__((always_inline)) void store_sums(const ARGS *a, size_t r, size_t o, __m256 *y,
                                                             size_t vectors, size_t rows)
{
    EACH_SUM(i)
    {
        const size_t c = o + LANES * (i / rows), at = (r + i % rows) * a->y_stride + c;
        if (c >= a->out) break;
        const int left = a->out - c < LANES ? (int)(a->out - c) : LANES;
        const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(left), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        if (a->bias) y[i] = _mm256_add_ps(y[i], _mm256_maskload_ps(a->bias + c, mask));
        if (a->residual) y[i] = _mm256_add_ps(y[i], _mm256_maskload_ps(a->residual + at, mask));
        _mm256_maskstore_ps(a->y + at, mask, y[i]);
    }
}

/* `rows` rows from r on of `vectors` vectors of a tile's channels, from o on. */
static inline __attribute__((always_inline)) void vectors_rows(const ARGS *a, const uint8_t *tile, size_t r, size_t o,
                                                               size_t quant_bytes, int has_offset, size_t vectors,
                                                               size_t rows)
{
    const size_t blocks = a->in / SM_GROUP, lane = o % SM_TILE;
    const uint8_t *quants = tile + 4 * lane, *scales = tile + sm_tile_scales_at(quant_bytes) + 2 * lane;
    const int8_t *x = a->x.q + r * a->in;
    const float *x_scale = a->x.scale + r * blocks;
    struct step step;
    __m256 y[SUMS];
    EACH_SUM(i) y[i] = _mm256_setzero_ps();
    for (size_t b = 0; b < blocks; b += STEP, x_scale += STEP) {
        const size_t count = blocks - b < STEP ? blocks - b : STEP;
        step_prepare(&step, &a->x, r * blocks + b, blocks, count, quant_bytes, has_offset, rows);
        for (size_t s = 0; s < count; s++, x += SM_GROUP) {
            __m256i dot[SUMS];
            if (quant_bytes == 16)
                dot_nibbles(dot, quants, x, a->in, vectors, rows);
            else
                dot_int8(dot, quants, x, a->in, vectors, rows);
            EACH_VECTOR(v)
            {
                const __m256 d = load_halves(scales + 2 * LANES * v);
                const __m256 m = has_offset ? load_halves(scales + 2 * SM_TILE + 2 * LANES * v) : d;
                EACH_ROW(k)
                {
                    const size_t i = v * rows + k;
                    if (quant_bytes == 16 && !has_offset)
                        dot[i] = _mm256_sub_epi32(dot[i], _mm256_set1_epi32(step.excess[k][s]));
                    const __m256 scale = _mm256_mul_ps(d, _mm256_set1_ps(x_scale[k * blocks + s]));
                    y[i] = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(dot[i]), y[i]);
                    if (has_offset) y[i] = _mm256_fmadd_ps(m, _mm256_set1_ps(step.scaled_sum[k][s]), y[i]);
                }
            }
            quants += sm_tile_block_bytes(quant_bytes, has_offset);
            scales += sm_tile_block_bytes(quant_bytes, has_offset);
        }
    }
    store_sums(a, r, o, y, vectors, rows);
}

/* Few rows take more vectors at once, so that a pass over a tile uses what it reads, and reads each row once. */
static inline __attribute__((always_inline)) void tile_rows(const ARGS *a, const uint8_t *tile, size_t r, size_t o,
                                                            size_t quant_bytes, int has_offset, size_t rows)
{
    for (const size_t end = o + SM_TILE < a->out ? o + SM_TILE : a->out; o < end;) switch (rows) {
        case 1: vectors_rows(a, tile, r, o, quant_bytes, has_offset, 4, 1), o += 4 * LANES; break;
        case 2: vectors_rows(a, tile, r, o, quant_bytes, has_offset, 2, 2), o += 2 * LANES; break;
        case 3: vectors_rows(a, tile, r, o, quant_bytes, has_offset, 1, 3), o += LANES; break;
        default: vectors_rows(a, tile, r, o, quant_bytes, has_offset, 1, ROWS), o += LANES; break;
        }
}

static inline __attribute__((always_inline)) void matmul_tiles(const ARGS *a, struct sm_part part, size_t quant_bytes,
                                                               int has_offset)
{
    const size_t tile_bytes = sm_tile_bytes(a->in, quant_bytes, has_offset);
    const struct sm_walk walk = sm_walk(part, ROWS, SM_TILE, tile_bytes);
    for (size_t begin = part.col_begin, end; begin < part.col_end; begin = end) {
        end = sm_walk_columns_end(&walk, begin);
        for (size_t i = 0; i < walk.row_blocks; i++) {
            const size_t r = sm_walk_row(&walk, i), rows = sm_walk_row(&walk, i + 1) - r;
            for (size_t o = begin; o < end; o += SM_TILE)
                tile_rows(a, (const uint8_t *)a->w + o / SM_TILE * tile_bytes, r, o, quant_bytes, has_offset, rows);
        }
    }
}
