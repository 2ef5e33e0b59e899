/* matmul_channel_a8_avx512vnni_body.h - weights per output channel times int8 rows, with vpdpbusd.
 *
 * Included by one variant, which defines ARGS, DOT, SCALE_OF and BITS first. A lane is an output channel; a step takes
 * TILES tiles of 16 channels and `rows` rows, each of whose fours of values is broadcast once for all tiles. Nothing
 * but integers stands in the loop. A sum is at most 15 * 127 * 2^20 or 255 * 127 * 2^16 in size, below 2^31, and so is
 * zero * sum: the families' axes end there. */
#include <immintrin.h>
#include <stdalign.h>

#define LANES 16
#include "matmul_channel_store_body.h"
#include "matmul_walk.h"

#define ROWS 8
#define TILES 4
#define STEP 8 /* inputs; a tile has 64 bytes of four bits or 128 of eight for them */

/* Constant numbers of turns, of which `rows` and `tiles` are known at compile time to be few: unrolled wholly, so that
 * sums stay in registers. */
#define EACH_ROW(k) _Pragma("GCC unroll 8") for (size_t k = 0; k < ROWS; k++) if (k < rows)
#define EACH_TILE(t) _Pragma("GCC unroll 4") for (size_t t = 0; t < TILES; t++) if (t < tiles)

static inline __m512i broadcast32(const void *four)
{
    int32_t value;
    memcpy(&value, four, sizeof value);
    return _mm512_set1_epi32(value);
}

/* w[0], w[1]: the first and the second four inputs of the step. */
static inline __attribute__((always_inline)) void load_step(__m512i w[2], const uint8_t *quants)
{
    if (BITS == 4) {
        const __m512i bytes = _mm512_load_si512(quants), low = _mm512_set1_epi8(15);
        w[0] = _mm512_and_si512(bytes, low);
        w[1] = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), low);
    } else {
        w[0] = _mm512_load_si512(quants);
        w[1] = _mm512_load_si512(quants + 64);
    }
}

/* `rows` rows from r on of the channels of `tiles` tiles, the first of which is o. */
static inline __attribute__((always_inline)) void tiles_rows(const ARGS *a, size_t r, size_t o, size_t tiles,
                                                             size_t rows)
{
    const size_t tile_bytes = sm_channel_tile_bytes(a->in, BITS);
    const int8_t *x = a->x.q + r * a->in;
    const uint8_t *quants = head_of(a, o) + SM_CHANNEL_HEAD;
    __m512i dot[TILES][ROWS];
    EACH_TILE(t) EACH_ROW(k) dot[t][k] = _mm512_setzero_si512();
    for (size_t i = 0; i < a->in; i += STEP, x += STEP, quants += 64 * BITS / 4) {
        __m512i w[TILES][2];
        EACH_TILE(t)
        {
            load_step(w[t], quants + t * tile_bytes);
            if (BITS == 4 || rows > 2) SM_PREFETCH_L2(quants + (t + tiles) * tile_bytes);
            if (BITS == 8 && rows > 2) SM_PREFETCH_L2(quants + (t + tiles) * tile_bytes + 64);
        }
        EACH_ROW(k)
        {
            const __m512i first = broadcast32(x + k * a->in);
            EACH_TILE(t) dot[t][k] = _mm512_dpbusd_epi32(dot[t][k], w[t][0], first);
        }
        EACH_ROW(k)
        {
            const __m512i second = broadcast32(x + k * a->in + 4);
            EACH_TILE(t) dot[t][k] = _mm512_dpbusd_epi32(dot[t][k], w[t][1], second);
        }
    }
    alignas(64) int32_t lanes[LANES];
    EACH_TILE(t) EACH_ROW(k)
    {
        _mm512_store_si512(lanes, dot[t][k]);
        store_lanes(a, r + k, o + t * LANES, lanes, 0);
    }
}

static inline __attribute__((always_inline)) void tiles_any_rows(const ARGS *a, size_t r, size_t o, size_t rows)
{
    switch (rows) {
    case 1: tiles_rows(a, r, o, 2, 1); break;
    case 2: tiles_rows(a, r, o, 2, 2); break;
    case 3: tiles_rows(a, r, o, 2, 3); break;
    case 4: tiles_rows(a, r, o, 2, 4); break;
    case 5: tiles_rows(a, r, o, 2, 5); break;
    case 6: tiles_rows(a, r, o, 2, 6); break;
    case 7: tiles_rows(a, r, o, 2, 7); break;
    case 8: tiles_rows(a, r, o, 2, 8); break;
    default: tiles_rows(a, r, o, 2, ROWS); break;
    }
}

/* Few rows take four tiles at once, so that there are sums enough to hide how long each addition takes. */
static inline __attribute__((always_inline)) void matmul(const ARGS *a, struct sm_part part)
{
    const size_t all = part.row_end - part.row_begin;
    size_t first = part.col_begin;
    if (all <= 2)
        for (; first + 4 * LANES <= part.col_end; first += 4 * LANES) {
            if (all == 1)
                tiles_rows(a, part.row_begin, first, 4, 1);
            else
                tiles_rows(a, part.row_begin, first, 4, 2);
        }
    const struct sm_walk walk = sm_walk(part, ROWS, 2 * LANES, 2 * sm_channel_tile_bytes(a->in, BITS));
    for (size_t begin = first, end; begin < part.col_end; begin = end) {
        end = sm_walk_columns_end(&walk, begin);
        for (size_t i = 0; i < walk.row_blocks; i++) {
            const size_t r = sm_walk_row(&walk, i), rows = sm_walk_row(&walk, i + 1) - r;
            for (size_t o = begin; o < end; o += 2 * LANES) tiles_any_rows(a, r, o, rows);
        }
    }
}
