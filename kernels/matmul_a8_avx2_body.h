/* matmul_a8_avx2_body.h - group-quantised weights (matmul_tile.h) times int8 rows, with vpmaddubsw.
 *
 * Included by one variant, which defines ARGS (its family's argument struct) first. A lane is an output channel; a
 * quarter of a tile, 8 channels, is a vector. A pass takes `vectors` vectors and `rows` rows, together at most SUMS
 * integer sums, over STEP blocks: a second pass for a tile's other vectors finds those blocks in the first-level cache.
 * Between blocks float sums lie in memory, where they are one operand of a multiply-add and one store, so that
 * registers are left for twice as many integer sums: four values of a row are broadcast once for two vectors.
 *
 * Nothing saturates. 4-bit weights: a pair is at most 2 * 15 * 127 = 3810, and the eight pairs of a block are summed in
 * 16 bits, 30480. 8-bit weights: vpmaddubsw wants one side unsigned, so the weight's sign moves to the activation: a
 * pair is at most 2 * 128 * 127 = 32512, summed in 32 bits. Activations are never -128, which has no negative; a weight
 * may be, as its magnitude is read as unsigned.
 *
 * An integer sum starts at MAGIC, in Q4_0 less 8 times the sum of the activations, which is what unsigned weights are
 * too large by. MAGIC is the bits of 1.5 * 2^23, so that the bits of the result are the float 1.5 * 2^23 + dot: |dot|
 * is below 2^22. Hence scale * dot = scale * float - scale * 1.5 * 2^23 is one instruction, rounded once. */
#include <immintrin.h>
#include <stdalign.h>

#include "in_order.h"
#include "matmul_tile.h"
#include "matmul_walk.h"

#define LANES 8
#define VECTORS (SM_TILE / LANES) /* of a tile */
#define SUMS 8
#define ROWS 4
#define STEP 16 /* blocks */
#define MAGIC 0x4b400000

/* How far ahead of the loads weights are fetched, in bytes. A pass over all of a tile's vectors reads every line in
 * order, and hardware follows beside; of several passes the first reads a step's lines while only its share of what
 * comes later is fetched, and lives off what all passes before have fetched. */
#define AHEAD_WHOLE 2048
#define AHEAD_PARTS 8192

/* Constant numbers of turns, of which `vectors` and `rows` are known at compile time: both gcc 12 and clang 14 unroll
 * this wholly, and so keep the sums in registers. Sum v * rows + k is of vector v and row k. */
#define EACH_VECTOR(v) _Pragma("GCC unroll 4") for (size_t v = 0; v < VECTORS; v++) if (v < vectors)
#define EACH_ROW(k) _Pragma("GCC unroll 4") for (size_t k = 0; k < ROWS; k++) if (k < rows)
#define EACH_LINE(at, bytes) _Pragma("GCC unroll 17") for (size_t at = 0; at < 17 * 64; at += 64) if (at < (bytes))

/* What a block needs of each row besides the activations and their scale, made for STEP blocks ahead: the scaled sum
 * for weights with an offset, the sum's start for other 4-bit ones. */
struct step {
    alignas(32) float scaled_sum[ROWS][STEP];
    alignas(32) int32_t start[ROWS][STEP];
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
                step->start[k][s] = MAGIC - 8 * x->sum[at + s];
        }
}

static inline __attribute__((always_inline)) void add_nibbles(__m256i *pairs, __m256i nibbles, __m256i four, int first)
{
    const __m256i products = _mm256_maddubs_epi16(nibbles, four);
    *pairs = first ? products : _mm256_add_epi16(*pairs, products);
    SM_IN_ORDER(*pairs);
}

/* pairs = the sums of the block's 32 products of each vector and row in two halves, for 4-bit weights. What is held in
 * registers beside them is what there is less of, a row's values or a vector's weights. */
static inline __attribute__((always_inline)) void dot_nibbles(__m256i *pairs, const uint8_t *quants, const int8_t *x,
                                                              size_t in, size_t vectors, size_t rows)
{
    const __m256i low = _mm256_set1_epi8(15);
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++, x += 4, quants += 4 * SM_TILE) {
        __m256i bytes[VECTORS], w[VECTORS];
        if (rows <= 2) {
            EACH_VECTOR(v)
            {
                bytes[v] = load_bytes(quants + 4 * LANES * v);
                w[v] = _mm256_and_si256(bytes[v], low);
                EACH_ROW(k) add_nibbles(pairs + v * rows + k, w[v], broadcast32(x + k * in), !j);
                w[v] = _mm256_and_si256(_mm256_srli_epi16(bytes[v], 4), low);
                EACH_ROW(k) add_nibbles(pairs + v * rows + k, w[v], broadcast32(x + k * in + 16), 0);
            }
            continue;
        }
        EACH_VECTOR(v)
        {
            bytes[v] = load_bytes(quants + 4 * LANES * v);
            w[v] = _mm256_and_si256(bytes[v], low);
        }
        EACH_ROW(k)
        {
            const __m256i four = broadcast32(x + k * in);
            EACH_VECTOR(v) add_nibbles(pairs + v * rows + k, w[v], four, !j);
        }
        EACH_VECTOR(v) w[v] = _mm256_and_si256(_mm256_srli_epi16(bytes[v], 4), low);
        EACH_ROW(k)
        {
            const __m256i four = broadcast32(x + k * in + 16);
            EACH_VECTOR(v) add_nibbles(pairs + v * rows + k, w[v], four, 0);
        }
    }
}

static inline __attribute__((always_inline)) void add_int8(__m256i *dot, __m256i w, __m256i magnitude, __m256i four,
                                                           int first)
{
    const __m256i pairs = _mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(four, w));
    *dot = _mm256_add_epi32(first ? _mm256_set1_epi32(MAGIC) : *dot, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    SM_IN_ORDER(*dot);
}

/* dot = the block's 32 products of each vector and row, from MAGIC on, for 8-bit weights, stored as q + 128. */
static inline __attribute__((always_inline)) void dot_int8(__m256i *dot, const uint8_t *quants, const int8_t *x,
                                                           size_t in, size_t vectors, size_t rows)
{
#pragma GCC unroll 8
    for (size_t j = 0; j < 8; j++, x += 4, quants += 4 * SM_TILE) {
        __m256i w[VECTORS], magnitude[VECTORS];
        if (rows <= 2) {
            EACH_VECTOR(v)
            {
                w[v] = _mm256_xor_si256(load_bytes(quants + 4 * LANES * v), _mm256_set1_epi8(-128));
                magnitude[v] = _mm256_abs_epi8(w[v]);
                EACH_ROW(k) add_int8(dot + v * rows + k, w[v], magnitude[v], broadcast32(x + k * in), !j);
            }
            continue;
        }
        EACH_VECTOR(v)
        {
            w[v] = _mm256_xor_si256(load_bytes(quants + 4 * LANES * v), _mm256_set1_epi8(-128));
            magnitude[v] = _mm256_abs_epi8(w[v]);
        }
        EACH_ROW(k)
        {
            const __m256i four = broadcast32(x + k * in);
            EACH_VECTOR(v) add_int8(dot + v * rows + k, w[v], magnitude[v], four, !j);
        }
    }
}

/* Adds `count` blocks of `vectors` vectors and `rows` rows to y. Meanwhile each block fetches its share, by vectors, of
 * a block that comes later: hardware follows a whole tile's one stream late, and of a part of its lines not at all. */
static inline __attribute__((always_inline)) void add_blocks(__m256 (*y)[VECTORS], const ARGS *a, const uint8_t *tile,
                                                             const uint8_t *fetch, const struct step *step, size_t r,
                                                             size_t b, size_t count, size_t vector, size_t quant_bytes,
                                                             int has_offset, size_t vectors, size_t rows)
{
    const size_t blocks = a->in / SM_GROUP, block_bytes = sm_tile_block_bytes(quant_bytes, has_offset);
    const size_t share = block_bytes * vectors / VECTORS;
    const int8_t *x = a->x.q + r * a->in + b * SM_GROUP;
    const float *x_scale = a->x.scale + r * blocks + b;
    const uint8_t *quants = tile + 4 * LANES * vector;
    const uint8_t *scales = tile + sm_tile_scales_at(quant_bytes) + 2 * LANES * vector;
    const __m256 magic = _mm256_castsi256_ps(_mm256_set1_epi32(MAGIC));
    for (size_t s = 0; s < count; s++, x += SM_GROUP) {
        __m256i dot[SUMS];
        __m256 d[VECTORS], d_magic[VECTORS], m[VECTORS];
        EACH_LINE(at, share) SM_PREFETCH_L1(fetch + at);
        if (quant_bytes == 16) {
            dot_nibbles(dot, quants, x, a->in, vectors, rows);
            EACH_ROW(k)
            {
                const __m256i start = _mm256_set1_epi32(has_offset ? MAGIC : step->start[k][s]);
                EACH_VECTOR(v)
                {
                    __m256i *sum = dot + v * rows + k;
                    *sum = _mm256_add_epi32(_mm256_madd_epi16(*sum, _mm256_set1_epi16(1)), start);
                }
            }
        } else {
            dot_int8(dot, quants, x, a->in, vectors, rows);
        }
        EACH_VECTOR(v)
        {
            d[v] = load_halves(scales + 2 * LANES * v);
            d_magic[v] = _mm256_mul_ps(d[v], magic);
            m[v] = has_offset ? load_halves(scales + 2 * SM_TILE + 2 * LANES * v) : d[v];
        }
        EACH_ROW(k)
        {
            const __m256 scale = _mm256_set1_ps(x_scale[k * blocks + s]);
            EACH_VECTOR(v)
            {
                __m256 *sum = &y[k][vector + v];
                const __m256 t = _mm256_fmsub_ps(d[v], _mm256_castsi256_ps(dot[v * rows + k]), d_magic[v]);
                *sum = _mm256_fmadd_ps(scale, t, *sum);
                if (has_offset) *sum = _mm256_fmadd_ps(m[v], _mm256_set1_ps(step->scaled_sum[k][s]), *sum);
                SM_IN_MEMORY(*sum);
            }
        }
        quants += block_bytes;
        scales += block_bytes;
        fetch += share;
    }
}

static inline __attribute__((always_inline)) void store_rows(const ARGS *a, size_t r, size_t o, __m256 (*y)[VECTORS],
                                                             size_t rows)
{
    for (size_t v = 0; v < VECTORS && o + LANES * v < a->out; v++) {
        const size_t c = o + LANES * v;
        const int left = a->out - c < LANES ? (int)(a->out - c) : LANES;
        const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(left), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        for (size_t k = 0; k < rows; k++) {
            const size_t at = (r + k) * a->y_stride + c;
            __m256 sum = y[k][v];
            if (a->bias) sum = _mm256_add_ps(sum, _mm256_maskload_ps(a->bias + c, mask));
            if (a->residual) sum = _mm256_add_ps(sum, _mm256_maskload_ps(a->residual + at, mask));
            _mm256_maskstore_ps(a->y + at, mask, sum);
        }
    }
}

/* `rows` rows from r on of the tile's channels, from o on, in passes of `vectors` vectors. */
static inline __attribute__((always_inline)) void tile_rows(const ARGS *a, const uint8_t *tile, size_t r, size_t o,
                                                            size_t quant_bytes, int has_offset, size_t vectors,
                                                            size_t rows)
{
    const size_t blocks = a->in / SM_GROUP, block_bytes = sm_tile_block_bytes(quant_bytes, has_offset);
    const size_t ahead = vectors == VECTORS ? AHEAD_WHOLE : AHEAD_PARTS;
    const size_t left = (a->out - o + LANES - 1) / LANES, used = left < VECTORS ? left : VECTORS;
    struct step step;
    __m256 y[ROWS][VECTORS];
    for (size_t k = 0; k < rows; k++)
        for (size_t v = 0; v < VECTORS; v++) y[k][v] = _mm256_setzero_ps();
    for (size_t b = 0; b < blocks; b += STEP, tile += STEP * block_bytes) {
        const size_t count = blocks - b < STEP ? blocks - b : STEP;
        step_prepare(&step, &a->x, r * blocks + b, blocks, count, quant_bytes, has_offset, rows);
        for (size_t v = 0; v < used; v += vectors)
            add_blocks(y, a, tile, tile + ahead + count * block_bytes * v / VECTORS, &step, r, b, count, v, quant_bytes,
                       has_offset, vectors, rows);
    }
    store_rows(a, r, o, y, rows);
}

static inline __attribute__((always_inline)) void tile_any_rows(const ARGS *a, const uint8_t *tile, size_t r, size_t o,
                                                                size_t quant_bytes, int has_offset, size_t rows)
{
    switch (rows) {
    case 1: tile_rows(a, tile, r, o, quant_bytes, has_offset, 4, 1); break;
    case 2: tile_rows(a, tile, r, o, quant_bytes, has_offset, 4, 2); break;
    case 3: tile_rows(a, tile, r, o, quant_bytes, has_offset, 2, 3); break;
    default: tile_rows(a, tile, r, o, quant_bytes, has_offset, 2, ROWS); break;
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
                tile_any_rows(a, (const uint8_t *)a->w + o / SM_TILE * tile_bytes, r, o, quant_bytes, has_offset, rows);
        }
    }
}
