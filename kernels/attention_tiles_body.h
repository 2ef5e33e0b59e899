/* attention_tiles_body.h - the products that attention is made of, over keys and values of type SM_ATTENTION_KV.
 * Text for attention_body.h, which includes attention_avx2.h or attention_avx512.h first.
 *
 * Dot tiles read keys as they lie (vectors along head_dim, one reduction for VEC_WIDTH logits) and suit few queries.
 * Outer tiles read a block of keys transposed, or values, and suit many. */

#include "attention_kv_body.h"

#define BLOCK 64 /* columns worked on at once */
#define INLINE static inline __attribute__((always_inline))

/* A constant number of turns, of which `n` is known at compile time to be few: both gcc 12 and clang 14 unroll this
 * wholly, and so keep sums in registers. clang 14 leaves them in memory where the bound itself is n. */
#define EACH_OF_16(i, n) _Pragma("GCC unroll 16") for (size_t i = 0; i < 16; i++) if (i < (n))
#define EACH_ROW(i, n) _Pragma("GCC unroll 6") for (size_t i = 0; i < TILE_ROWS; i++) if (i < (n))
#define EACH_VEC(v, n) _Pragma("GCC unroll 4") for (size_t v = 0; v < TILE_VECS; v++) if (v < (n))

/* What a tile reads: elements of the cache, or floats made of them. */
enum source { RAW, FLOATS };

INLINE vec load(enum source source, const void *p, size_t at)
{
    if (source == FLOATS) return vec_load((const float *)p + at);
#if SM_ATTENTION_KV == 32
    return vec_load((const float *)p + at);
#elif SM_ATTENTION_KV == 16
    return vec_load_f16((const uint16_t *)p + at);
#elif SM_ATTENTION_KV == 15
    return vec_load_i16((const int16_t *)p + at);
#else
    return vec_load_i8((const int8_t *)p + at);
#endif
}

/* The end of a head_dim that is no multiple of VEC_WIDTH. Floats made of elements are padded with zeros. */
INLINE vec load_half(enum source source, const void *p, size_t at)
{
    if (source == FLOATS) return vec_load((const float *)p + at);
#if SM_ATTENTION_KV == 32
    return vec_load_half((const float *)p + at);
#elif SM_ATTENTION_KV == 16
    return vec_load_half_f16((const uint16_t *)p + at);
#elif SM_ATTENTION_KV == 15
    return vec_load_half_i16((const int16_t *)p + at);
#else
    return vec_load_half_i8((const int8_t *)p + at);
#endif
}

/* Elements of `count` slots as floats, rows padded with zeros to `stride`. */
static inline void floats_of_slots(float *to, size_t stride, const attention_element *from, size_t count,
                                   size_t head_dim)
{
    const size_t whole = head_dim / VEC_WIDTH * VEC_WIDTH;
    for (size_t j = 0; j < count; j++, from += head_dim, to += stride) {
        for (size_t d = 0; d < whole; d += VEC_WIDTH) vec_store(to + d, load(RAW, from, d));
        if (whole < head_dim) vec_store(to + whole, load_half(RAW, from, whole));
    }
}

/* Integers and keys16 have tiles of their own for keys. */
#if !defined SM_ATTENTION_MADD && !defined SM_ATTENTION_VNNI && !defined SM_ATTENTION_KEYS16

/* to[d][j] = from[j][d]: columns up to the next multiple of VEC_WIDTH repeat the last slot. */
#if SM_ATTENTION_KV == 16 && VEC_WIDTH == 16
#define TRANSPOSED RAW /* as half floats: half the moves, half the cache */
static void transpose_keys(float *to, const attention_element *from, size_t count, size_t head_dim)
{
    uint16_t *const halves = (uint16_t *)(void *)to;
    for (size_t j = 0; j < count; j += VEC_WIDTH)
        for (size_t d = 0; d < head_dim; d += 32) {
            const uint16_t *slot[VEC_WIDTH];
            for (size_t i = 0; i < VEC_WIDTH; i++) slot[i] = from + (j + i < count ? j + i : count - 1) * head_dim + d;
            transpose_halves(halves + d * BLOCK + j, BLOCK, slot, head_dim - d);
        }
}
#else
#define TRANSPOSED FLOATS
static void transpose_keys(float *to, const attention_element *from, size_t count, size_t head_dim)
{
    for (size_t j = 0; j < count; j += VEC_WIDTH)
        for (size_t d = 0; d < head_dim; d += VEC_WIDTH) {
            const int is_half = d + VEC_WIDTH > head_dim;
            vec x[VEC_WIDTH];
            for (size_t i = 0; i < VEC_WIDTH; i++) {
                const attention_element *slot = from + (j + i < count ? j + i : count - 1) * head_dim;
                x[i] = is_half ? load_half(RAW, slot, d) : load(RAW, slot, d);
            }
            vec_transpose(x);
            for (size_t i = 0; i < (is_half ? VEC_WIDTH / 2 : VEC_WIDTH); i++)
                vec_store(to + (d + i) * BLOCK + j, x[i]);
        }
}
#endif

/* z[q][key] for `queries` x `keys` <= VEC_WIDTH pairs; slots beyond `count` repeat the last one. */
INLINE void dot_tile(const size_t queries, const size_t keys, enum source source, const float *q, size_t q_stride,
                     const void *k, size_t k_stride, size_t count, size_t head_dim, float *z)
{
    const size_t element = source == FLOATS ? sizeof(float) : sizeof(attention_element);
    const size_t whole = head_dim / VEC_WIDTH * VEC_WIDTH;
    const void *slot[VEC_WIDTH];
    vec sum[VEC_WIDTH];
    EACH_OF_16(i, keys) slot[i] = (const uint8_t *)k + (i < count ? i : count - 1) * k_stride * element;
    EACH_OF_16(i, VEC_WIDTH) sum[i] = vec_zero();
    for (size_t d = 0; d < whole; d += VEC_WIDTH) {
        vec x[VEC_WIDTH];
        EACH_OF_16(j, keys) x[j] = load(source, slot[j], d);
        EACH_OF_16(i, queries)
        {
            const vec y = vec_load(q + i * q_stride + d);
            EACH_OF_16(j, keys) sum[i * keys + j] = vec_fma(y, x[j], sum[i * keys + j]);
        }
    }
    if (whole < head_dim) {
        EACH_OF_16(j, keys)
        {
            const vec x = load_half(source, slot[j], whole);
            EACH_OF_16(i, queries)
            sum[i * keys + j] = vec_fma(vec_load(q + i * q_stride + whole), x, sum[i * keys + j]);
        }
    }
    float sums[VEC_WIDTH];
    vec_store(sums, vec_sums(sum));
    EACH_OF_16(i, queries) memcpy(z + i * BLOCK, sums + i * keys, keys * sizeof(float));
}

/* Slots from the j-th on, of those that begin at `from`. */
INLINE void fetch_slots(uintptr_t from, size_t j, size_t slots, size_t head_dim)
{
    const size_t slot_bytes = head_dim * sizeof(attention_element);
    for (size_t at = 0; at < slots * slot_bytes; at += 64) vec_fetch((const void *)(from + j * slot_bytes + at));
}

/* z[m][j] = dot(q[m], k[j]) for a block of `count` slots. z has room for BLOCK + VEC_WIDTH columns in its last row.
 * From `ahead` on as many elements of the cache are fetched meanwhile. */
INLINE void dots(enum source source, const float *q, size_t q_stride, size_t queries, const void *k, size_t k_stride,
                 size_t count, size_t head_dim, float *z, uintptr_t ahead)
{
    const size_t element = source == FLOATS ? sizeof(float) : sizeof(attention_element);
#define DOT_TILES(n, keys)                                                                                             \
    for (size_t j = 0; j < count; j += (keys)) {                                                                       \
        if (ahead) fetch_slots(ahead, j, keys, head_dim);                                                              \
        dot_tile(n, keys, source, q, q_stride, (const uint8_t *)k + j * k_stride * element, k_stride, count - j,       \
                 head_dim, z + j);                                                                                     \
    }
    while (queries) {
        size_t step;
        if (VEC_WIDTH == 16 && queries >= 4) {
            DOT_TILES(4, VEC_WIDTH / 4);
            step = 4;
        } else if (VEC_WIDTH == 16 && queries == 3) {
            DOT_TILES(3, VEC_WIDTH / 4);
            step = 3;
        } else if (queries >= 2) {
            DOT_TILES(2, VEC_WIDTH / 2);
            step = 2;
        } else {
            DOT_TILES(1, VEC_WIDTH);
            step = 1;
        }
        ahead = 0;
        queries -= step;
        q += step * q_stride;
        z += step * BLOCK;
    }
#undef DOT_TILES
}

#endif

/* c[rows][vecs] = (fresh ? 0 : c) + a[rows][depth] * b[depth][vecs], the vectors of b `b_next` elements apart; is_half:
 * the one vector of b is half there. What lies from `ahead` on is fetched, as many elements as of b are read. */
INLINE void outer_tile(const size_t rows, const size_t vecs, enum source source, const int is_half, const float *a,
                       size_t a_stride, const void *b, size_t b_stride, size_t b_next, size_t depth, float *c,
                       size_t c_stride, int fresh, uintptr_t ahead)
{
    const size_t element = source == FLOATS ? sizeof(float) : sizeof(attention_element);
    const size_t step = vecs * VEC_WIDTH * sizeof(attention_element);
    vec sum[TILE_ROWS][TILE_VECS];
    EACH_ROW(i, rows) EACH_VEC(v, vecs) sum[i][v] = fresh ? vec_zero() : vec_load(c + i * c_stride + v * VEC_WIDTH);
    for (size_t p = 0; p < depth; p++, b = (const uint8_t *)b + b_stride * element) {
        vec y[TILE_VECS];
        if (ahead) {
            EACH_VEC(v, (step + 63) / 64) vec_fetch((const void *)(ahead + v * 64));
            ahead += step;
        }
        EACH_VEC(v, vecs) y[v] = is_half ? load_half(source, b, v * b_next) : load(source, b, v * b_next);
        EACH_ROW(i, rows)
        {
            const vec x = vec_set(a[i * a_stride + p]);
            EACH_VEC(v, vecs) sum[i][v] = vec_fma(x, y[v], sum[i][v]);
        }
    }
    EACH_ROW(i, rows) EACH_VEC(v, vecs) vec_store(c + i * c_stride + v * VEC_WIDTH, sum[i][v]);
}

/* The same for any number of columns; c is padded to whole vectors. */
INLINE void outer_rows(const size_t rows, enum source source, const float *a, size_t a_stride, const void *b,
                       size_t b_stride, size_t depth, size_t columns, float *c, size_t c_stride, int fresh,
                       uintptr_t ahead)
{
    const size_t element = source == FLOATS ? sizeof(float) : sizeof(attention_element);
    size_t at = 0;
#define OUTER_TILE(vecs, is_half)                                                                                      \
    outer_tile(rows, vecs, source, is_half, a, a_stride, (const uint8_t *)b + at * element, b_stride, VEC_WIDTH,       \
               depth, c + at, c_stride, fresh, ahead ? ahead + at * depth * sizeof(attention_element) : 0)
    for (; at + TILE_VECS * VEC_WIDTH <= columns; at += TILE_VECS * VEC_WIDTH) OUTER_TILE(TILE_VECS, 0);
    for (; at + VEC_WIDTH <= columns; at += VEC_WIDTH) OUTER_TILE(1, 0);
    if (at < columns) OUTER_TILE(1, 1);
#undef OUTER_TILE
}

/* c[m][n] = (fresh ? 0 : c[m][n]) + sum over p of a[m][p] * b[p][n], in order of p. From `ahead` on as many elements as
 * b has are fetched meanwhile, if it is not 0. */
INLINE void outer(enum source source, const float *a, size_t a_stride, size_t rows, const void *b, size_t b_stride,
                  size_t depth, size_t columns, float *c, size_t c_stride, int fresh, uintptr_t ahead)
{
    const size_t tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
    for (size_t t = 0; t < tiles; t++) {
        const size_t begin = rows * t / tiles, n = rows * (t + 1) / tiles - begin;
        const float *const x = a + begin * a_stride;
        float *const y = c + begin * c_stride;
        switch (n) {
        case 1:
            outer_rows(1, source, x, a_stride, b, b_stride, depth, columns, y, c_stride, fresh, t ? 0 : ahead);
            break;
        case 2:
            outer_rows(2, source, x, a_stride, b, b_stride, depth, columns, y, c_stride, fresh, t ? 0 : ahead);
            break;
        case 3:
            outer_rows(3, source, x, a_stride, b, b_stride, depth, columns, y, c_stride, fresh, t ? 0 : ahead);
            break;
        case 4:
            outer_rows(4, source, x, a_stride, b, b_stride, depth, columns, y, c_stride, fresh, t ? 0 : ahead);
            break;
        case 5:
            outer_rows(5, source, x, a_stride, b, b_stride, depth, columns, y, c_stride, fresh, t ? 0 : ahead);
            break;
        default:
            outer_rows(6, source, x, a_stride, b, b_stride, depth, columns, y, c_stride, fresh, t ? 0 : ahead);
            break;
        }
    }
}
