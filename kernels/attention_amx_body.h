/* attention_amx_body.h - the products of attention_vnni_body.h and attention_vnni_values_body.h by tiles: the same
 * integers, int8 only. Text for attention_body.h, for files compiled with AMX.
 *
 * Dots of many queries: on the left the planes of eight queries, a row each; on the right keys as vnni_keys lays them
 * out, which is how a tile wants them. Few queries do not pay for that: their planes are laid out instead, once, and
 * stand on the right, keys on the left as they lie. Values: on the left the bytes of eight queries' weights, on the
 * right values as vnni_values interleaves them. Sums leave by way of memory. */
#include "amx.h"

#define AMX_QUERIES 8     /* of a tile: a row for each plane */
#define AMX_FEW_QUERIES 8 /* up to here keys stay as they lie */
#define AMX_FEW_AT_ONCE 4
#define AMX_SUMS (SM_AMX_ROWS * VNNI_BLOCK) /* of a tile's rows with a block of keys, or with 64 elements of values */

/* Of tiles: 0..3 sums, 4 and 5 what is multiplied, and of few queries 6 their planes, 7 sums. */
static void amx_begin(void)
{
    struct sm_amx_shapes shapes = {.palette = 1};
    for (unsigned t = 0; t < 8; t++) sm_amx_shape(&shapes, t, SM_AMX_ROWS, t < 6 ? SM_AMX_BYTES : SM_AMX_BYTES / 2);
    sm_amx_configure(&shapes);
}

/* The v-th vector of the m-th query of a tile: its sums of high bytes, and behind them those of low ones, put together.
 */
static inline vec amx_total(const int32_t *sums, size_t m, size_t v)
{
    const int32_t *const high = sums + 2 * m * VNNI_BLOCK + 16 * v;
    return vnni_total(_mm512_load_si512(high), _mm512_load_si512(high + VNNI_BLOCK));
}

/* z[query][key] as vnni_dots has them. sums: room for AMX_SUMS. */
static void amx_dots(float *z, int32_t *sums, const int8_t *planes, const float *step, size_t queries,
                     const uint8_t *keys, size_t head_dim)
{
    const size_t plane = vnni_plane_bytes(head_dim) / 2;
    sm_amx_written(keys);
    for (size_t i = 0; i < queries; i += AMX_QUERIES) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        for (size_t at = 0; at < plane; at += 64) {
            const uint8_t *const k = keys + at * VNNI_BLOCK;
            _tile_loadd(4, planes + 2 * i * plane + at, plane);
            _tile_loadd(5, k, 4 * VNNI_BLOCK);
            _tile_dpbssd(0, 4, 5);
            _tile_loadd(5, k + 64, 4 * VNNI_BLOCK);
            _tile_dpbssd(1, 4, 5);
            _tile_loadd(5, k + 128, 4 * VNNI_BLOCK);
            _tile_dpbssd(2, 4, 5);
            _tile_loadd(5, k + 192, 4 * VNNI_BLOCK);
            _tile_dpbssd(3, 4, 5);
        }
        _tile_stored(0, sums, 4 * VNNI_BLOCK);
        _tile_stored(1, sums + 16, 4 * VNNI_BLOCK);
        _tile_stored(2, sums + 32, 4 * VNNI_BLOCK);
        _tile_stored(3, sums + 48, 4 * VNNI_BLOCK);
        sm_amx_written(sums);
        for (size_t m = 0; m < AMX_QUERIES && i + m < queries; m++) {
            const vec unit = vec_set(step[i + m]);
            VNNI_EACH_VEC(v)
            {
                vec_store(z + (i + m) * BLOCK + 16 * v, vec_mul(amx_total(sums, m, v), unit));
            }
        }
    }
}

/* packed[four queries][64 elements][4 elements]: four high bytes of each query and then low ones; of queries that are
 * not there zeros. */
static void amx_pack_few(int8_t *packed, const int8_t *planes, size_t queries, size_t head_dim)
{
    const size_t plane = vnni_plane_bytes(head_dim) / 2;
    for (size_t i = 0; i < queries; i += AMX_FEW_AT_ONCE)
        for (size_t at = 0; at < plane; at += 4)
            for (size_t c = 0; c < 2 * AMX_FEW_AT_ONCE; c++, packed += 4) {
                const size_t m = i + c % AMX_FEW_AT_ONCE;
                if (m < queries)
                    memcpy(packed, planes + (2 * m + c / AMX_FEW_AT_ONCE) * plane + at, 4);
                else
                    memset(packed, 0, 4);
            }
}

/* z of four queries at most with 16 keys: sums of a key are four of high bytes and four of low ones. */
static inline void amx_few_logits(float *z, const int32_t *sums, const float *step, size_t queries)
{
    const __m512i first = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
    const __m512i last = _mm512_add_epi32(first, _mm512_set1_epi32(2));
    __m512i n[4], x[4], y[4];
    VNNI_EACH_VEC(v) /* keys 4 v .. 4 v + 3, of each four queries */
    {
        const __m512i a = _mm512_load_si512(sums + 32 * v), b = _mm512_load_si512(sums + 32 * v + 16);
        n[v] =
            _mm512_add_epi32(_mm512_slli_epi32(_mm512_shuffle_i32x4(a, b, 0x88), 8), _mm512_shuffle_i32x4(a, b, 0xdd));
    }
    /* x[2 h], x[2 h + 1]: keys 8 h .. 8 h + 7 of queries 0 and 1, 2 and 3 */
#pragma GCC unroll 2
    for (int h = 0; h < 2; h++) {
        x[2 * h] = _mm512_permutex2var_epi32(n[2 * h], first, n[2 * h + 1]);
        x[2 * h + 1] = _mm512_permutex2var_epi32(n[2 * h], last, n[2 * h + 1]);
    }
    y[0] = _mm512_shuffle_i32x4(x[0], x[2], 0x44), y[1] = _mm512_shuffle_i32x4(x[0], x[2], 0xee);
    y[2] = _mm512_shuffle_i32x4(x[1], x[3], 0x44), y[3] = _mm512_shuffle_i32x4(x[1], x[3], 0xee);
    VNNI_EACH_VEC(i)
    if (i < queries) vec_store(z + i * BLOCK, vec_mul(_mm512_cvtepi32_ps(y[i]), vec_set(step[i])));
}

/* The same as amx_dots for few queries, whose planes amx_pack_few laid out, and keys as they lie, whole sixteens of
 * them and 64 bytes. */
static void amx_few_dots(float *z, int32_t *sums, const int8_t *packed, const float *step, size_t queries,
                         const int8_t *keys, size_t key_bytes, size_t count)
{
    const size_t group_bytes = 2 * AMX_FEW_AT_ONCE * ((key_bytes + 63) / 64 * 64);
    sm_amx_written(keys);
    for (size_t i = 0; i < queries; i += AMX_FEW_AT_ONCE, packed += group_bytes) {
        for (size_t j = 0; j < count; j += 16) {
            _tile_zero(7);
            for (size_t at = 0; at < key_bytes; at += 64) {
                _tile_loadd(6, packed + 2 * AMX_FEW_AT_ONCE * at, 8 * AMX_FEW_AT_ONCE);
                _tile_loadd(4, keys + j * key_bytes + at, key_bytes);
                _tile_dpbssd(7, 4, 6);
            }
            _tile_stored(7, sums + j * 2 * AMX_FEW_AT_ONCE, 8 * AMX_FEW_AT_ONCE);
        }
        sm_amx_written(sums);
        for (size_t j = 0; j < count; j += 16)
            amx_few_logits(z + i * BLOCK + j, sums + j * 2 * AMX_FEW_AT_ONCE, step + i, queries - i);
    }
}

/* sum[query] += step * weights[query] * values, as vnni_add_values does, of values that vnni_values laid out whole. */
static void amx_add_values(float *sum, size_t stride, int32_t *sums, const uint8_t *weights, const float *step,
                           size_t queries, const uint8_t *values)
{
    sm_amx_written(values);
    for (size_t i = 0; i < queries; i += AMX_QUERIES) {
        _tile_loadd(4, weights + i * VALUES_WEIGHT_BYTES, VALUES_WEIGHT_BYTES / 2);
        for (size_t d = 0; d < stride; d += VALUES_AT_ONCE) {
            const uint8_t *const from = values + d * VNNI_BLOCK;
#define AMX_VALUES(v)                                                                                                  \
    _tile_zero(v);                                                                                                     \
    _tile_loadd(5, from + 64 * (v), 4 * VNNI_BLOCK);                                                                   \
    _tile_dpbusd(v, 4, 5);                                                                                             \
    _tile_stored(v, sums + 16 * (v), 4 * VNNI_BLOCK)
            AMX_VALUES(0);
            AMX_VALUES(1);
            AMX_VALUES(2);
            AMX_VALUES(3);
#undef AMX_VALUES
            sm_amx_written(sums);
            for (size_t m = 0; m < AMX_QUERIES && i + m < queries; m++) {
                const vec unit = vec_set(step[i + m]);
                VNNI_EACH_VEC(v)
                {
                    float *const to = sum + (i + m) * stride + d + 16 * v;
                    vec_store(to, vec_fma(amx_total(sums, m, v), unit, vec_load(to)));
                }
            }
        }
    }
}
