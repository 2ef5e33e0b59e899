/* matmul_channel_a8_avx2_body.h - weights per output channel times int8 rows, in 256 bits.
 *
 * Included by one variant, which defines ARGS, SCALE_OF and BITS first. A lane is an output channel. A step takes a
 * whole tile, so that each line of weights is read once and each value that is broadcast meets two vectors of weights,
 * and up to ROWS rows: eight sums leave room for weights and values among 16 registers. One or two rows take two tiles.
 *
 * 4-bit weights: vpmaddubsw. A pair of products is at most 2 * 15 * 127 = 3810, and the eight pairs of GROUP inputs are
 * summed in 16 bits, 30480. Sums of 32 bits lie in memory meanwhile, as registers do not hold both.
 *
 * 8-bit weights: two products of vpmaddubsw would not fit 16 bits, and to make them fit takes more than vpmaddwd does:
 * words of two weights, by mask and shift, times words of values, which are widened once for all tiles of a chunk. */
#include <immintrin.h>
#include <stdalign.h>

#include "in_order.h"
#define LANES 8
#include "matmul_channel_store_body.h"
#include "matmul_walk.h"

#define UNITS 4 /* vectors, at most: two tiles */
#define ROWS 4
#define EACH_COUNT(X) X(1, 4) X(2, 4) X(3, 2) X(4, 2)
#define GROUP 32   /* inputs */
#define PIECE 8192 /* inputs whose widened values are kept for the next tile */

/* Constant numbers of turns, of which `rows` and `units` are known at compile time: unrolled wholly, so that sums stay
 * in registers. */
#define EACH_ROW(k) _Pragma("GCC unroll 4") for (size_t k = 0; k < ROWS; k++) if (k < rows)
#define EACH_UNIT(u) _Pragma("GCC unroll 4") for (size_t u = 0; u < UNITS; u++) if (u < units)

/* What a tile is multiplied by, and where. */
struct step {
    const uint8_t *quants;
    size_t tile;     /* bytes from one tile to the next */
    const void *x;   /* the first row: int8 beside 4-bit weights, else widened */
    size_t x_stride; /* in elements */
    size_t inputs;
    size_t ahead; /* bytes from what is read to what is fetched */
};

static inline __m256i broadcast32(const void *four)
{
    int32_t value;
    memcpy(&value, four, sizeof value);
    return _mm256_set1_epi32(value);
}

static inline __m256i load_lanes(const void *p)
{
    return _mm256_load_si256((const __m256i *)p);
}

/* Where each row begins. */
static inline __attribute__((always_inline)) void row_offsets(size_t *place, size_t stride, size_t rows)
{
    EACH_ROW(k)
    {
        place[k] = k * stride;
        __asm__("" : "+r"(place[k])); /* kept in registers: clang 14 else adds up the strides on every turn */
    }
}

/* One line of each tile. Bytes and one row stream faster without. */
static inline __attribute__((always_inline)) void fetch(const uint8_t *quants, size_t tile, size_t rows, size_t units)
{
    if (BITS == 8 && rows == 1) return;
    for (size_t u = 0; u < units; u += 2) SM_PREFETCH_L2(quants + u / 2 * tile);
}

/* sums: [rows][units], of 32 bits. */
static inline __attribute__((always_inline)) void add_nibbles(__m256i *sums, const struct step *step, size_t rows,
                                                              size_t units)
{
    const __m256i low = _mm256_set1_epi8(15);
    const uint8_t *quants = step->quants;
    const int8_t *x = step->x, *end = x + step->inputs;
    const size_t ahead = step->ahead, tile = step->tile;
    size_t place[ROWS];
    __m256i own[UNITS], *dot = rows == 1 ? own : sums; /* registers hold the sums of one row */
    if (rows == 1) EACH_UNIT(u) own[u] = sums[u];
    row_offsets(place, step->x_stride, rows);
    for (; x < end; x += GROUP) {
        __m256i pairs[ROWS][UNITS];
#pragma GCC unroll 4
        for (size_t j = 0; j < 4; j++, quants += 64) {
            fetch(quants + ahead, tile, rows, units);
#pragma GCC unroll 2
            for (size_t half = 0; half < 2; half++) {
                __m256i w[UNITS];
                EACH_UNIT(u)
                {
                    const __m256i bytes = load_lanes(quants + u / 2 * tile + u % 2 * 32);
                    w[u] = _mm256_and_si256(half ? _mm256_srli_epi16(bytes, 4) : bytes, low);
                }
                EACH_ROW(k)
                {
                    const __m256i four = broadcast32(x + place[k] + 8 * j + 4 * half);
                    EACH_UNIT(u)
                    {
                        const __m256i pair = _mm256_maddubs_epi16(w[u], four);
                        pairs[k][u] = j + half ? _mm256_add_epi16(pairs[k][u], pair) : pair;
                        SM_IN_ORDER(pairs[k][u]);
                    }
                }
                if (rows > 1) __asm__("" ::: "memory"); /* weights are loaded again for the other half, not kept */
            }
        }
        EACH_ROW(k) EACH_UNIT(u)
        {
            __m256i *sum = dot + k * units + u;
            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pairs[k][u], _mm256_set1_epi16(1)));
        }
    }
    if (rows == 1) EACH_UNIT(u) sums[u] = own[u];
}

static inline __attribute__((always_inline)) void add_bytes(__m256i *sums, const struct step *step, size_t rows,
                                                            size_t units)
{
    const uint8_t *quants = step->quants;
    const int16_t *x = step->x, *end = x + step->inputs;
    const size_t ahead = step->ahead, tile = step->tile;
    size_t place[ROWS];
    __m256i dot[ROWS][UNITS];
    row_offsets(place, step->x_stride, rows);
    EACH_ROW(k) EACH_UNIT(u) dot[k][u] = sums[k * units + u];
    for (; x < end; x += 8) {
#pragma GCC unroll 2
        for (size_t j = 0; j < 2; j++, quants += 64) {
            fetch(quants + ahead, tile, rows, units);
#pragma GCC unroll 2
            for (size_t odd = 0; odd < 2; odd++) {
                __m256i w[UNITS];
                EACH_UNIT(u)
                {
                    const __m256i bytes = load_lanes(quants + u / 2 * tile + u % 2 * 32);
                    w[u] = odd ? _mm256_srli_epi16(bytes, 8) : _mm256_and_si256(bytes, _mm256_set1_epi16(255));
                }
                EACH_ROW(k)
                {
                    const __m256i two = broadcast32(x + place[k] + 4 * j + 2 * odd);
                    EACH_UNIT(u)
                    {
                        dot[k][u] = _mm256_add_epi32(dot[k][u], _mm256_madd_epi16(w[u], two));
                        SM_IN_ORDER(dot[k][u]);
                    }
                }
                if (rows > 1 && units > 2) __asm__("" ::: "memory"); /* as above */
            }
        }
    }
    EACH_ROW(k) EACH_UNIT(u) sums[k * units + u] = dot[k][u];
}

/* One function for each number of rows, never inlined: each has the registers for itself. */
#define COUNT_FN(rows, units)                                                                                          \
    static __attribute__((noinline)) void add_##rows(__m256i *sums, const struct step *step)                           \
    {                                                                                                                  \
        BITS == 4 ? add_nibbles(sums, step, rows, units) : add_bytes(sums, step, rows, units);                         \
    }
#define COUNT_ENTRY(rows, units) {add_##rows, units},
EACH_COUNT(COUNT_FN)

static const struct {
    void (*add)(__m256i *sums, const struct step *step);
    size_t units;
} by_rows[ROWS] = {EACH_COUNT(COUNT_ENTRY)};

/* GROUP values of a row in 16 bits, each four as the first and third, then the second and fourth: what the even and
 * the odd bytes of four weights are multiplied by. */
static inline void widen_row(int16_t *words, const int8_t *x, size_t inputs)
{
    const __m256i even_first = _mm256_setr_epi8(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15, /* again */
                                                0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15);
    for (size_t i = 0; i < inputs; i += 16) {
        const __m256i values = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(x + i)));
        _mm256_store_si256((__m256i *)(void *)(words + i), _mm256_shuffle_epi8(values, even_first));
    }
}

/* dot: of row r and the 8 channels from o on, zeros not yet taken away. */
static inline __attribute__((always_inline)) void store_dot(const ARGS *a, size_t r, size_t o, __m256i dot)
{
    if (o >= a->out) return;
    const uint8_t *head = head_of(a, o);
    const __m256i zero = load_lanes(head + 4 * SM_CHANNELS);
    dot = _mm256_sub_epi32(dot, _mm256_mullo_epi32(zero, _mm256_set1_epi32(a->x.sum[r])));
    const __m256 scale = _mm256_load_ps((const float *)(const void *)head);
    alignas(32) float y[LANES];
    _mm256_store_ps(y, _mm256_mul_ps(_mm256_mul_ps(scale, _mm256_set1_ps(SCALE_OF(a->x, r))), _mm256_cvtepi32_ps(dot)));
    store_floats(a, r, o, y);
}

/* `rows` rows from r on of the columns from begin to end, whose tiles lie in one piece. */
static inline void block(const ARGS *a, size_t r, size_t rows, size_t begin, size_t end, int is_first)
{
    const size_t piece = BITS == 4 || a->in < PIECE ? a->in : PIECE, units = by_rows[rows - 1].units;
    const size_t tile_bytes = sm_channel_tile_bytes(a->in, BITS),
                 tiles_bytes = units * LANES / SM_CHANNELS * tile_bytes;
    alignas(32) int16_t words[BITS == 4 ? 1 : ROWS * PIECE];
    struct step step = {.tile = tile_bytes, .x_stride = BITS == 4 ? a->in : piece, .ahead = is_first ? tiles_bytes : 0};
    for (size_t o = begin; o < end; o += units * LANES) {
        __m256i sums[ROWS * UNITS];
        for (size_t s = 0; s < rows * units; s++) sums[s] = _mm256_setzero_si256();
        for (size_t i = 0; i < a->in; i += piece) {
            const int8_t *x = a->x.q + r * a->in + i;
            step.inputs = a->in - i < piece ? a->in - i : piece;
            if (BITS == 8 && (o == begin || piece < a->in))
                for (size_t k = 0; k < rows; k++) widen_row(words + k * piece, x + k * a->in, step.inputs);
            step.x = BITS == 4 ? (const void *)x : words;
            step.quants =
                (const uint8_t *)a->w + o / SM_CHANNELS * tile_bytes + SM_CHANNEL_HEAD + i * SM_CHANNELS * BITS / 8;
            by_rows[rows - 1].add(sums, &step);
        }
        for (size_t k = 0; k < rows; k++)
            for (size_t u = 0; u < units; u++) store_dot(a, r + k, o + u * LANES, sums[k * units + u]);
    }
}

static inline __attribute__((always_inline)) void matmul(const ARGS *a, struct sm_part part)
{
    const struct sm_walk walk = sm_walk(part, ROWS, 2 * SM_CHANNELS, 2 * sm_channel_tile_bytes(a->in, BITS));
    for (size_t begin = part.col_begin, end; begin < part.col_end; begin = end) {
        end = sm_walk_columns_end(&walk, begin);
        for (size_t i = 0; i < walk.row_blocks; i++) {
            const size_t r = sm_walk_row(&walk, i), rows = sm_walk_row(&walk, i + 1) - r;
            block(a, r, rows, begin, end, i == 0); /* fetched ahead the first time that the chunk is read */
        }
    }
}
