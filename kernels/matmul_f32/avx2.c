/* 6 rows by 16 channels in twelve vectors: two loads of weights and six broadcasts feed twelve multiply-adds. */
#include <immintrin.h>

#include "matmul_f32/matmul_f32.h"

#define ROWS 6

/* A constant number of turns, of which `rows` is known at compile time to be few: both gcc 12 and clang 14 unroll this
 * wholly, and so keep the rows' sums in registers. */
#define EACH_ROW(k) _Pragma("GCC unroll 6") for (size_t k = 0; k < ROWS; k++) if (k < rows)

static inline __m256i first_lanes(size_t count)
{
    const int left = count < 8 ? (int)count : 8;
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(left), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline void store_half(const struct sm_matmul_f32 *a, size_t r, size_t o, __m256 y)
{
    if (o >= a->out) return;
    const __m256i mask = first_lanes(a->out - o);
    const size_t at = r * a->y_stride + o;
    if (a->bias) y = _mm256_add_ps(y, _mm256_maskload_ps(a->bias + o, mask));
    if (a->residual) y = _mm256_add_ps(y, _mm256_maskload_ps(a->residual + at, mask));
    _mm256_maskstore_ps(a->y + at, mask, y);
}

/* `rows` rows from r on of the 16 channels from o on. */
static inline __attribute__((always_inline)) void tile_rows(const struct sm_matmul_f32 *a, size_t r, size_t o,
                                                            size_t rows)
{
    const float *w = (const float *)a->w + o * a->in, *x = a->x + r * a->x_stride;
    __m256 y[ROWS][2];
    EACH_ROW(k) y[k][0] = y[k][1] = _mm256_setzero_ps();
    for (size_t i = 0; i < a->in; i++, w += SM_MATMUL_F32_TILE) {
        const __m256 low = _mm256_load_ps(w), high = _mm256_load_ps(w + 8);
        EACH_ROW(k)
        {
            const __m256 v = _mm256_broadcast_ss(x + k * a->x_stride + i);
            y[k][0] = _mm256_fmadd_ps(low, v, y[k][0]);
            y[k][1] = _mm256_fmadd_ps(high, v, y[k][1]);
        }
    }
    EACH_ROW(k)
    {
        store_half(a, r + k, o, y[k][0]);
        store_half(a, r + k, o + 8, y[k][1]);
    }
}

void sm_matmul_f32_avx2(const void *args, struct sm_part part)
{
    const struct sm_matmul_f32 *a = args;
    if (part.row_begin >= part.row_end) return;
    for (size_t o = part.col_begin; o < part.col_end; o += SM_MATMUL_F32_TILE) {
        size_t r = part.row_begin;
        for (; r + ROWS <= part.row_end; r += ROWS) tile_rows(a, r, o, ROWS);
        const size_t left = part.row_end - r;
        if (left & 4) tile_rows(a, r, o, 4);
        if (left & 2) tile_rows(a, r + (left & 4), o, 2);
        if (left & 1) tile_rows(a, part.row_end - 1, o, 1);
    }
}
