/* matmul_channel_a16_body.h - weights per output channel times int16 rows, two inputs at a time in 32-bit lanes.
 *
 * Included by one variant, which defines ARGS, DOT (int64_t), SCALE_OF, BITS, LANES, the vector operations below and
 * ROWS first. A lane is an output channel; a step takes `units` vectors of channels and `rows` rows, each of whose
 * pairs of values is broadcast once for all units.
 *
 *     VECTOR               the type
 *     ZERO()               of zeros
 *     LOAD(p)              LANES words of four nibbles for each of two inputs
 *     NIBBLE(v, j)         nibble j of every 16-bit half
 *     WIDEN(p)             2 * LANES signed bytes, each in 16 bits
 *     BROADCAST(p)         the two int16 at p in every lane
 *     MULADD(sum, w, x)    sum + the two products of each lane
 *     STORE(p, v)          to LANES aligned int32
 *
 * 32 bits hold the sums of CHUNK inputs: 4096 * 15 * 32768 and 480 * 128 * 32768 are below 2^31 (8-bit weights are
 * stored less 128). After each chunk they move to 64 bits. */
#include <immintrin.h>
#include <stdalign.h>

#include "in_order.h"
#include "matmul_channel_store_body.h"
#include "matmul_walk.h"

#define UNITS 4
#define STEP 8 /* inputs */
#define CHUNK (BITS == 4 ? 4096u : 480u)

/* Constant numbers of turns, of which `rows` and `units` are known at compile time to be few: unrolled wholly, so that
 * sums stay in registers. */
#define EACH_ROW(k) _Pragma("GCC unroll 8") for (size_t k = 0; k < ROWS; k++) if (k < rows)
#define EACH_UNIT(u) _Pragma("GCC unroll 4") for (size_t u = 0; u < UNITS; u++) if (u < units)

/* Adds `count` inputs, whose quants and values begin at the pointers. */
static inline __attribute__((always_inline)) void add_inputs(VECTOR dot[UNITS][ROWS], const uint8_t *const *quants,
                                                             const int16_t *x, size_t in, size_t count, size_t units,
                                                             size_t rows)
{
    const size_t step_bytes = STEP * SM_CHANNELS * BITS / 8;
    const size_t ahead = units * LANES / SM_CHANNELS * sm_channel_tile_bytes(in, BITS);
    for (size_t i = 0, at = 0; i < count; i += STEP, at += step_bytes, x += STEP) {
        VECTOR nibbles[UNITS];
        if (BITS == 4) {
            EACH_UNIT(u)
            {
                nibbles[u] = LOAD(quants[u] + at);
                SM_PREFETCH_L2(quants[u] + at + ahead);
            }
        }
#pragma GCC unroll 4
        for (size_t j = 0; j < 4; j++) {
            VECTOR w[UNITS];
            EACH_UNIT(u) w[u] = BITS == 4 ? NIBBLE(nibbles[u], j) : WIDEN(quants[u] + at + 32 * j);
            EACH_ROW(k)
            {
                const VECTOR pair = BROADCAST(x + k * in + 2 * j);
                EACH_UNIT(u)
                {
                    dot[u][k] = MULADD(dot[u][k], w[u], pair);
                    SM_IN_ORDER(dot[u][k]);
                }
            }
        }
    }
}

/* `rows` rows from r on of `units` vectors of channels from o on. */
static inline __attribute__((always_inline)) void units_rows(const ARGS *a, size_t r, size_t o, size_t units,
                                                             size_t rows)
{
    const size_t unit_bytes = BITS == 4 ? LANES * 4 : LANES * 2; /* of a vector, beside the rest of its tile */
    const uint8_t *quants[UNITS] = {NULL};
    alignas(64) int32_t lanes[LANES];
    int64_t wide[UNITS][ROWS][LANES];
    EACH_UNIT(u)
    {
        const size_t begin = o + u * LANES, tile = begin / SM_CHANNELS;
        quants[u] = (const uint8_t *)a->w + tile * sm_channel_tile_bytes(a->in, BITS) + SM_CHANNEL_HEAD +
                    begin % SM_CHANNELS / LANES * unit_bytes;
    }
    EACH_UNIT(u) EACH_ROW(k) memset(wide[u][k], 0, sizeof wide[u][k]);
    for (size_t i = 0; i < a->in; i += CHUNK) {
        const size_t count = a->in - i < CHUNK ? a->in - i : CHUNK;
        VECTOR dot[UNITS][ROWS];
        EACH_UNIT(u) EACH_ROW(k) dot[u][k] = ZERO();
        add_inputs(dot, quants, a->x.q + r * a->in + i, a->in, count, units, rows);
        EACH_UNIT(u) quants[u] += count * SM_CHANNELS * BITS / 8;
        EACH_UNIT(u) EACH_ROW(k)
        {
            STORE(lanes, dot[u][k]);
            for (size_t l = 0; l < LANES; l++) wide[u][k][l] += lanes[l];
        }
    }
    EACH_UNIT(u) EACH_ROW(k) store_lanes(a, r + k, o + u * LANES, wide[u][k], 0);
}

static inline __attribute__((always_inline)) void units_any_rows(const ARGS *a, size_t r, size_t o, size_t rows)
{
    if (ROWS > 4) {
        switch (rows) {
        case 5: units_rows(a, r, o, 2, 5); return;
        case 6: units_rows(a, r, o, 2, 6); return;
        case 7: units_rows(a, r, o, 2, 7); return;
        case 8: units_rows(a, r, o, 2, 8); return;
        default: break;
        }
    }
    switch (rows) {
    case 1: units_rows(a, r, o, 2, 1); break;
    case 2: units_rows(a, r, o, 2, 2); break;
    case 3: units_rows(a, r, o, 2, 3); break;
    default: units_rows(a, r, o, 2, 4); break;
    }
}

/* Few rows take four vectors at once, so that there are sums enough to hide how long each addition takes. */
static inline __attribute__((always_inline)) void matmul(const ARGS *a, struct sm_part part)
{
    const size_t all = part.row_end - part.row_begin;
    size_t first = part.col_begin;
    if (all <= 2)
        for (; first + 4 * LANES <= part.col_end; first += 4 * LANES) {
            if (all == 1)
                units_rows(a, part.row_begin, first, 4, 1);
            else
                units_rows(a, part.row_begin, first, 4, 2);
        }
    const size_t tile_bytes = sm_channel_tile_bytes(a->in, BITS);
    const struct sm_walk walk = sm_walk(part, ROWS, 2 * SM_CHANNELS, 2 * tile_bytes);
    for (size_t begin = first, end; begin < part.col_end; begin = end) {
        end = sm_walk_columns_end(&walk, begin);
        for (size_t i = 0; i < walk.row_blocks; i++) {
            const size_t r = sm_walk_row(&walk, i), rows = sm_walk_row(&walk, i + 1) - r;
            for (size_t o = begin; o < end; o += 2 * LANES) units_any_rows(a, r, o, rows);
        }
    }
}
