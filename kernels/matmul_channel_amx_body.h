/* matmul_channel_amx_body.h - weights per output channel times rows of integers, by products of tiles.
 *
 * Included by matmul_channel_a8_amx_body.h and matmul_channel_a16_amx_body.h, which define first, beside the loops that
 * take up to FEW_FOR_TILES rows (`matmul`; the variant defines the number):
 *
 *     PLANES                           of bytes that a row is: 1, or 2: high bytes and low ones
 *     PRODUCT_0(sums, x, w)            of tiles of the first strip of rows of a block, and
 *     PRODUCT_1(sums, x, w)            of the second: see below
 *     AS_TILES_WANT                    weights of whole DEPTHs may be loaded from where they lie
 *     load_step(w, quants)             STEP inputs of sixteen channels from STEP_BYTES, four to a vector
 *     tile_of(a, o)                    where the tile of channel o lies
 *     copy_inputs(to, plane, x, more)  DEPTH inputs of a row, of which the last 32 are there or not, in that order;
 *                                      planes lie `plane` bytes apart
 *     store_sums(a, r, o, s, t)        the last steps for row r and sixteen channels, whose sums are at s and t;
 *                                      NULL: all are at s
 *
 * A block is two strips of rows by two tiles of channels: four sums, which is what it takes to hide how long a product
 * waits for the one before it, and four loads for four products. Strips are row tiles, or the two planes of one.
 * Activations stand on the left, 64 inputs of each row; weights on the right, where the layout is that of a tile: a row
 * is four inputs of sixteen channels. A single strip splits its inputs in two instead, which makes four sums as well.
 *
 * Loads are what binds: a line from the second-level cache is reckoned at two cycles, and four products take 64. So a
 * band of rows goes over the weights together. Its activations are copied once into tiles that lie in one piece; of a
 * pair of channel tiles, up to CHUNK inputs at a time stay in the first-level cache for all blocks of the band, and
 * sums wait in memory between chunks. Activations pass it by. Weights that lie otherwise than tiles want them are
 * expanded there. All row tiles of a band are of one height: the last one may begin in the one before it, and then
 * stores only its own rows. Zeros follow the last inputs.
 *
 * Between products `meanwhile` does the last steps of the block before, and fetches the weights of the next channels.
 */
#include <stdalign.h>

#include "amx.h"

#define DEPTH 64                           /* inputs of a product */
#define CHUNK (AS_TILES_WANT ? 1024 : 576) /* at most; measured: expanding takes room too */
#define BAND 256                           /* rows, at most */
#define BAND_BLOCKS (BAND / SM_AMX_ROWS * PLANES / 2)
#define BAND_BYTES (256 * 1024) /* of a plane of activations */
#define MOST_IN_FOR_TILES (BAND_BYTES / SM_AMX_ROWS)
#define LATE_AHEAD 8 /* rows, whose results are fetched before they are written */
#define PAIR (2 * LANES)
#define TILE_WORDS (SM_AMX_ROWS * LANES)
#define TILE_BYTES (SM_AMX_ROWS * SM_AMX_BYTES)

/* Tile 2s + c of a block: strip, or half of the inputs, s; channel tile c. */
typedef int32_t block_sums[4][TILE_WORDS];

struct band {
    const ARGS *a;
    size_t row, rows, tiles, strips, height, steps; /* steps: of DEPTH inputs */
    size_t chunk;                                   /* inputs, whole steps: all as equal as can be */
    /* The block whose last steps are due: its first row tile and channel, and of its rows, which are counted through
     * all its row tiles, those from late_row on, a few after every four products. */
    size_t late_tile, late_o, late_row, late_rows, late_step;
    const block_sums *late;
    /* What is to be fetched, so many bytes after every four products. */
    const uint8_t *ahead, *ahead_end;
    size_t ahead_step;
    alignas(64) block_sums sums[2][BAND_BLOCKS]; /* of a pair of channel tiles and the one before, in turn */
    alignas(64) uint8_t w[2][CHUNK * LANES];     /* a chunk of two channel tiles as bytes */
    alignas(64) int8_t x[PLANES * BAND_BYTES];   /* [row tile][plane][step][row][DEPTH] */
};

/* The first row of a row tile, in the band. */
static inline size_t tile_row(const struct band *b, size_t t)
{
    const size_t most = b->rows - b->height, row = t * b->height;
    return row < most ? row : most;
}

/* The last steps for row k of the late block. */
static inline __attribute__((always_inline)) void store_late(const struct band *b, size_t k)
{
    const size_t second = k >= b->height, t = b->late_tile + second, row = tile_row(b, t);
    const size_t in_tile = k - second * b->height;
    const int apart = PLANES == 2 || b->late_tile + 1 >= b->tiles; /* two sums make one */
    if (row + in_tile < t * b->height) return;
    for (size_t c = 0; c < 2; c++) {
        const int32_t *sums = (*b->late)[2 * second + c] + in_tile * LANES;
        store_sums(b->a, b->row + row + in_tile, b->late_o + c * LANES, sums, apart ? sums + 2 * TILE_WORDS : NULL);
    }
}

/* Brings the results of row k near, each of which lies in another page, before they are written. */
static inline void fetch_late(const struct band *b, size_t k)
{
    const size_t second = k >= b->height, row = tile_row(b, b->late_tile + second) + k - second * b->height;
    const float *y = b->a->y + (b->row + row) * b->a->y_stride + b->late_o;
    SM_PREFETCH_L2(y);
    SM_PREFETCH_L2(y + LANES);
}

static inline void store_some(struct band *b, size_t rows)
{
    for (; rows && b->late_row < b->late_rows; rows--) {
        fetch_late(b, b->late_row + LATE_AHEAD);
        store_late(b, b->late_row++);
    }
}

static inline void meanwhile(struct band *b)
{
    const uint8_t *end = b->ahead + b->ahead_step;
    store_some(b, b->late_step);
    if (end > b->ahead_end) end = b->ahead_end;
    for (; b->ahead < end; b->ahead += 64) SM_PREFETCH_L2(b->ahead);
}

/* `count` inputs of two channel tiles, from their quants on, as bytes with zeros up to a whole DEPTH. */
static inline void expand(struct band *b, const uint8_t *quants, size_t tile_bytes, size_t count)
{
    for (size_t t = 0; t < 2; t++) {
        const uint8_t *from = quants + t * tile_bytes;
        uint8_t *to = b->w[t];
        size_t i = 0;
        for (; i < count; i += STEP, from += STEP_BYTES) {
            __m512i w[2];
            load_step(w, from);
            _mm512_store_si512(to + i * LANES, w[0]);
            _mm512_store_si512(to + i * LANES + 64, w[1]);
        }
        for (; i % DEPTH; i += 4) _mm512_store_si512(to + i * LANES, _mm512_setzero_si512());
    }
    sm_amx_written(b);
}

/* Loads the n-th DEPTH inputs of two channel tiles. */
#define LOAD_WEIGHTS(w, n)                                                                                             \
    do {                                                                                                               \
        _tile_loadd(6, (w)[0] + (n)*TILE_BYTES, SM_AMX_BYTES);                                                         \
        _tile_loadd(7, (w)[1] + (n)*TILE_BYTES, SM_AMX_BYTES);                                                         \
    } while (0)

/* Adds `steps` times DEPTH inputs of two strips, the first at x. */
static inline void add_pair(struct band *b, const int8_t *x, const uint8_t *const *w, size_t steps)
{
    const int8_t *second = x + b->steps * TILE_BYTES;
    for (size_t n = 0; n < steps; n++) {
        LOAD_WEIGHTS(w, n);
        _tile_stream_loadd(4, x + n * TILE_BYTES, SM_AMX_BYTES);
        _tile_stream_loadd(5, second + n * TILE_BYTES, SM_AMX_BYTES);
        PRODUCT_0(0, 4, 6);
        PRODUCT_0(1, 4, 7);
        PRODUCT_1(2, 5, 6);
        PRODUCT_1(3, 5, 7);
        meanwhile(b);
    }
}

/* The same of a single strip: every other DEPTH goes to sums of its own. */
static inline void add_single(struct band *b, const int8_t *x, const uint8_t *const *w, size_t steps)
{
    for (size_t n = 0; n < steps; n += 2) {
        LOAD_WEIGHTS(w, n);
        _tile_stream_loadd(4, x + n * TILE_BYTES, SM_AMX_BYTES);
        PRODUCT_0(0, 4, 6);
        PRODUCT_0(1, 4, 7);
        meanwhile(b);
        if (n + 1 == steps) break;
        LOAD_WEIGHTS(w, n + 1);
        _tile_stream_loadd(5, x + (n + 1) * TILE_BYTES, SM_AMX_BYTES);
        PRODUCT_0(2, 5, 6);
        PRODUCT_0(3, 5, 7);
        meanwhile(b);
    }
}

static inline void begin_sums(const block_sums *sums, size_t first)
{
    if (first) {
        _tile_loadd(0, (*sums)[0], SM_AMX_BYTES);
        _tile_loadd(1, (*sums)[1], SM_AMX_BYTES);
        _tile_loadd(2, (*sums)[2], SM_AMX_BYTES);
        _tile_loadd(3, (*sums)[3], SM_AMX_BYTES);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
}

static inline void end_sums(block_sums *sums)
{
    _tile_stored(0, (*sums)[0], SM_AMX_BYTES);
    _tile_stored(1, (*sums)[1], SM_AMX_BYTES);
    _tile_stored(2, (*sums)[2], SM_AMX_BYTES);
    _tile_stored(3, (*sums)[3], SM_AMX_BYTES);
}

/* Inputs from `first` on, `count` of them, of the channels from o on and of strips n and, if it is there, n + 1. */
static inline void add_block(struct band *b, size_t n, size_t o, size_t first, size_t count, const uint8_t *const *w,
                             block_sums *sums)
{
    const size_t steps = (count + DEPTH - 1) / DEPTH;
    const int8_t *x = b->x + (n * b->steps + first / DEPTH) * TILE_BYTES;
    const int single = PLANES == 1 && n + 1 >= b->strips;
    begin_sums((const block_sums *)sums, first);
    if (single)
        add_single(b, x, w, steps);
    else
        add_pair(b, x, w, steps);
    end_sums(sums);
    if (first + count < b->a->in) return;
    store_some(b, b->late_rows); /* what is still left of the block before */
    b->late = (const block_sums *)sums;
    b->late_tile = n / PLANES;
    b->late_o = o;
    b->late_row = 0;
    b->late_rows = (single || PLANES == 2 ? 1 : 2) * b->height;
}

/* All rows of the band against the two channel tiles from o on. */
static inline void band_pair(struct band *b, size_t o, block_sums *sums)
{
    const size_t in = b->a->in, tile_bytes = sm_channel_tile_bytes(in, BITS);
    const uint8_t *quants = tile_of(b->a, o) + SM_CHANNEL_HEAD;
    for (size_t i = 0; i < in; i += b->chunk, quants += b->chunk * LANES * BITS / 8) {
        const size_t count = in - i < b->chunk ? in - i : b->chunk;
        const uint8_t *w[2] = {quants, quants + tile_bytes};
        if (!AS_TILES_WANT || count % DEPTH) {
            expand(b, quants, tile_bytes, count);
            w[0] = b->w[0];
            w[1] = b->w[1];
        }
        for (size_t n = 0; n < b->strips; n += 2) add_block(b, n, o, i, count, w, &sums[n / 2]);
    }
}

static void band_channels(struct band *b, struct sm_part part)
{
    const size_t pair_bytes = 2 * sm_channel_tile_bytes(b->a->in, BITS);
    size_t n = 0;
    b->late_row = b->late_rows = 0;
    b->late_step = (2 * b->height / PLANES + b->steps - 1) / b->steps;
    b->ahead_step = (pair_bytes / ((b->strips + 1) / 2 * b->steps) / 64 + 1) * 64;
    for (size_t o = part.col_begin; o < part.col_end; o += PAIR) {
        b->ahead = tile_of(b->a, o + PAIR);
        b->ahead_end = b->ahead + (o + PAIR < part.col_end ? pair_bytes : 0);
        band_pair(b, o, b->sums[n++ % 2]);
    }
    store_some(b, b->late_rows);
}

/* Copies the activations of the band, in the order in which they will lie. */
static void copy_rows(struct band *b)
{
    const size_t in = b->a->in, plane = b->steps * TILE_BYTES;
    int8_t *to = b->x;
    for (size_t t = 0; t < b->tiles; t++, to += (PLANES - 1) * plane) {
        const __auto_type from = b->a->x.q + (b->row + tile_row(b, t)) * in;
        for (size_t i = 0; i < in; i += DEPTH, to += TILE_BYTES)
            for (size_t r = 0; r < b->height; r++)
                copy_inputs(to + r * DEPTH, plane, from + r * in + i, in - i >= DEPTH);
    }
    sm_amx_written(b);
}

static void begin_band(struct band *b, const ARGS *a, size_t row, size_t rows)
{
    struct sm_amx_shapes shapes = {.palette = 1};
    b->a = a;
    b->row = row;
    b->rows = rows;
    b->tiles = (rows + SM_AMX_ROWS - 1) / SM_AMX_ROWS;
    b->strips = PLANES * b->tiles;
    b->height = (rows + b->tiles - 1) / b->tiles;
    b->steps = (a->in + DEPTH - 1) / DEPTH;
    const size_t chunks = (a->in + CHUNK - 1) / CHUNK;
    b->chunk = (b->steps + chunks - 1) / chunks * DEPTH;
    for (unsigned t = 0; t < 6; t++) sm_amx_shape(&shapes, t, b->height, SM_AMX_BYTES);
    for (unsigned t = 6; t < 8; t++) sm_amx_shape(&shapes, t, DEPTH / 4, SM_AMX_BYTES);
    sm_amx_configure(&shapes);
    copy_rows(b);
}

/* Of at most MOST_IN_FOR_TILES inputs. */
static void matmul_tiles(const ARGS *a, struct sm_part part)
{
    const size_t steps = (a->in + DEPTH - 1) / DEPTH, all = part.row_end - part.row_begin;
    const size_t fit = BAND_BYTES / (steps * TILE_BYTES) * SM_AMX_ROWS, most = fit < BAND ? fit : BAND;
    const size_t bands = (all + most - 1) / most;
    struct band b;
    for (size_t i = 0; i < bands; i++) {
        const size_t begin = all * i / bands, end = all * (i + 1) / bands;
        begin_band(&b, a, part.row_begin + begin, end - begin);
        band_channels(&b, part);
    }
    _tile_release();
}

/* What a variant is: products of tiles where rows are many and their inputs have room. */
static inline void matmul_by_rows(const ARGS *a, struct sm_part part)
{
    const size_t rows = part.row_end - part.row_begin;
    if (rows > FEW_FOR_TILES && a->in <= MOST_IN_FOR_TILES)
        matmul_tiles(a, part);
    else if (rows)
        matmul(a, part);
}
