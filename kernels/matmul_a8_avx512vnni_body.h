/* matmul_a8_avx512vnni_body.h - group-quantised weights (matmul_tile.h) times int8 rows, with vpdpbusd.
 *
 * Included by one variant, which defines ARGS (its family's argument struct) first. A lane is an output channel; a tile
 * is two vectors of them. Weights are unsigned bytes, expanded once for up to ROWS rows of activations, of which four
 * values at a time are broadcast, once for both vectors: loads would bind otherwise. The sums are interleaved, so that
 * none waits for itself. No integer saturates: vpdpbusd adds four products of at most 255 * 127 to 32 bits. Around the
 * eight vpdpbusd of a block, row and vector stand two multiply-adds and little else:
 *
 *   - a sum starts at MAGIC + what the unsigned weights are too large by (8 in Q4_0, 128 in Q8_0) times -(sum of the
 *     activations). MAGIC is the bits of 1.5 * 2^23, so that the bits of the result are the float 1.5 * 2^23 + dot:
 *     |dot| is below 2^22. Hence scale * dot = scale * float - scale * 1.5 * 2^23 is one instruction, rounded once.
 *   - an offset is one multiply-add with scale_x * sum.
 *
 * What this needs of the activations is made for STEP blocks ahead, on the stack.
 *
 * Where BESIDE_TILES is defined, this is for processors with AMX. Their 512-bit shifts, ands and products share two
 * ports, so a high nibble is one instruction of GFNI; loads and stores do not, so sums of many rows may pass through
 * memory; and they read memory faster as several streams (sm_prefetch_window). */
#include <immintrin.h>
#include <stdalign.h>

#include "matmul_tile.h"
#include "matmul_walk.h"

#define LANES 16
#define ROWS 8 /* at most in one pass over a tile: weights from memory are passed over once */
#ifdef BESIDE_TILES
#define ROWS_REPEAT ROWS
#else
#define ROWS_REPEAT 6 /* the most whose sums fit 32 registers: where tiles are passed over more than once */
#endif
#define STEP 16    /* blocks; a vector of floats */
#define AHEAD 8192 /* bytes that the prefetches are ahead of the loads */
#define MAGIC 0x4b400000

/* Constant numbers of turns, of which `rows` is known at compile time: both gcc 12 and clang 14 unroll this wholly, and
 * so keep the sums in registers. */
#define EACH_ROW(k) _Pragma("GCC unroll 8") for (size_t k = 0; k < ROWS; k++) if (k < rows)
#define EACH_VECTOR(v) _Pragma("GCC unroll 2") for (size_t v = 0; v < 2; v++)

/* What a step needs of each row, by block: the scales, and the sums' starts or the scaled sums. */
struct step {
    alignas(64) float scale[ROWS][STEP];
    alignas(64) int32_t start[ROWS][STEP];
    alignas(64) float scaled_sum[ROWS][STEP];
};

static inline __m512i broadcast32(const void *four)
{
    int32_t value;
    memcpy(&value, four, sizeof value);
    return _mm512_set1_epi32(value);
}

static inline __m512 load_halves(const uint8_t *halves)
{
    return _mm512_cvtph_ps(_mm256_load_si256((const __m256i *)(const void *)halves));
}

static inline __m512i high_nibbles(__m512i bytes)
{
#ifdef BESIDE_TILES
    return _mm512_gf2p8affine_epi64_epi8(bytes, _mm512_set1_epi64(0x1020408000000000), 0); /* bit i is bit i + 4 */
#else
    return _mm512_and_si512(_mm512_srli_epi16(bytes, 4), _mm512_set1_epi8(15));
#endif
}

/* dot += four weights of each channel times four values of each row, those at x. */
static inline __attribute__((always_inline)) void dot_four(__m512i dot[2][ROWS], const __m512i w[2], const int8_t *x,
                                                           size_t in, size_t rows)
{
    EACH_ROW(k)
    {
        const __m512i four = broadcast32(x + k * in);
        EACH_VECTOR(v) dot[v][k] = _mm512_dpbusd_epi32(dot[v][k], w[v], four);
    }
}

static inline __attribute__((always_inline)) void step_prepare(struct step *step, const struct sm_a8 *x, size_t at,
                                                               size_t blocks, size_t count, size_t quant_bytes,
                                                               int has_offset, size_t rows)
{
    const __mmask16 mask = (__mmask16)((1u << count) - 1);
#pragma GCC unroll 8
    for (size_t k = 0; k < rows; k++, at += blocks) {
        const __m512 scale = _mm512_maskz_loadu_ps(mask, x->scale + at);
        const __m512i sum = _mm512_maskz_loadu_epi32(mask, x->sum + at);
        _mm512_store_ps(step->scale[k], scale);
        if (has_offset)
            _mm512_store_ps(step->scaled_sum[k], _mm512_mul_ps(scale, _mm512_cvtepi32_ps(sum)));
        else
            _mm512_store_si512(step->start[k], _mm512_sub_epi32(_mm512_set1_epi32(MAGIC),
                                                                _mm512_slli_epi32(sum, quant_bytes == 32 ? 7 : 3)));
    }
}

/* Who fetches weights ahead. Hardware follows the one stream of a tile, best where that is all that binds: few rows, of
 * weights of 8 bits more than of 4. More rows leave it too little time at the beginning of each page. */
enum fetch { BY_PAGE, BY_LINE, BY_WINDOW };
static inline enum fetch fetch_for(size_t quant_bytes, size_t rows)
{
#ifdef BESIDE_TILES
    (void)quant_bytes, (void)rows;
    return BY_WINDOW;
#else
    return rows > (quant_bytes == 16 ? 2 : 6) ? BY_LINE : BY_PAGE;
#endif
}

/* dot = a block's integers, from the starts on. */
static inline __attribute__((always_inline)) void block_dot(__m512i dot[2][ROWS], const uint8_t *quants,
                                                            const int8_t *x, size_t in, size_t quant_bytes, size_t rows)
{
    const __m512i low = _mm512_set1_epi8(15);
#pragma GCC unroll 8
    for (size_t j = 0; j < quant_bytes; j += 4, quants += 4 * SM_TILE) {
        __m512i bytes[2], w[2];
        EACH_VECTOR(v)
        {
            bytes[v] = _mm512_load_si512(quants + 64 * v);
            if (fetch_for(quant_bytes, rows) == BY_LINE) SM_PREFETCH_L2(quants + 64 * v + AHEAD);
        }
        if (quant_bytes == 16) {
            EACH_VECTOR(v) w[v] = _mm512_and_si512(bytes[v], low);
            dot_four(dot, w, x + j, in, rows);
            EACH_VECTOR(v) w[v] = high_nibbles(bytes[v]);
            dot_four(dot, w, x + 16 + j, in, rows);
        } else {
            dot_four(dot, bytes, x + j, in, rows);
        }
    }
}

static inline __attribute__((always_inline)) void store_rows(const ARGS *a, size_t r, size_t o, __m512 y[2][ROWS],
                                                             size_t rows)
{
    EACH_VECTOR(v)
    {
        const size_t c = o + LANES * v, left = a->out > c ? a->out - c : 0;
        const __mmask16 mask = (__mmask16)(left >= LANES ? 0xffff : (1u << left) - 1);
        EACH_ROW(k)
        {
            const size_t at = (r + k) * a->y_stride + c;
            if (a->bias) y[v][k] = _mm512_add_ps(y[v][k], _mm512_maskz_loadu_ps(mask, a->bias + c));
            if (a->residual) y[v][k] = _mm512_add_ps(y[v][k], _mm512_maskz_loadu_ps(mask, a->residual + at));
            _mm512_mask_storeu_ps(a->y + at, mask, y[v][k]);
        }
    }
}

/* `rows` rows from r on of the tile's channels, from o on. */
static inline __attribute__((always_inline)) void tile_rows(const ARGS *a, const uint8_t *tile, size_t r, size_t o,
                                                            size_t quant_bytes, int has_offset, size_t rows)
{
    const size_t blocks = a->in / SM_GROUP, block_bytes = sm_tile_block_bytes(quant_bytes, has_offset);
    const enum fetch fetch = fetch_for(quant_bytes, rows);
    const int8_t *x = a->x.q + r * a->in;
    const __m512 magic = _mm512_castsi512_ps(_mm512_set1_epi32(MAGIC));
    struct step step;
    __m512 y[2][ROWS];
    EACH_VECTOR(v) EACH_ROW(k) y[v][k] = _mm512_setzero_ps();
    for (size_t b = 0; b < blocks; b += STEP) {
        const size_t count = blocks - b < STEP ? blocks - b : STEP;
        step_prepare(&step, &a->x, r * blocks + b, blocks, count, quant_bytes, has_offset, rows);
        if (fetch == BY_PAGE) sm_prefetch_pages(tile, STEP * block_bytes);
        for (size_t s = 0; s < count; s++, x += SM_GROUP, tile += block_bytes) {
            const uint8_t *scales = tile + sm_tile_scales_at(quant_bytes), *offsets = scales + 2 * SM_TILE;
            __m512i dot[2][ROWS];
            __m512 d[2], d_magic[2], m[2];
            EACH_ROW(k)
            {
                const __m512i start = _mm512_set1_epi32(has_offset ? MAGIC : step.start[k][s]);
                EACH_VECTOR(v) dot[v][k] = start;
            }
            block_dot(dot, tile, x, a->in, quant_bytes, rows);
            if (fetch == BY_LINE) SM_PREFETCH_L2(scales + AHEAD);
            if (fetch == BY_LINE && has_offset) SM_PREFETCH_L2(offsets + AHEAD);
            if (fetch == BY_WINDOW) sm_prefetch_window(a->w, o / SM_TILE * blocks + b + s, block_bytes / 64);
            EACH_VECTOR(v)
            {
                d[v] = load_halves(scales + 2 * LANES * v);
                d_magic[v] = _mm512_mul_ps(d[v], magic);
                m[v] = has_offset ? load_halves(offsets + 2 * LANES * v) : d[v];
            }
            EACH_ROW(k) EACH_VECTOR(v)
            {
                const __m512 t = _mm512_fmsub_ps(d[v], _mm512_castsi512_ps(dot[v][k]), d_magic[v]);
                y[v][k] = _mm512_fmadd_ps(_mm512_set1_ps(step.scale[k][s]), t, y[v][k]);
                if (has_offset) y[v][k] = _mm512_fmadd_ps(_mm512_set1_ps(step.scaled_sum[k][s]), m[v], y[v][k]);
            }
        }
    }
    store_rows(a, r, o, y, rows);
}

static inline __attribute__((always_inline)) void tile_any_rows(const ARGS *a, const uint8_t *tile, size_t r, size_t o,
                                                                size_t quant_bytes, int has_offset, size_t rows)
{
    switch (rows) {
    case 1: tile_rows(a, tile, r, o, quant_bytes, has_offset, 1); break;
    case 2: tile_rows(a, tile, r, o, quant_bytes, has_offset, 2); break;
    case 3: tile_rows(a, tile, r, o, quant_bytes, has_offset, 3); break;
    case 4: tile_rows(a, tile, r, o, quant_bytes, has_offset, 4); break;
    case 5: tile_rows(a, tile, r, o, quant_bytes, has_offset, 5); break;
    case 6: tile_rows(a, tile, r, o, quant_bytes, has_offset, 6); break;
    case 7: tile_rows(a, tile, r, o, quant_bytes, has_offset, 7); break;
    default: tile_rows(a, tile, r, o, quant_bytes, has_offset, ROWS); break;
    }
}

static inline __attribute__((always_inline)) void matmul_tiles(const ARGS *a, struct sm_part part, size_t quant_bytes,
                                                               int has_offset)
{
    const size_t tile_bytes = sm_tile_bytes(a->in, quant_bytes, has_offset);
    const size_t rows_most = part.row_end - part.row_begin <= ROWS ? ROWS : ROWS_REPEAT;
    const struct sm_walk walk = sm_walk(part, rows_most, SM_TILE, tile_bytes);
    for (size_t begin = part.col_begin, end; begin < part.col_end; begin = end) {
        end = sm_walk_columns_end(&walk, begin);
        for (size_t i = 0; i < walk.row_blocks; i++) {
            const size_t r = sm_walk_row(&walk, i), rows = sm_walk_row(&walk, i + 1) - r;
            for (size_t o = begin; o < end; o += SM_TILE)
                tile_any_rows(a, (const uint8_t *)a->w + o / SM_TILE * tile_bytes, r, o, quant_bytes, has_offset, rows);
        }
    }
}
