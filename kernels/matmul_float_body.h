/* matmul_float_body.h - weights in tiles of 16 channels (matmul_f32.h) times float rows, with fused multiply-adds.
 *
 * Included by one variant, which defines WEIGHT (how one is stored), WIDEN(p) (the LANES weights at p, as floats) and,
 * in matmul_float_avx2.h or matmul_float_avx512.h, the vector operations first. A lane is an output channel, and each
 * sum runs through the inputs from the first to the last, however many rows and tiles are side by side: an answer
 * depends on neither.
 *
 *     VECTOR, LANES           the type, and how many floats it has
 *     ZERO(), FMADD(a, b, c)
 *     BROADCAST(p)            the float at p in every lane
 *     FIRST(count)            a mask of the first `count` lanes
 *     LOAD_FIRST(mask, p), STORE_FIRST(p, mask, v), ADD(a, b)
 *     LOAD(p), STORE(p, v)    of LANES aligned floats
 *     ROWS, EACH_COUNT(X)     X(rows, tiles side by side) for 1 to ROWS rows: few rows take more tiles, so that no
 *                             multiply-add waits for the last one; rows * tiles * 16 / LANES sums fit in registers
 *     SIDE, EACH_BLOCK(X)     X(rows) for ROWS / 2 to ROWS rows, each with SIDE tiles, when there are more than ROWS
 *
 * More than ROWS rows take the inputs in pieces, whose weights stay in the first-level cache for all blocks of rows:
 * halves are widened once, by the first block. Meanwhile the blocks fetch the next piece into the second-level cache,
 * each an equal share, so that nobody waits for a last cache which gives few bytes a cycle. */
#include <stdalign.h>
#include <string.h>

#include "matmul_f32/matmul_f32.h"
#include "matmul_walk.h"

#define TILE SM_MATMUL_F32_TILE
#define VECTORS 8 /* at most, side by side */
#define HALVES (sizeof(WEIGHT) < sizeof(float))
#define WIDTH (SIDE * TILE)                      /* channels of a block */
#define DEPTH (16384 / (WIDTH * sizeof(WEIGHT))) /* inputs of a piece, at most */
#define MANY 64 /* rows at most that share a piece: more would not leave their values in the second-level cache */

/* Constant numbers of turns, of which `rows` and `vectors` are known at compile time to be few: unrolled wholly, so
 * that sums stay in registers. */
#define EACH_ROW(k) _Pragma("GCC unroll 8") for (size_t k = 0; k < ROWS; k++) if (k < rows)
#define EACH_VECTOR(v) _Pragma("GCC unroll 8") for (size_t v = 0; v < VECTORS; v++) if (v < vectors)

static inline void store(const struct sm_matmul_f32 *a, size_t r, size_t o, VECTOR y)
{
    if (o >= a->out) return;
    const size_t at = r * a->y_stride + o;
    const MASK mask = FIRST(a->out - o);
    if (a->bias) y = ADD(y, LOAD_FIRST(mask, a->bias + o));
    if (a->residual) y = ADD(y, LOAD_FIRST(mask, a->residual + at));
    STORE_FIRST(a->y + at, mask, y);
}

/* What the inputs of a block of rows are multiplied by, in the order in which they are taken. */
struct weights {
    const uint8_t *w;
    size_t tile;          /* bytes from one tile to the next */
    const uint8_t *fetch; /* beside the first input */
    size_t fetch_step;    /* bytes from one input to the next */
    float *keep;          /* where widened weights go, those of all tiles beside each other */
};

/* Bytes from one row to others: a part of an address may count 2 or 4 times, so eight rows need few registers. */
struct strides {
    size_t one, three, five, seven;
};

static inline __attribute__((always_inline)) const float *row_at(const uint8_t *x, const struct strides *s, size_t k)
{
    const size_t at[8] = {0, s->one, 2 * s->one, s->three, 4 * s->one, s->five, 2 * s->three, s->seven};
    return (const float *)(const void *)(x + at[k]);
}

/* Weights are: as they lie; the same, and kept when widened; those that were kept. */
enum { PACKED, PACKED_KEEP, KEPT };

/* y += `count` inputs, of `rows` rows of which the first begins at x, times their weights. */
static inline __attribute__((always_inline)) void add_inputs(VECTOR y[ROWS][VECTORS], const float *x, size_t x_stride,
                                                             size_t count, struct weights from, int how, int fetches,
                                                             size_t tiles, size_t rows)
{
    const size_t vectors = tiles * TILE / LANES, element = how == KEPT ? sizeof(float) : sizeof(WEIGHT);
    const size_t tile = how == KEPT ? TILE * sizeof(float) : from.tile;
    const size_t step = how == KEPT ? tiles * TILE * sizeof(float) : TILE * sizeof(WEIGHT);
    const uint8_t *value = (const uint8_t *)x, *end = (const uint8_t *)(x + count);
    const size_t stride = x_stride * sizeof(float);
    struct strides strides = {stride, 3 * stride, 5 * stride, 7 * stride};
    for (; value < end; value += sizeof(float), from.w += step) {
        VECTOR column[VECTORS];
        /* not known to be the same on every turn: gcc 12 else keeps all eight multiples, some in vector registers */
        __asm__("" : "+r"(strides.one), "+r"(strides.three), "+r"(strides.five), "+r"(strides.seven));
        EACH_VECTOR(v)
        {
            const uint8_t *p = from.w + v * LANES / TILE * tile + v * LANES % TILE * element;
            column[v] = how == KEPT ? LOAD(p) : WIDEN(p);
            if (how == PACKED_KEEP) STORE(from.keep + v * LANES, column[v]);
        }
        if (how == PACKED_KEEP) from.keep += tiles * TILE;
        if (fetches) {
            SM_PREFETCH_L2(from.fetch);
            from.fetch += from.fetch_step;
        }
        EACH_ROW(k)
        {
            const VECTOR all = BROADCAST(row_at(value, &strides, k));
            EACH_VECTOR(v) y[k][v] = FMADD(column[v], all, y[k][v]);
        }
    }
}

/* `rows` rows from r on of `tiles` tiles from channel o on. Fetches as many weights from `fetch` on. */
static inline __attribute__((always_inline)) void tile_rows(const struct sm_matmul_f32 *a, size_t r, size_t o,
                                                            const uint8_t *fetch, size_t tiles, size_t rows)
{
    const size_t vectors = tiles * TILE / LANES, step = TILE * sizeof(WEIGHT);
    VECTOR y[ROWS][VECTORS];
    EACH_ROW(k) EACH_VECTOR(v) y[k][v] = ZERO();
    add_inputs(
        y, a->x + r * a->x_stride, a->x_stride, a->in,
        (struct weights){(const uint8_t *)a->w + o * a->in * sizeof(WEIGHT), a->in * step, fetch, tiles * step, NULL},
        PACKED, HALVES && rows > 4, tiles, rows);
    EACH_ROW(k) EACH_VECTOR(v) store(a, r + k, o + v * LANES, y[k][v]);
}

/* Functions for each number of rows, side by side and of one tile, that are never inlined: gcc 12 else keeps what their
 * callers need in general registers, and moves the rows' places to vector registers and back. */
#define COUNT_FN(rows, tiles)                                                                                          \
    static __attribute__((noinline)) void side_##rows(const struct sm_matmul_f32 *a, size_t r, size_t o,               \
                                                      const uint8_t *fetch)                                            \
    {                                                                                                                  \
        tile_rows(a, r, o, fetch, tiles, rows);                                                                        \
    }                                                                                                                  \
    static __attribute__((noinline)) void one_##rows(const struct sm_matmul_f32 *a, size_t r, size_t o,                \
                                                     const uint8_t *fetch)                                             \
    {                                                                                                                  \
        tile_rows(a, r, o, fetch, 1, rows);                                                                            \
    }
EACH_COUNT(COUNT_FN)

static const struct {
    void (*side)(const struct sm_matmul_f32 *a, size_t r, size_t o, const uint8_t *fetch);
    void (*one)(const struct sm_matmul_f32 *a, size_t r, size_t o, const uint8_t *fetch);
    size_t tiles; /* of side */
} by_rows[ROWS + 1] = {
#define COUNT_ENTRY(rows, tiles) [rows] = {side_##rows, one_##rows, tiles},
    EACH_COUNT(COUNT_ENTRY)};

/* At most ROWS rows, which pass over the weights once. */
static inline void few_rows(const struct sm_matmul_f32 *a, struct sm_part part)
{
    const size_t r = part.row_begin, rows = part.row_end - r, step = by_rows[rows].tiles * TILE;
    size_t o = part.col_begin;
    for (; o + step < part.col_end + TILE; o += step)
        by_rows[rows].side(a, r, o, (const uint8_t *)a->w + (o + step) * a->in * sizeof(WEIGHT));
    for (; o < part.col_end; o += TILE) by_rows[rows].one(a, r, o, (const uint8_t *)a->w + o * a->in * sizeof(WEIGHT));
}

/* A block of rows, and a piece of the inputs. */
struct block {
    const float *x;
    size_t x_stride;
    float *sums; /* [rows][WIDTH] */
    size_t count;
    struct weights weights;
};

static inline __attribute__((always_inline)) void block_rows(const struct block *b, int how, size_t rows)
{
    const size_t vectors = WIDTH / LANES;
    VECTOR y[ROWS][VECTORS];
    EACH_ROW(k) EACH_VECTOR(v) y[k][v] = LOAD(b->sums + k * WIDTH + v * LANES);
    add_inputs(y, b->x, b->x_stride, b->count, b->weights, how, 1, SIDE, rows);
    EACH_ROW(k) EACH_VECTOR(v) STORE(b->sums + k * WIDTH + v * LANES, y[k][v]);
}

#define BLOCK_FN(rows)                                                                                                 \
    static __attribute__((noinline)) void first_##rows(const struct block *b)                                          \
    {                                                                                                                  \
        block_rows(b, HALVES ? PACKED_KEEP : PACKED, rows);                                                            \
    }                                                                                                                  \
    static __attribute__((noinline)) void next_##rows(const struct block *b)                                           \
    {                                                                                                                  \
        block_rows(b, HALVES ? KEPT : PACKED, rows);                                                                   \
    }
EACH_BLOCK(BLOCK_FN)

static const struct {
    void (*first)(const struct block *b);
    void (*next)(const struct block *b);
} blocks[ROWS + 1] = {
#define BLOCK_ENTRY(rows) [rows] = {first_##rows, next_##rows},
    EACH_BLOCK(BLOCK_ENTRY)};

/* The sums of SIDE tiles from channel o on. after: the weights that are wanted next, as these lie. */
static inline void side_by_pieces(const struct sm_matmul_f32 *a, const struct sm_walk *walk, size_t o,
                                  const uint8_t *after, float *sums, float *panel)
{
    const size_t step = TILE * sizeof(WEIGHT), tile = a->in * step, pieces = (a->in + DEPTH - 1) / DEPTH;
    const uint8_t *w = (const uint8_t *)a->w + o / TILE * tile;
    for (size_t p = 0; p < pieces; p++) {
        const size_t begin = a->in * p / pieces, end = a->in * (p + 1) / pieces;
        const uint8_t *next = p + 1 < pieces ? w + end * step : after;
        for (size_t i = 0; i < walk->row_blocks; i++) {
            const size_t r = sm_walk_row(walk, i), rows = sm_walk_row(walk, i + 1) - r;
            /* which tile of the next piece this block fetches, and which of the blocks that do */
            const size_t t = i * SIDE / walk->row_blocks, first = (t * walk->row_blocks + SIDE - 1) / SIDE;
            const size_t sharers = ((t + 1) * walk->row_blocks + SIDE - 1) / SIDE - first;
            const size_t fetch_step = (step + sharers - 1) / sharers;
            struct block b = {.x = a->x + r * a->x_stride + begin,
                              .x_stride = a->x_stride,
                              .sums = sums + (r - walk->part.row_begin) * WIDTH,
                              .count = end - begin,
                              .weights = {.w = w + begin * step,
                                          .tile = tile,
                                          .fetch = next + t * tile + (i - first) * fetch_step * (end - begin),
                                          .fetch_step = fetch_step,
                                          .keep = panel}};
            if (i == 0) {
                blocks[rows].first(&b);
                continue;
            }
            if (HALVES) b.weights.w = (const uint8_t *)panel;
            blocks[rows].next(&b);
        }
    }
}

/* More than ROWS rows and at most MANY. */
static inline void many_rows(const struct sm_matmul_f32 *a, struct sm_part part)
{
    const struct sm_walk walk = sm_walk(part, ROWS, WIDTH, WIDTH * a->in * sizeof(WEIGHT));
    alignas(64) float sums[MANY * WIDTH], panel[HALVES ? DEPTH * WIDTH : 1];
    size_t o = part.col_begin;
    for (; o + WIDTH < part.col_end + TILE; o += WIDTH) {
        const size_t after = o + WIDTH < part.col_end ? o + WIDTH : part.col_begin;
        memset(sums, 0, (part.row_end - part.row_begin) * WIDTH * sizeof(float));
        side_by_pieces(a, &walk, o, (const uint8_t *)a->w + after * a->in * sizeof(WEIGHT), sums, panel);
        for (size_t r = part.row_begin; r < part.row_end; r++)
            for (size_t v = 0; v < WIDTH; v += LANES) store(a, r, o + v, LOAD(sums + (r - part.row_begin) * WIDTH + v));
    }
    if (o >= part.col_end) return;
    for (size_t i = 0; i < walk.row_blocks; i++) { /* a tile that has none beside it */
        const size_t r = sm_walk_row(&walk, i);
        by_rows[sm_walk_row(&walk, i + 1) - r].one(a, r, o, (const uint8_t *)a->w);
    }
}

static inline void matmul(const struct sm_matmul_f32 *a, struct sm_part part)
{
    if (part.row_begin >= part.row_end) return;
    const size_t all = part.row_end - part.row_begin, shares = (all + MANY - 1) / MANY;
    for (size_t i = 0; i < shares; i++) {
        struct sm_part share = part;
        share.row_begin = part.row_begin + all * i / shares;
        share.row_end = part.row_begin + all * (i + 1) / shares;
        if (all <= ROWS)
            few_rows(a, share);
        else
            many_rows(a, share);
    }
}
