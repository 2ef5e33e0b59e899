/* attention_madd_body.h - attention over int8 keys and values in integers: sixteen products by one vpmaddwd, where a
 * multiply-add of floats has eight. Text for attention_body.h, which includes attention_avx2.h first.
 *
 * A query is rounded to 16 bits of step = max|q| / 32512, and |sum of q key| <= 512 * 32512 * 127 < 2^31.
 *
 * The weights of a block of 64 slots, each times the scale of its value, are rounded to 16 bits as well, as numbers of
 * -32768..0: so a largest that is a power of two is a whole number of steps of one, and sums that are exact stay so.
 * Any other is less than 2^-11 of itself from 32768 steps, so that half a step is at most 2^-16 (1 + 2^-11) of the
 * largest; the rounding of 1 / step adds 2^-8 of that. Weights of 0 are 0, and each block is rounded for itself: what
 * others hold or whether they are skipped changes nothing here. |sum of weight value| <= 64 * 32768 * 127 < 2^31.
 *
 * Elements become 16 bits and lie in pairs, of one key or of two slots, as vpmaddwd adds them. Few queries take them
 * from the cache as they lie, many from a copy. */

#include "in_order.h"

#define VALUES_IN_INTEGERS
#define VALUES_AT_ONCE 16 /* elements of a head */
#define RAW_KEY_QUERIES 4 /* up to here keys are read as they lie */
#define EACH_KEY(j) _Pragma("GCC unroll 2") for (size_t j = 0; j < 2; j++)
#define EACH_RAW_QUERY(i) _Pragma("GCC unroll 4") for (size_t i = 0; i < RAW_KEY_QUERIES; i++) if (i < queries)

/* From the 16 bits of one query to those of the next: whole vectors. */
static inline size_t madd_query_bytes(size_t head_dim)
{
    return (head_dim + 15) / 16 * 32;
}

static inline __m256i madd_words(__m256 low, __m256 high)
{
    return _mm256_permute4x64_epi64(_mm256_packs_epi32(_mm256_cvtps_epi32(low), _mm256_cvtps_epi32(high)), 0xd8);
}

/* The query in 16 bits, zeros beyond head_dim, as in q, which is padded to a multiple of 16. Returns step. */
static inline float madd_query(int8_t *to, const float *q, size_t head_dim)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    __m256 most = _mm256_setzero_ps();
    for (size_t d = 0; d < head_dim; d += 8) most = _mm256_max_ps(most, _mm256_andnot_ps(sign, _mm256_loadu_ps(q + d)));
    const float largest = vec_largest(most);
    const __m256 per_step = _mm256_set1_ps(largest > 0x1p-100f ? 32512 / largest : 0); /* next to nothing is nothing */
    for (size_t d = 0; d < head_dim; d += 16) {
        const __m256 low = _mm256_mul_ps(_mm256_loadu_ps(q + d), per_step);
        const __m256 high = _mm256_mul_ps(_mm256_loadu_ps(q + d + 8), per_step);
        _mm256_storeu_si256((__m256i *)(void *)(to + 2 * d), madd_words(low, high));
    }
    return largest / 32512;
}

/* Puts in the place of the weights of 8 `vecs` slots, which are not negative, their numbers of steps. Returns step,
 * which is negative as they are. */
static inline __attribute__((always_inline)) float weights_in_integers(float *weights, const size_t vecs)
{
    vec w[BLOCK / 8], most = vec_zero();
#pragma GCC unroll 8
    for (size_t v = 0; v < BLOCK / 8; v++) {
        w[v] = v < vecs ? vec_load(weights + v * 8) : vec_zero();
        most = vec_max(most, w[v]);
    }
    const float largest = vec_largest(most);
    const uint32_t exponent_one = (uint32_t)1 << 23, sign = (uint32_t)1 << 31;
    uint32_t bits;
    memcpy(&bits, &largest, sizeof bits);
    bits = (bits + 0xfff) & ~(uint32_t)0xfff;               /* the next number of 11 bits after the point */
    if (bits < 16 * exponent_one) bits = 16 * exponent_one; /* 2^-111: less is rounded as it is, by 2^-127 at most */
    bits = (bits - 15 * exponent_one) | sign;               /* 2^-15 of that */
    float step;
    memcpy(&step, &bits, sizeof step);
    const __m256 per_step = _mm256_set1_ps(1 / step);
#pragma GCC unroll 4
    for (size_t v = 0; v < BLOCK / 8; v += 2)
        _mm256_storeu_si256((__m256i *)(void *)(weights + v * 4),
                            madd_words(_mm256_mul_ps(w[v], per_step), _mm256_mul_ps(w[v + 1], per_step)));
    return step;
}

/* Two words of 16 bits for each lane. Each two are loaded for themselves: gcc 12 takes two neighbours through a scalar
 * register. */
INLINE __m256i madd_pair(const void *p)
{
    int32_t pair;
    memcpy(&pair, p, sizeof pair);
    return _mm256_set1_epi32(pair);
}

INLINE __m256i madd_load(const int8_t *p)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}

/* Of the last eight elements of a head, the rest zero. */
INLINE __m256i madd_load_half(const int8_t *p)
{
    return _mm256_cvtepi8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

INLINE void madd_add(__m256i *sum, __m256i a, __m256i b)
{
    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(a, b));
    SM_IN_ORDER(*sum);
}

/* z[query][key] of `queries` <= RAW_KEY_QUERIES and two keys, which lie apart by `next`. step: of each query twice. */
INLINE void madd_dot_tile(const size_t queries, float *z, const int8_t *q, const int8_t *k, size_t next,
                          size_t head_dim, const float *step)
{
    __m256i sum[RAW_KEY_QUERIES][2], t[RAW_KEY_QUERIES];
    float sums[8];
    _Pragma("GCC unroll 4") for (size_t i = 0; i < RAW_KEY_QUERIES; i++) EACH_KEY(j) sum[i][j] = _mm256_setzero_si256();
    for (size_t d = 0; d < head_dim; d += 16) {
        __m256i x[2];
        EACH_KEY(j) x[j] = madd_load(k + j * next + d);
        EACH_RAW_QUERY(i)
        {
            const __m256i y = _mm256_loadu_si256((const __m256i *)(const void *)(q + i * 2 * head_dim + 2 * d));
            EACH_KEY(j) madd_add(&sum[i][j], x[j], y);
        }
    }
    _Pragma("GCC unroll 4") for (size_t i = 0; i < RAW_KEY_QUERIES; i++) t[i] =
        _mm256_add_epi32(_mm256_unpacklo_epi32(sum[i][0], sum[i][1]), _mm256_unpackhi_epi32(sum[i][0], sum[i][1]));
    _Pragma("GCC unroll 2") for (size_t i = 0; i < RAW_KEY_QUERIES; i += 2) t[i] =
        _mm256_add_epi32(_mm256_unpacklo_epi64(t[i], t[i + 1]), _mm256_unpackhi_epi64(t[i], t[i + 1]));
    t[0] = _mm256_add_epi32(_mm256_permute2x128_si256(t[0], t[2], 0x20), _mm256_permute2x128_si256(t[0], t[2], 0x31));
    _mm256_storeu_ps(sums, _mm256_mul_ps(_mm256_cvtepi32_ps(t[0]), _mm256_loadu_ps(step)));
    EACH_RAW_QUERY(i) memcpy(z + i * BLOCK, sums + 2 * i, 2 * sizeof *sums);
}

/* Slots j and j + 1 of those that begin at `from`. */
INLINE void madd_fetch(uintptr_t from, size_t j, size_t head_dim)
{
    for (size_t at = 0; at < 2 * head_dim; at += 64) vec_fetch((const void *)(from + j * head_dim + at));
}

/* z[query][key] of a block of `count` keys as they lie, whose head_dim is a multiple of 16; columns up to a whole
 * vector are 0 or what the last key is. From `ahead` on as many elements are fetched meanwhile. */
static void madd_raw_dots(float *z, const int8_t *q, const float *step, size_t queries, const int8_t *k, size_t count,
                          size_t head_dim, uintptr_t ahead)
{
    float twice[2 * RAW_KEY_QUERIES];
    for (size_t i = 0; i < 2 * RAW_KEY_QUERIES; i++) twice[i] = i / 2 < queries ? step[i / 2] : 0;
#define DOT_TILES(n)                                                                                                   \
    for (size_t j = 0; j < count; j += 2) {                                                                            \
        madd_fetch(ahead, j, head_dim);                                                                                \
        madd_dot_tile(n, z + j, q, k + j * head_dim, j + 1 < count ? head_dim : 0, head_dim, twice);                   \
    }
    switch (queries) {
    case 1: DOT_TILES(1); break;
    case 2: DOT_TILES(2); break;
    case 3: DOT_TILES(3); break;
    default: DOT_TILES(4); break;
    }
#undef DOT_TILES
    for (size_t i = 0; i < queries; i++)
        for (size_t j = (count + 1) / 2 * 2; j % VEC_WIDTH; j++) z[i * BLOCK + j] = 0;
}

/* to[d / 2][key]: a pair of elements, for whole sixteens of keys that hold `count`; the rest repeat the last. */
static void madd_keys(int32_t *to, const int8_t *k, size_t count, size_t head_dim)
{
    for (size_t j = 0; j < (count + 15) / 16 * 16; j += 8)
        for (size_t d = 0; d < head_dim; d += 16) {
            const int is_half = d + 16 > head_dim;
            vec x[8];
            for (size_t i = 0; i < 8; i++) {
                const int8_t *key = k + (j + i < count ? j + i : count - 1) * head_dim + d;
                x[i] = _mm256_castsi256_ps(is_half ? madd_load_half(key) : madd_load(key));
            }
            vec_transpose(x);
            for (size_t i = 0; i < (is_half ? 4 : 8); i++)
                _mm256_storeu_ps((float *)(void *)(to + (d / 2 + i) * BLOCK + j), x[i]);
        }
}

/* y: pairs of two slots of sixteen elements, in the order 0..3, 8..11 and 4..7, 12..15. */
INLINE void madd_interleave(__m256i y[2], __m256i a, __m256i b)
{
    y[0] = _mm256_unpacklo_epi16(a, b);
    y[1] = _mm256_unpackhi_epi16(a, b);
}

/* to[slot / 2][d]: pairs of two slots, in that order. An odd last slot is a pair with itself. Zeros beyond head_dim. */
static void madd_values(int32_t *to, size_t stride, const int8_t *v, size_t count, size_t head_dim)
{
    for (size_t j = 0; j < count; j += 2, to += stride) {
        const int8_t *const a = v + j * head_dim, *const b = j + 1 < count ? a + head_dim : a;
        for (size_t d = 0; d < head_dim; d += 16) {
            __m256i y[2];
            if (d + 16 <= head_dim)
                madd_interleave(y, madd_load(a + d), madd_load(b + d));
            else
                madd_interleave(y, madd_load_half(a + d), madd_load_half(b + d));
            _mm256_storeu_si256((__m256i *)(void *)(to + d), y[0]);
            _mm256_storeu_si256((__m256i *)(void *)(to + d + 8), y[1]);
        }
    }
}

/* What a tile reads: pairs as they are multiplied, pairs of slots by madd_values, or slots as they lie. */
enum madd_source { KEY_PAIRS, VALUE_PAIRS, SLOTS };

/* c[row][16] = step[row] * sum over p < depth of the pairs a[row][p] times b[p][16], added to c unless these are keys.
 * Rows of b are `next` elements apart. Of SLOTS two are a pair, so that `depth` counts slots; an odd last one is a pair
 * with itself. What lies from `ahead` on is fetched, as many elements as of b are read. */
INLINE void madd_tile(const size_t rows, const enum madd_source source, float *c, size_t c_stride, const float *step,
                      const int8_t *a, size_t a_stride, const void *b, size_t next, size_t depth, uintptr_t ahead)
{
    __m256i sum[TILE_ROWS][2];
    EACH_ROW(i, rows) EACH_VEC(v, 2) sum[i][v] = _mm256_setzero_si256();
    for (size_t p = 0; p < depth; p += source == SLOTS ? 2 : 1, a += 4) {
        __m256i y[2];
        if (source == SLOTS) {
            const int8_t *const slot = b;
            madd_interleave(y, madd_load(slot), madd_load(slot + (p + 1 < depth ? next : 0)));
            vec_fetch((const void *)(ahead + p * 16));
            b = slot + 2 * next;
        } else {
            const int32_t *const pairs = b;
            EACH_VEC(v, 2) y[v] = _mm256_loadu_si256((const __m256i *)(const void *)(pairs + v * 8));
            b = pairs + next;
        }
        EACH_ROW(i, rows)
        {
            const __m256i x = madd_pair(a + i * a_stride);
            EACH_VEC(v, 2) madd_add(&sum[i][v], x, y[v]);
        }
    }
    EACH_ROW(i, rows)
    {
        float *const to = c + i * c_stride;
        const __m256 s = _mm256_set1_ps(step[i]);
        const __m256 low = _mm256_cvtepi32_ps(sum[i][0]), high = _mm256_cvtepi32_ps(sum[i][1]);
        if (source == KEY_PAIRS) {
            _mm256_storeu_ps(to, _mm256_mul_ps(low, s));
            _mm256_storeu_ps(to + 8, _mm256_mul_ps(high, s));
        } else {
            const __m256 first = _mm256_permute2f128_ps(low, high, 0x20),
                         second = _mm256_permute2f128_ps(low, high, 0x31);
            _mm256_storeu_ps(to, _mm256_fmadd_ps(first, s, _mm256_loadu_ps(to)));
            _mm256_storeu_ps(to + 8, _mm256_fmadd_ps(second, s, _mm256_loadu_ps(to + 8)));
        }
    }
}

/* The same for any number of rows and whole sixteens of columns. */
INLINE void madd_outer(const enum madd_source source, float *c, size_t c_stride, const float *step, const void *a,
                       size_t a_stride, size_t rows, const void *b, size_t next, size_t depth, size_t columns,
                       uintptr_t ahead)
{
    const size_t tiles = (rows + TILE_ROWS - 1) / TILE_ROWS, element = source == SLOTS ? 1 : 4;
    for (size_t t = 0; t < tiles; t++) {
        const size_t begin = rows * t / tiles, n = rows * (t + 1) / tiles - begin;
#define MADD_TILES(n)                                                                                                  \
    for (size_t at = 0; at < columns; at += 16)                                                                        \
    madd_tile(n, source, c + begin * c_stride + at, c_stride, step + begin, (const int8_t *)a + begin * a_stride,      \
              a_stride, (const int8_t *)b + at * element, next, depth, ahead + at * depth)
        switch (n) {
        case 1: MADD_TILES(1); break;
        case 2: MADD_TILES(2); break;
        case 3: MADD_TILES(3); break;
        case 4: MADD_TILES(4); break;
        case 5: MADD_TILES(5); break;
        default: MADD_TILES(6); break;
        }
#undef MADD_TILES
    }
}
