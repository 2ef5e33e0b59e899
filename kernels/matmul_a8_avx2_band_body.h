/* matmul_a8_avx2_band_body.h - many int8 rows times 8-bit weights in groups, with vpmaddubsw.
 *
 * Included by one variant after matmul_a8_avx2_body.h, which moves each weight's sign to the activations of a few rows
 * by vpsignb: two a cycle, on the ports of the products. Here a step of a tile is taken apart once for a band of rows,
 * into magnitudes and masks of the signs, and an exclusive or is enough, which has twice as many ports:
 *
 *     x ^ mask = x, and beside a negative weight -x - 1, so that |w| * (x ^ mask) = w * x - |w|
 *
 * The |w| of negative weights are the same for all rows: the sums start at MAGIC and these. Nothing saturates: a pair
 * is at least 2 * 128 * -128, which is the least of 16 bits. */
#define BAND 64     /* rows at most, whose float sums wait in the first-level cache */
#define BAND_STEP 4 /* blocks that are taken apart at once: 9.5 KiB */
#define PAIR 2      /* vectors: two of them and four rows are eight sums */
#define PAIRS (VECTORS / PAIR)
#define EACH_OF_PAIR(v) _Pragma("GCC unroll 2") for (size_t v = 0; v < PAIR; v++)

/* A block of a pair of vectors. */
struct apart {
    __m256i magnitude[8][PAIR], negative[8][PAIR];
    __m256i start[PAIR];
    __m256 d[PAIR], d_magic[PAIR];
};

static inline void block_take_apart(struct apart *to, const uint8_t *quants, const uint8_t *scales)
{
    for (size_t v = 0; v < PAIR; v++, quants += 4 * LANES, scales += 2 * LANES) {
        __m256i less = _mm256_setzero_si256();
        for (size_t j = 0; j < 8; j++) {
            const __m256i w = _mm256_xor_si256(load_bytes(quants + 4 * SM_TILE * j), _mm256_set1_epi8(-128));
            to->magnitude[j][v] = _mm256_abs_epi8(w);
            to->negative[j][v] = _mm256_cmpgt_epi8(_mm256_setzero_si256(), w);
            less = _mm256_add_epi16(less, _mm256_maddubs_epi16(to->magnitude[j][v], to->negative[j][v])); /* times -1 */
        }
        to->start[v] = _mm256_sub_epi32(_mm256_set1_epi32(MAGIC), _mm256_madd_epi16(less, _mm256_set1_epi16(1)));
        to->d[v] = load_halves(scales);
        to->d_magic[v] = _mm256_mul_ps(to->d[v], _mm256_castsi256_ps(_mm256_set1_epi32(MAGIC)));
    }
}

/* Weights that come later, and how many lines of them are fetched beside each block: a few at a time, since memory has
 * only so many under way. */
struct later {
    const uint8_t *at;
    size_t lines;
};

/* Adds `count` blocks, from b on, of the tile's pair of vectors to `rows` rows, from r on, of y. */
static inline __attribute__((always_inline)) void pair_blocks(__m256 (*y)[VECTORS], const ARGS *a,
                                                              const struct apart (*w)[PAIRS], struct later *later,
                                                              size_t pair, size_t r, size_t b, size_t count,
                                                              size_t rows)
{
    const size_t blocks = a->in / SM_GROUP;
    const float *x_scale = a->x.scale + r * blocks + b;
    const int8_t *x[ROWS];
    EACH_ROW(k)
    {
        x[k] = a->x.q + (r + k) * a->in + b * SM_GROUP;
        __asm__("" : "+r"(x[k])); /* a register each: compilers else add up the strides on every turn */
    }
    for (size_t s = 0; s < count; s++) {
        const struct apart *of = &w[s][pair];
        for (size_t l = 0; l < later->lines; l++, later->at += 64) SM_PREFETCH_L1(later->at);
        __m256i dot[ROWS][PAIR];
        EACH_ROW(k) EACH_OF_PAIR(v) dot[k][v] = of->start[v];
#pragma GCC unroll 8
        for (size_t j = 0; j < 8; j++) {
            EACH_ROW(k)
            {
                const __m256i four = broadcast32(x[k] + 4 * j);
                EACH_OF_PAIR(v)
                {
                    const __m256i turned = _mm256_xor_si256(four, of->negative[j][v]);
                    const __m256i two = _mm256_maddubs_epi16(of->magnitude[j][v], turned);
                    dot[k][v] = _mm256_add_epi32(dot[k][v], _mm256_madd_epi16(two, _mm256_set1_epi16(1)));
                    SM_IN_ORDER(dot[k][v]);
                }
            }
        }
        EACH_ROW(k)
        {
            const __m256 scale = _mm256_set1_ps(x_scale[k * blocks + s]);
            EACH_OF_PAIR(v)
            {
                __m256 *sum = &y[k][PAIR * pair + v];
                const __m256 t = _mm256_fmsub_ps(of->d[v], _mm256_castsi256_ps(dot[k][v]), of->d_magic[v]);
                *sum = _mm256_fmadd_ps(scale, t, *sum);
                SM_IN_MEMORY(*sum);
            }
            x[k] += SM_GROUP;
        }
    }
}

/* One function for each number of rows, never inlined: each has the registers for itself. */
#define BAND_FN(rows)                                                                                                  \
    static __attribute__((noinline)) void add_##rows##_rows(__m256(*y)[VECTORS], const ARGS *a,                        \
                                                            const struct apart(*w)[PAIRS], struct later *later,        \
                                                            size_t r, size_t b, size_t count)                          \
    {                                                                                                                  \
        for (size_t pair = 0; pair < PAIRS; pair++) pair_blocks(y, a, w, later, pair, r, b, count, rows);              \
    }
BAND_FN(3)
BAND_FN(4)

/* `rows` rows from r on of the tile's channels, from o on: six at least, which are threes and fours. Meanwhile the next
 * step's weights are fetched. */
static void band_tile(const ARGS *a, const uint8_t *tile, size_t r, size_t rows, size_t o)
{
    const size_t blocks = a->in / SM_GROUP, block_bytes = sm_tile_block_bytes(32, 0);
    const size_t parts = (rows + 3) / 4, threes = 4 * parts - rows;
    const size_t blocks_of_step = parts * PAIRS * BAND_STEP;
    struct apart w[BAND_STEP][PAIRS];
    __m256 y[BAND][VECTORS];
    for (size_t k = 0; k < rows; k++)
        for (size_t v = 0; v < VECTORS; v++) y[k][v] = _mm256_setzero_ps();
    for (size_t b = 0; b < blocks; b += BAND_STEP) {
        const size_t count = blocks - b < BAND_STEP ? blocks - b : BAND_STEP;
        for (size_t s = 0; s < count; s++, tile += block_bytes)
            for (size_t pair = 0; pair < PAIRS; pair++)
                block_take_apart(&w[s][pair], tile + 4 * LANES * PAIR * pair,
                                 tile + sm_tile_scales_at(32) + 2 * LANES * PAIR * pair);
        struct later later = {tile, (BAND_STEP * block_bytes / 64 + blocks_of_step - 1) / blocks_of_step};
        for (size_t k = 0, i = 0; i < parts; k += i < threes ? 3 : 4, i++)
            (i < threes ? add_3_rows : add_4_rows)(y + k, a, w, &later, r + k, b, count);
    }
    store_rows(a, r, o, y, rows);
}

static inline void matmul_bands(const ARGS *a, struct sm_part part)
{
    const size_t tile_bytes = sm_tile_bytes(a->in, 32, 0);
    const struct sm_walk walk = sm_walk(part, BAND, SM_TILE, tile_bytes);
    for (size_t begin = part.col_begin, end; begin < part.col_end; begin = end) {
        end = sm_walk_columns_end(&walk, begin);
        for (size_t i = 0; i < walk.row_blocks; i++) {
            const size_t r = sm_walk_row(&walk, i), rows = sm_walk_row(&walk, i + 1) - r;
            for (size_t o = begin; o < end; o += SM_TILE)
                band_tile(a, (const uint8_t *)a->w + o / SM_TILE * tile_bytes, r, rows, o);
        }
    }
}
