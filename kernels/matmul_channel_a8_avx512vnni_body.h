/* matmul_channel_a8_avx512vnni_body.h - weights per output channel times int8 rows, with vpdpbusd.
 *
 * Included by one variant, which defines ARGS, SCALE_OF and BITS first. A lane is an output channel. Up to FEW
 * rows take one tile of 16 channels at a time, in PARTS interleaved parts of the inputs: there are sums enough to hide
 * how long an addition takes, and weights pass as one stream, which hardware follows best. More rows take two tiles,
 * so that each four of values that is broadcast meets two vectors of weights. Nothing but integers stands in the loop.
 * A sum is at most 15 * 127 * 2^20 or 255 * 127 * 2^16 in size, below 2^31, and so is zero * sum: the families' axes
 * end there. With BESIDE_TILES defined it is for processors with AMX. */
#include <immintrin.h>

#include "in_order.h"
#include "matmul_channel_tile.h"
#include "matmul_walk.h"

#define LANES 16
#define ROWS 8
#define FEW 4
#define PARTS 4
#define TILES 2
#define STEP 8 /* inputs; a tile has 64 bytes of four bits or 128 of eight for them */
#define STEP_BYTES (STEP * LANES * BITS / 8)
#define AHEAD 8192 /* bytes; one or two rows stream faster without, but for the beginnings of pages */
#ifdef BESIDE_TILES
#define BY_WINDOW 1 /* as sm_prefetch_window says, up to FEW rows */
#else
#define BY_WINDOW 0
#endif

/* Constant numbers of turns, of which `rows` and `tiles` are known at compile time to be few: unrolled wholly, so that
 * sums stay in registers. */
#define EACH_ROW(k) _Pragma("GCC unroll 8") for (size_t k = 0; k < ROWS; k++) if (k < rows)
#define EACH_TILE(t) _Pragma("GCC unroll 2") for (size_t t = 0; t < TILES; t++) if (t < tiles)
#define EACH_PART(p) _Pragma("GCC unroll 4") for (size_t p = 0; p < PARTS; p++)

static inline __m512i broadcast32(const void *four)
{
    int32_t value;
    memcpy(&value, four, sizeof value);
    return _mm512_set1_epi32(value);
}

/* w[0], w[1]: the first and the second four inputs of a step. */
static inline __attribute__((always_inline)) void load_step(__m512i w[2], const uint8_t *quants)
{
    if (BITS == 4) {
        __m512i bytes = _mm512_load_si512(quants);
        const __m512i low = _mm512_set1_epi8(15);
        SM_IN_ORDER(bytes); /* gcc 12 else loads them twice */
        w[0] = _mm512_and_si512(bytes, low);
#ifdef BESIDE_TILES /* a shift would take the products' ports as well; bit i is bit i + 4 */
        w[1] = _mm512_gf2p8affine_epi64_epi8(bytes, _mm512_set1_epi64(0x1020408000000000), 0);
#else
        w[1] = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), low);
#endif
    } else {
        w[0] = _mm512_load_si512(quants);
        w[1] = _mm512_load_si512(quants + 64);
    }
}

static inline const uint8_t *tile_of(const ARGS *a, size_t o)
{
    return (const uint8_t *)a->w + o / SM_CHANNELS * sm_channel_tile_bytes(a->in, BITS);
}

/* The last steps of matmul_channel.h for the channels of a tile. One may begin past `out`. */
static inline __attribute__((always_inline)) void store_rows(const ARGS *a, size_t r, size_t o, const __m512i *dot,
                                                             size_t rows)
{
    if (o >= a->out) return;
    const __mmask16 mask = (__mmask16)(a->out - o < LANES ? (1u << (a->out - o)) - 1 : 0xffff);
    const uint8_t *head = tile_of(a, o);
    const __m512 scale = _mm512_load_ps(head);
    const __m512i zero = _mm512_load_si512(head + 64);
    EACH_ROW(k)
    {
        const size_t at = (r + k) * a->y_stride + o;
        const __m512i less = _mm512_mullo_epi32(zero, _mm512_set1_epi32(a->x.sum[r + k]));
        __m512 y = _mm512_mul_ps(scale, _mm512_set1_ps(SCALE_OF(a->x, r + k)));
        y = _mm512_mul_ps(y, _mm512_cvtepi32_ps(_mm512_sub_epi32(dot[k], less)));
        if (a->bias) y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(mask, a->bias + o));
        if (a->residual) y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(mask, a->residual + at));
        _mm512_mask_storeu_ps(a->y + at, mask, y);
    }
}

/* Where each row begins. */
static inline __attribute__((always_inline)) void row_offsets(size_t *at, size_t in, size_t rows)
{
    EACH_ROW(k)
    {
        at[k] = k * in;
        __asm__("" : "+r"(at[k])); /* kept in registers: clang 14 else adds up the strides on every turn */
    }
}

/* `rows` rows, at most FEW, from r on of the tile of channel o. */
static inline __attribute__((always_inline)) void few_rows(const ARGS *a, size_t r, size_t o, size_t rows)
{
    const int8_t *x = a->x.q + r * a->in;
    const uint8_t *quants = tile_of(a, o) + SM_CHANNEL_HEAD;
    size_t at[ROWS];
    __m512i dot[PARTS][ROWS], all[ROWS];
    row_offsets(at, a->in, rows);
    EACH_PART(p) EACH_ROW(k) dot[p][k] = _mm512_setzero_si512();
    if (!BY_WINDOW && rows <= 2) sm_prefetch_pages(quants, sm_channel_tile_bytes(a->in, BITS));
    for (size_t i = 0; i < a->in; i += PARTS * STEP, x += PARTS * STEP, quants += PARTS * STEP_BYTES) {
        if (BY_WINDOW)
            sm_prefetch_window(a->w, (size_t)(quants - (const uint8_t *)a->w) / (PARTS * STEP_BYTES),
                               PARTS * STEP_BYTES / 64);
        EACH_PART(p)
        {
            __m512i w[2];
            load_step(w, quants + p * STEP_BYTES);
            if (!BY_WINDOW && rows > 2) SM_PREFETCH_L2(quants + p * STEP_BYTES + AHEAD);
            if (!BY_WINDOW && rows > 2 && BITS == 8) SM_PREFETCH_L2(quants + p * STEP_BYTES + 64 + AHEAD);
            EACH_ROW(k)
            {
                const int8_t *eight = x + at[k] + p * STEP;
                dot[p][k] = _mm512_dpbusd_epi32(dot[p][k], w[0], broadcast32(eight));
                SM_IN_ORDER(dot[p][k]);
                dot[p][k] = _mm512_dpbusd_epi32(dot[p][k], w[1], broadcast32(eight + 4));
                SM_IN_ORDER(dot[p][k]);
            }
        }
    }
    EACH_ROW(k)
    {
        all[k] = _mm512_add_epi32(dot[0][k], dot[1][k]);
        all[k] = _mm512_add_epi32(all[k], _mm512_add_epi32(dot[2][k], dot[3][k]));
    }
    store_rows(a, r, o, all, rows);
}

/* `rows` rows from r on of the channels of two tiles, the first of which is o; fetches what lies `ahead` bytes on. */
static inline __attribute__((always_inline)) void pair_rows(const ARGS *a, size_t r, size_t o, size_t ahead,
                                                            size_t rows)
{
    const size_t tile_bytes = sm_channel_tile_bytes(a->in, BITS), tiles = TILES;
    const int8_t *x = a->x.q + r * a->in;
    const uint8_t *quants = tile_of(a, o) + SM_CHANNEL_HEAD;
    size_t at[ROWS];
    __m512i dot[TILES][ROWS];
    row_offsets(at, a->in, rows);
    EACH_TILE(t) EACH_ROW(k) dot[t][k] = _mm512_setzero_si512();
    for (size_t i = 0; i < a->in; i += STEP, x += STEP, quants += STEP_BYTES) {
        __m512i w[TILES][2];
        EACH_TILE(t) load_step(w[t], quants + t * tile_bytes);
        EACH_TILE(t)
        {
            SM_PREFETCH_L2(quants + t * tile_bytes + ahead);
            if (BITS == 8) SM_PREFETCH_L2(quants + t * tile_bytes + ahead + 64);
        }
        _Pragma("GCC unroll 2") for (size_t j = 0; j < 2; j++)
        {
            EACH_ROW(k)
            {
                const __m512i four = broadcast32(x + at[k] + 4 * j);
                EACH_TILE(t)
                {
                    dot[t][k] = _mm512_dpbusd_epi32(dot[t][k], w[t][j], four);
                    SM_IN_ORDER(dot[t][k]);
                }
            }
        }
    }
    EACH_TILE(t) store_rows(a, r, o + t * LANES, dot[t], rows);
}

static inline __attribute__((always_inline)) void pair_any_rows(const ARGS *a, size_t r, size_t o, size_t ahead,
                                                                size_t rows)
{
    switch (rows) {
    case 3: pair_rows(a, r, o, ahead, 3); break;
    case 4: pair_rows(a, r, o, ahead, 4); break;
    case 5: pair_rows(a, r, o, ahead, 5); break;
    case 6: pair_rows(a, r, o, ahead, 6); break;
    case 7: pair_rows(a, r, o, ahead, 7); break;
    default: pair_rows(a, r, o, ahead, ROWS); break;
    }
}

static inline __attribute__((always_inline)) void all_few_rows(const ARGS *a, struct sm_part part, size_t rows)
{
    for (size_t o = part.col_begin; o < part.col_end; o += LANES) few_rows(a, part.row_begin, o, rows);
}

static inline __attribute__((always_inline)) void matmul(const ARGS *a, struct sm_part part)
{
    switch (part.row_end - part.row_begin) {
    case 1: all_few_rows(a, part, 1); return;
    case 2: all_few_rows(a, part, 2); return;
    case 3: all_few_rows(a, part, 3); return;
    case 4: all_few_rows(a, part, 4); return;
    default: break;
    }
    const struct sm_walk walk = sm_walk(part, ROWS, 2 * LANES, 2 * sm_channel_tile_bytes(a->in, BITS));
    for (size_t begin = part.col_begin, end; begin < part.col_end; begin = end) {
        end = sm_walk_columns_end(&walk, begin);
        for (size_t i = 0; i < walk.row_blocks; i++) {
            const size_t r = sm_walk_row(&walk, i), rows = sm_walk_row(&walk, i + 1) - r;
            /* the next pair, the first time that the chunk is read */
            const size_t ahead = i ? 0 : 2 * sm_channel_tile_bytes(a->in, BITS);
            for (size_t o = begin; o < end; o += 2 * LANES) pair_any_rows(a, r, o, ahead, rows);
        }
    }
}
