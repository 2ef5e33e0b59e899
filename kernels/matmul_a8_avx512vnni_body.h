/* matmul_a8_avx512vnni_body.h - group-quantised weights (matmul_tile.h) times int8 rows, with vpdpbusd.
 *
 * Included by one variant, which defines ARGS (its family's argument struct) first. A lane is an output channel. The
 * eight vectors of a block of weights, expanded to unsigned bytes, stay in registers while up to ROWS rows of
 * activations pass by, four values broadcast at a time; integers become floats once a block. What the unsigned bytes
 * are too large by (8 in Q4_0, 128 in Q8_0) is subtracted as that times the group's sum: a sum fits 16 bits, so
 * vpdpwssd does it. No integer saturates: vpdpbusd sums four products of at most 255 * 127 in 32 bits. */
#include <immintrin.h>

#include "matmul_tile.h"

#define ROWS 8

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

static inline __attribute__((always_inline)) void load_block(__m512i w[8], const uint8_t *quants, size_t quant_bytes)
{
    const __m512i low = _mm512_set1_epi8(15);
    if (quant_bytes == 32) {
        for (int j = 0; j < 8; j++) w[j] = _mm512_load_si512(quants + 64 * j);
        return;
    }
    for (int j = 0; j < 4; j++) {
        const __m512i bytes = _mm512_load_si512(quants + 64 * j);
        w[j] = _mm512_and_si512(bytes, low);
        w[4 + j] = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), low);
    }
}

/* `rows` rows from r on of the 16 channels from o on. */
static inline __attribute__((always_inline)) void tile_rows(const ARGS *a, const uint8_t *tile, size_t r, size_t o,
                                                            size_t quant_bytes, int has_offset, size_t rows)
{
    const size_t blocks = a->in / SM_GROUP;
    const uint8_t *scales = tile + sm_tile_scales_at(a->in, quant_bytes);
    const int8_t *x = a->x.q + r * a->in;
    const float *x_scale = a->x.scale + r * blocks;
    const int32_t *x_sum = a->x.sum + r * blocks;
    const __m512i excess = _mm512_set1_epi32(quant_bytes == 32 ? 0xff80 : 0xfff8); /* -128 or -8 in the low word */
    __m512 y[ROWS];
    for (size_t i = 0; i < rows; i++) y[i] = _mm512_setzero_ps();
    for (size_t b = 0; b < blocks; b++) {
        __m512i w[8];
        load_block(w, tile + b * quant_bytes * SM_TILE, quant_bytes);
        const __m512 d = load_halves(scales + b * (has_offset ? 64 : 32));
        const __m512 m = has_offset ? load_halves(scales + b * 64 + 32) : _mm512_setzero_ps();
#pragma GCC unroll 8
        for (size_t i = 0; i < rows; i++) {
            const int8_t *four = x + i * a->in + b * SM_GROUP;
            const __m512i sum = broadcast32(&x_sum[i * blocks + b]);
            __m512i dot = _mm512_setzero_si512();
            if (!has_offset) dot = _mm512_dpwssd_epi32(dot, sum, excess);
            for (int j = 0; j < 8; j++) dot = _mm512_dpbusd_epi32(dot, w[j], broadcast32(four + 4 * j));
            __m512 t = _mm512_mul_ps(d, _mm512_cvtepi32_ps(dot));
            if (has_offset) t = _mm512_fmadd_ps(m, _mm512_cvtepi32_ps(sum), t);
            y[i] = _mm512_fmadd_ps(_mm512_set1_ps(x_scale[i * blocks + b]), t, y[i]);
        }
    }
    const __mmask16 mask = a->out - o >= SM_TILE ? 0xffff : (__mmask16)((1u << (a->out - o)) - 1);
    for (size_t i = 0; i < rows; i++) {
        const size_t at = (r + i) * a->y_stride + o;
        if (a->bias) y[i] = _mm512_add_ps(y[i], _mm512_maskz_loadu_ps(mask, a->bias + o));
        if (a->residual) y[i] = _mm512_add_ps(y[i], _mm512_maskz_loadu_ps(mask, a->residual + at));
        _mm512_mask_storeu_ps(a->y + at, mask, y[i]);
    }
}

static inline __attribute__((always_inline)) void matmul_tiles(const ARGS *a, struct sm_part part, size_t quant_bytes,
                                                               int has_offset)
{
    const size_t tile_bytes = sm_tile_bytes(a->in, quant_bytes, has_offset);
    for (size_t o = part.col_begin; o < part.col_end; o += SM_TILE) {
        const uint8_t *tile = (const uint8_t *)a->w + o / SM_TILE * tile_bytes;
        size_t r = part.row_begin;
        for (; r + ROWS <= part.row_end; r += ROWS) tile_rows(a, tile, r, o, quant_bytes, has_offset, ROWS);
        switch (part.row_end - r) {
        case 1: tile_rows(a, tile, r, o, quant_bytes, has_offset, 1); break;
        case 2: tile_rows(a, tile, r, o, quant_bytes, has_offset, 2); break;
        case 3: tile_rows(a, tile, r, o, quant_bytes, has_offset, 3); break;
        case 4: tile_rows(a, tile, r, o, quant_bytes, has_offset, 4); break;
        case 5: tile_rows(a, tile, r, o, quant_bytes, has_offset, 5); break;
        case 6: tile_rows(a, tile, r, o, quant_bytes, has_offset, 6); break;
        case 7: tile_rows(a, tile, r, o, quant_bytes, has_offset, 7); break;
        default: break;
        }
    }
}
