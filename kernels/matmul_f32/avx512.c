/* 12 rows by 32 channels in twenty-four vectors: two loads of weights and twelve broadcasts feed twenty-four
 * multiply-adds. Few rows take more channels instead, so that no multiply-add waits for the last one. */
#include <immintrin.h>

#include "matmul_f32/matmul_f32.h"

#define ROWS 12
#define TILES 8 /* at most, side by side */

/* A constant number of turns, of which `rows` is known at compile time to be few: both gcc 12 and clang 14 unroll this
 * wholly, and so keep the rows' sums in registers. */
#define EACH_ROW(k) _Pragma("GCC unroll 12") for (size_t k = 0; k < ROWS; k++) if (k < rows)
#define EACH_TILE(t) _Pragma("GCC unroll 8") for (size_t t = 0; t < TILES; t++) if (t < tiles)

static inline void store(const struct sm_matmul_f32 *a, size_t r, size_t o, __m512 y)
{
    if (o >= a->out) return;
    const size_t left = a->out - o, at = r * a->y_stride + o;
    const __mmask16 mask = (__mmask16)(left < 16 ? (1u << left) - 1 : 0xffff);
    if (a->bias) y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(mask, a->bias + o));
    if (a->residual) y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(mask, a->residual + at));
    _mm512_mask_storeu_ps(a->y + at, mask, y);
}

/* `rows` rows from r on of `tiles` times 16 channels from o on; rows * tiles is at most 24. */
static inline __attribute__((always_inline)) void tile_rows(const struct sm_matmul_f32 *a, size_t r, size_t o,
                                                            size_t tiles, size_t rows)
{
    const size_t tile = a->in * SM_MATMUL_F32_TILE;
    const float *w = (const float *)a->w + o * a->in, *x = a->x + r * a->x_stride;
    __m512 y[ROWS][TILES];
    EACH_ROW(k)
    EACH_TILE(t) y[k][t] = _mm512_setzero_ps();
    for (size_t i = 0; i < a->in; i++, w += SM_MATMUL_F32_TILE) {
        __m512 column[TILES];
        EACH_TILE(t) column[t] = _mm512_load_ps(w + t * tile);
        EACH_ROW(k)
        {
            const __m512 v = _mm512_set1_ps(x[k * a->x_stride + i]);
            EACH_TILE(t) y[k][t] = _mm512_fmadd_ps(column[t], v, y[k][t]);
        }
    }
    EACH_ROW(k)
    EACH_TILE(t) store(a, r + k, o + t * SM_MATMUL_F32_TILE, y[k][t]);
}

/* All rows of `tiles` tiles from o on. */
static inline __attribute__((always_inline)) void all_rows(const struct sm_matmul_f32 *a, struct sm_part part, size_t o,
                                                           size_t tiles)
{
    size_t r = part.row_begin;
    for (; r + ROWS <= part.row_end; r += ROWS) tile_rows(a, r, o, tiles, ROWS);
    const size_t left = part.row_end - r;
    if (left & 8) tile_rows(a, r, o, tiles, 8);
    if (left & 4) tile_rows(a, r + (left & 8), o, tiles, 4);
    if (left & 2) tile_rows(a, r + (left & 12), o, tiles, 2);
    if (left & 1) tile_rows(a, part.row_end - 1, o, tiles, 1);
}

void sm_matmul_f32_avx512(const void *args, struct sm_part part)
{
    const struct sm_matmul_f32 *a = args;
    size_t o = part.col_begin;
    if (part.row_begin >= part.row_end) return;
    if (part.row_end - part.row_begin == 1)
        for (; o + TILES * SM_MATMUL_F32_TILE <= part.col_end; o += TILES * SM_MATMUL_F32_TILE)
            tile_rows(a, part.row_begin, o, TILES, 1);
    for (; o + SM_MATMUL_F32_TILE < part.col_end; o += 2 * SM_MATMUL_F32_TILE) all_rows(a, part, o, 2);
    if (o < part.col_end) all_rows(a, part, o, 1);
}
