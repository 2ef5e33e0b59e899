/* matmul_a8_avx512vnni_body.h - group-quantised weights (matmul_tile.h) times int8 rows, with vpdpbusd.
 *
 * Included by one variant, which defines ARGS (its family's argument struct) first. A lane is an output channel.
 * Weights are unsigned bytes, expanded once for up to ROWS rows of activations, of which four values at a time are
 * broadcast; the rows' sums are interleaved, so that none waits for itself. No integer saturates: vpdpbusd adds four
 * products of at most 255 * 127 to 32 bits. Around the eight vpdpbusd of a block and row stand two multiply-adds and
 * little else:
 *
 *   - a sum starts at MAGIC + what the unsigned weights are too large by (8 in Q4_0, 128 in Q8_0) times -(sum of the
 *     activations). MAGIC is the bits of 1.5 * 2^23, so that the bits of the result are the float 1.5 * 2^23 + dot:
 *     |dot| is below 2^22. Hence scale * dot = scale * float - scale * 1.5 * 2^23 is one instruction, rounded once.
 *   - an offset is one multiply-add with scale_x * sum.
 *
 * What this needs of the activations is made for STEP blocks ahead, on the stack. */
#include <immintrin.h>
#include <stdalign.h>

#include "matmul_tile.h"
#include "matmul_walk.h"

#define ROWS 12
#define STEP 16 /* blocks; a vector of floats */
#define MAGIC 0x4b400000

/* A constant number of turns, of which `rows` is known at compile time to be few: both gcc 12 and clang 14 unroll this
 * wholly, and so keep the rows' sums in registers. */
#define EACH_ROW(k) _Pragma("GCC unroll 12") for (size_t k = 0; k < ROWS; k++) if (k < rows)

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
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)halves));
}

/* dot[k] += four weights of each channel times four values of row k, those at x. */
static inline __attribute__((always_inline)) void dot_four(__m512i *dot, __m512i w, const int8_t *x, size_t in,
                                                           size_t rows)
{
    EACH_ROW(k) dot[k] = _mm512_dpbusd_epi32(dot[k], w, broadcast32(x + k * in));
}

static inline __attribute__((always_inline)) void step_prepare(struct step *step, const struct sm_a8 *x, size_t at,
                                                               size_t blocks, size_t count, size_t quant_bytes,
                                                               int has_offset, size_t rows)
{
    const __mmask16 mask = (__mmask16)((1u << count) - 1);
#pragma GCC unroll 12
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

/* `rows` rows from r on of the 16 channels from o on. */
static inline __attribute__((always_inline)) void tile_rows(const ARGS *a, const uint8_t *tile, size_t r, size_t o,
                                                            size_t quant_bytes, int has_offset, size_t rows)
{
    const size_t blocks = a->in / SM_GROUP;
    const uint8_t *quants = tile, *scales = tile + sm_tile_scales_at(a->in, quant_bytes);
    const size_t tile_bytes = sm_tile_bytes(a->in, quant_bytes, has_offset);
    const int8_t *x = a->x.q + r * a->in;
    const __m512i low = _mm512_set1_epi8(15);
    struct step step;
    __m512 y[ROWS];
    EACH_ROW(k) y[k] = _mm512_setzero_ps();
    for (size_t b = 0; b < blocks; b += STEP) {
        const size_t count = blocks - b < STEP ? blocks - b : STEP;
        step_prepare(&step, &a->x, r * blocks + b, blocks, count, quant_bytes, has_offset, rows);
        for (size_t s = 0; s < count; s++, x += SM_GROUP, quants += quant_bytes * SM_TILE) {
            __m512i dot[ROWS];
            EACH_ROW(k)
            dot[k] = has_offset ? _mm512_set1_epi32(MAGIC) : _mm512_set1_epi32(step.start[k][s]);
#pragma GCC unroll 8
            for (size_t j = 0; j < quant_bytes / 4; j++) {
                const __m512i bytes = _mm512_load_si512(quants + 64 * j);
                SM_PREFETCH_L2(quants + 64 * j + tile_bytes);
                if (quant_bytes == 16) {
                    dot_four(dot, _mm512_and_si512(bytes, low), x + 4 * j, a->in, rows);
                    dot_four(dot, _mm512_and_si512(_mm512_srli_epi16(bytes, 4), low), x + 16 + 4 * j, a->in, rows);
                } else {
                    dot_four(dot, bytes, x + 4 * j, a->in, rows);
                }
            }
            SM_PREFETCH_L2(scales + tile_bytes);
            const __m512 d = load_halves(scales);
            const __m512 d_magic = _mm512_mul_ps(d, _mm512_castsi512_ps(_mm512_set1_epi32(MAGIC)));
            const __m512 m = has_offset ? load_halves(scales + 32) : d;
            scales += has_offset ? 64 : 32;
            EACH_ROW(k)
            {
                const __m512 t = _mm512_fmsub_ps(d, _mm512_castsi512_ps(dot[k]), d_magic);
                y[k] = _mm512_fmadd_ps(_mm512_set1_ps(step.scale[k][s]), t, y[k]);
                if (has_offset) y[k] = _mm512_fmadd_ps(_mm512_set1_ps(step.scaled_sum[k][s]), m, y[k]);
            }
        }
    }
    const __mmask16 mask = (__mmask16)(a->out - o >= SM_TILE ? 0xffff : (1u << (a->out - o)) - 1);
    for (size_t i = 0; i < rows; i++) {
        const size_t at = (r + i) * a->y_stride + o;
        if (a->bias) y[i] = _mm512_add_ps(y[i], _mm512_maskz_loadu_ps(mask, a->bias + o));
        if (a->residual) y[i] = _mm512_add_ps(y[i], _mm512_maskz_loadu_ps(mask, a->residual + at));
        _mm512_mask_storeu_ps(a->y + at, mask, y[i]);
    }
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
    case 8: tile_rows(a, tile, r, o, quant_bytes, has_offset, 8); break;
    case 9: tile_rows(a, tile, r, o, quant_bytes, has_offset, 9); break;
    case 10: tile_rows(a, tile, r, o, quant_bytes, has_offset, 10); break;
    case 11: tile_rows(a, tile, r, o, quant_bytes, has_offset, 11); break;
    default: tile_rows(a, tile, r, o, quant_bytes, has_offset, ROWS); break;
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
