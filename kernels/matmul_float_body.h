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
 *     ROWS, EACH_COUNT(X)     X(rows, tiles side by side) for 1 to ROWS rows: few rows take more tiles, so that no
 *                             multiply-add waits for the last one; rows * tiles * 16 / LANES sums fit in registers */
#include "matmul_f32/matmul_f32.h"
#include "matmul_walk.h"

#define TILE SM_MATMUL_F32_TILE
#define VECTORS 8                                /* at most, side by side */
#define FETCHED (sizeof(WEIGHT) < sizeof(float)) /* ahead: floats wait for the memory itself, and gain nothing */

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

/* `rows` rows from r on of `tiles` tiles from channel o on. Fetches the weights that lie `ahead` bytes on. */
static inline __attribute__((always_inline)) void tile_rows(const struct sm_matmul_f32 *a, size_t r, size_t o,
                                                            size_t ahead, size_t tiles, size_t rows)
{
    const size_t vectors = tiles * TILE / LANES, tile = a->in * TILE * sizeof(WEIGHT);
    const uint8_t *w = (const uint8_t *)a->w + o * a->in * sizeof(WEIGHT);
    const uint8_t *x = (const uint8_t *)(a->x + r * a->x_stride), *end = x + a->in * sizeof(float);
    size_t at[ROWS]; /* bytes */
    VECTOR y[ROWS][VECTORS];
    EACH_ROW(k)
    {
        at[k] = k * a->x_stride * sizeof(float);
        __asm__("" : "+r"(at[k])); /* kept in registers: compilers else add up the strides on every turn */
        EACH_VECTOR(v) y[k][v] = ZERO();
    }
    for (; x < end; x += sizeof(float), w += TILE * sizeof(WEIGHT)) {
        VECTOR column[VECTORS];
        EACH_VECTOR(v)
        {
            const uint8_t *from = w + v * LANES / TILE * tile;
            column[v] = WIDEN(from + v * LANES % TILE * sizeof(WEIGHT));
            if (FETCHED && rows > 4 && v * LANES % TILE == 0) SM_PREFETCH_L2(from + ahead);
        }
        EACH_ROW(k)
        {
            const VECTOR value = BROADCAST((const float *)(const void *)(x + at[k]));
            EACH_VECTOR(v) y[k][v] = FMADD(column[v], value, y[k][v]);
        }
    }
    EACH_ROW(k) EACH_VECTOR(v) store(a, r + k, o + v * LANES, y[k][v]);
}

/* Functions for each number of rows, side by side and of one tile, that are never inlined: gcc 12 else keeps what their
 * callers need in general registers, and moves the rows' places to vector registers and back. */
#define COUNT_FN(rows, tiles)                                                                                          \
    static __attribute__((noinline)) void side_##rows(const struct sm_matmul_f32 *a, size_t r, size_t o, size_t ahead) \
    {                                                                                                                  \
        tile_rows(a, r, o, ahead, tiles, rows);                                                                        \
    }                                                                                                                  \
    static __attribute__((noinline)) void one_##rows(const struct sm_matmul_f32 *a, size_t r, size_t o, size_t ahead)  \
    {                                                                                                                  \
        tile_rows(a, r, o, ahead, 1, rows);                                                                            \
    }
EACH_COUNT(COUNT_FN)

static const struct {
    void (*side)(const struct sm_matmul_f32 *a, size_t r, size_t o, size_t ahead);
    void (*one)(const struct sm_matmul_f32 *a, size_t r, size_t o, size_t ahead);
    size_t tiles; /* of side */
} by_rows[ROWS + 1] = {
#define COUNT_ENTRY(rows, tiles) [rows] = {side_##rows, one_##rows, tiles},
    EACH_COUNT(COUNT_ENTRY)};

/* `rows` rows from r on of the channels [begin, end). Weights that are read for the first time are fetched ahead. */
static inline void columns_rows(const struct sm_matmul_f32 *a, size_t begin, size_t end, size_t r, size_t rows,
                                int first)
{
    const size_t step = by_rows[rows].tiles * TILE, ahead = first ? step * a->in * sizeof(WEIGHT) : 0;
    for (; begin + step < end + TILE; begin += step) by_rows[rows].side(a, r, begin, ahead);
    for (; begin < end; begin += TILE) by_rows[rows].one(a, r, begin, 0);
}

static inline void matmul(const struct sm_matmul_f32 *a, struct sm_part part)
{
    if (part.row_begin >= part.row_end) return;
    if (part.row_end - part.row_begin <= ROWS) {
        columns_rows(a, part.col_begin, part.col_end, part.row_begin, part.row_end - part.row_begin, 1);
        return;
    }
    const struct sm_walk walk = sm_walk(part, ROWS, 2 * TILE, 2 * TILE * a->in * sizeof(WEIGHT));
    for (size_t begin = part.col_begin, end; begin < part.col_end; begin = end) {
        end = sm_walk_columns_end(&walk, begin);
        for (size_t i = 0; i < walk.row_blocks; i++) {
            const size_t r = sm_walk_row(&walk, i);
            columns_rows(a, begin, end, r, sm_walk_row(&walk, i + 1) - r, i == 0);
        }
    }
}
