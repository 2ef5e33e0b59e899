/* matmul_channel_a16_body.h - weights per output channel times int16 rows, two inputs at a time in 32-bit lanes.
 *
 * Included by one variant, which defines ARGS, SCALE_OF, BITS, LANES, the vector operations below and ROWS, with
 * EACH_COUNT(X) for X(1, 2) to X(ROWS, 2), first. A lane is an output channel; a step takes `units` vectors of channels
 * and `rows` rows, each of whose pairs of values is broadcast once for all units.
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
 * 32 bits hold the sums of HELD inputs: 4096 * 15 * 32768 and 480 * 128 * 32768 are below 2^31 (8-bit weights are
 * stored less 128). After as many they move to doubles, which hold them, and zero * sum, without loss: both are
 * below 2^44. AVX2 has no conversion of 64-bit integers; the last steps take 256 bits in all variants. */
#include <immintrin.h>
#include <stdalign.h>

#include "in_order.h"
#include "matmul_channel_store_body.h"
#include "matmul_walk.h"

#define UNITS 4
#define STEP 8 /* inputs */
#define HELD (BITS == 4 ? 4096u : 480u)
/* Bytes are fetched for narrow vectors and three rows or more; others stream faster without. */
#define FETCH_BYTES (BITS == 8 && LANES < SM_CHANNELS)

/* Constant numbers of turns, of which `rows` and `units` are known at compile time to be few: unrolled wholly, so that
 * sums stay in registers. */
#define EACH_ROW(k) _Pragma("GCC unroll 8") for (size_t k = 0; k < ROWS; k++) if (k < rows)
#define EACH_UNIT(u) _Pragma("GCC unroll 4") for (size_t u = 0; u < UNITS; u++) if (u < units)

/* Adds `count` inputs, whose quants and values begin at the pointers. */
static inline __attribute__((always_inline)) void add_inputs(VECTOR dot[UNITS][ROWS], const uint8_t *const *quants,
                                                             const int16_t *x, size_t in, size_t ahead, size_t count,
                                                             size_t units, size_t rows)
{
    const int16_t *three[(ROWS + 2) / 3];
    EACH_ROW(k) if (k % 3 == 0)
    {
        three[k / 3] = x + k * in;
        __asm__("" : "+r"(three[k / 3])); /* kept in registers: compilers else add up the strides on every turn */
    }
    const size_t step_bytes = STEP * SM_CHANNELS * BITS / 8;
    for (size_t i = 0, at = 0; i < count; i += STEP, at += step_bytes) {
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
            if (FETCH_BYTES && j < 2 && rows > 2)
                for (size_t u = 0; u < units; u += SM_CHANNELS / LANES) SM_PREFETCH_L2(quants[u] + at + 64 * j + ahead);
            EACH_UNIT(u)
            w[u] = BITS == 4 ? NIBBLE(nibbles[u], j) : WIDEN(quants[u] + at + 32 * j);
            EACH_ROW(k)
            {
                const VECTOR pair = BROADCAST(three[k / 3] + k % 3 * in + 2 * j);
                EACH_UNIT(u)
                {
                    dot[u][k] = MULADD(dot[u][k], w[u], pair);
                    SM_IN_ORDER(dot[u][k]);
                }
            }
        }
        EACH_ROW(k) if (k % 3 == 0) three[k / 3] += STEP;
    }
}

static inline __attribute__((always_inline)) void add_wide(double *wide, const int32_t *lanes)
{
#pragma GCC unroll 4
    for (size_t l = 0; l < LANES; l += 4) {
        const __m128i four = _mm_load_si128((const __m128i *)(const void *)(lanes + l));
        _mm256_store_pd(wide + l, _mm256_add_pd(_mm256_load_pd(wide + l), _mm256_cvtepi32_pd(four)));
    }
}

/* wide: the dots of row r and the LANES channels from o on, zeros not yet taken away. */
static inline __attribute__((always_inline)) void store_wide(const ARGS *a, size_t r, size_t o, const double *wide)
{
    if (o >= a->out) return;
    const uint8_t *head = head_of(a, o);
    const __m256d sum = _mm256_set1_pd((double)a->x.sum[r]);
    const __m128 scale_x = _mm_set1_ps(SCALE_OF(a->x, r));
    alignas(16) float y[LANES];
#pragma GCC unroll 4
    for (size_t l = 0; l < LANES; l += 4, head += 16) {
        const __m128i zero = _mm_load_si128((const __m128i *)(const void *)(head + 4 * SM_CHANNELS));
        const __m256d less = _mm256_mul_pd(_mm256_cvtepi32_pd(zero), sum);
        const __m128 dot = _mm256_cvtpd_ps(_mm256_sub_pd(_mm256_load_pd(wide + l), less));
        const __m128 scale = _mm_load_ps((const float *)(const void *)head);
        _mm_store_ps(y + l, _mm_mul_ps(_mm_mul_ps(scale, scale_x), dot));
    }
    store_floats(a, r, o, y);
}

/* `rows` rows from r on of `units` vectors of channels from o on. */
static inline __attribute__((always_inline)) void units_rows(const ARGS *a, size_t r, size_t o, size_t ahead,
                                                             size_t units, size_t rows)
{
    const size_t unit_bytes = BITS == 4 ? LANES * 4 : LANES * 2; /* of a vector, beside the rest of its tile */
    const uint8_t *quants[UNITS] = {NULL};
    alignas(64) int32_t lanes[LANES];
    alignas(32) double wide[UNITS][ROWS][LANES];
    EACH_UNIT(u)
    {
        const size_t begin = o + u * LANES, tile = begin / SM_CHANNELS;
        quants[u] = (const uint8_t *)a->w + tile * sm_channel_tile_bytes(a->in, BITS) + SM_CHANNEL_HEAD +
                    begin % SM_CHANNELS / LANES * unit_bytes;
    }
    EACH_UNIT(u) EACH_ROW(k) for (size_t l = 0; l < LANES; l++) wide[u][k][l] = 0;
    for (size_t i = 0; i < a->in; i += HELD) {
        const size_t count = a->in - i < HELD ? a->in - i : HELD;
        VECTOR dot[UNITS][ROWS];
        EACH_UNIT(u) EACH_ROW(k) dot[u][k] = ZERO();
        add_inputs(dot, quants, a->x.q + r * a->in + i, a->in, ahead, count, units, rows);
        EACH_UNIT(u) quants[u] += count * SM_CHANNELS * BITS / 8;
        EACH_UNIT(u) EACH_ROW(k)
        {
            STORE(lanes, dot[u][k]);
            add_wide(wide[u][k], lanes);
        }
    }
    EACH_UNIT(u) EACH_ROW(k) store_wide(a, r + k, o + u * LANES, wide[u][k]);
}

/* One function for each number of rows, never inlined: gcc 12 else keeps what the callers need in registers, and the
 * rows' places on the stack. */
#define COUNT_FN(rows, units)                                                                                          \
    static __attribute__((noinline)) void rows_##rows##_##units(const ARGS *a, size_t r, size_t o, size_t ahead)       \
    {                                                                                                                  \
        units_rows(a, r, o, ahead, units, rows);                                                                       \
    }
#define COUNT_ENTRY(rows, units) rows_##rows##_##units,
EACH_COUNT(COUNT_FN)
COUNT_FN(1, 4)
COUNT_FN(2, 4)

typedef void rows_fn(const ARGS *a, size_t r, size_t o, size_t ahead);
static rows_fn *const by_rows[ROWS] = {EACH_COUNT(COUNT_ENTRY)};

/* Few rows take four vectors at once, so that there are sums enough to hide how long each addition takes. */
static inline void matmul(const ARGS *a, struct sm_part part)
{
    const size_t all = part.row_end - part.row_begin, tile_bytes = sm_channel_tile_bytes(a->in, BITS);
    size_t first = part.col_begin;
    if (all <= 2)
        for (; first + 4 * LANES <= part.col_end; first += 4 * LANES)
            (all == 1 ? rows_1_4 : rows_2_4)(a, part.row_begin, first, 4 * LANES / SM_CHANNELS * tile_bytes);
    const struct sm_walk walk = sm_walk(part, ROWS, 2 * SM_CHANNELS, 2 * tile_bytes);
    for (size_t begin = first, end; begin < part.col_end; begin = end) {
        end = sm_walk_columns_end(&walk, begin);
        for (size_t i = 0; i < walk.row_blocks; i++) {
            const size_t r = sm_walk_row(&walk, i), rows = sm_walk_row(&walk, i + 1) - r;
            /* what comes next, the first time that the chunk is read */
            const size_t ahead = i ? 0 : 2 * LANES / SM_CHANNELS * tile_bytes;
            for (size_t o = begin; o < end; o += 2 * LANES) by_rows[rows - 1](a, r, o, ahead);
        }
    }
}
