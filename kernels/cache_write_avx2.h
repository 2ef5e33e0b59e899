/* cache_write_avx2.h - the loops of the AVX2 variants of cache_write_*, over how eight floats are stored.
 *
 * A store function converts eight floats, times their factors where the type has any, to elements at `to`. */
#ifndef SM_CACHE_WRITE_AVX2_H
#define SM_CACHE_WRITE_AVX2_H

#include <string.h>

#include "cache_write.h"
#include "vector_math_avx2.h"

typedef void sm_store8_fn(void *to, __m256 x, __m256 factor);

enum sm_cache_scaling { SM_CACHE_UNSCALED, SM_CACHE_SCALED_BY_SLOT, SM_CACHE_SCALED_BY_TENSOR };

static inline const float *sm_cache_row(const struct sm_cache_write *a, size_t i, size_t g)
{
    return a->x + (a->first + i) * a->x_stride + g * a->head_dim;
}

/* max |x| of one head of one row, in the eight lanes that are still to be compared. */
static inline __m256 sm_largest_lanes_avx2(const float *x, size_t n)
{
    const __m256 sign_bit = _mm256_set1_ps(-0.0f);
    __m256 most = _mm256_setzero_ps();
    size_t c = 0;
    for (; c + 8 <= n; c += 8) most = _mm256_max_ps(most, _mm256_andnot_ps(sign_bit, _mm256_loadu_ps(x + c)));
    if (c < n) {
        const __m256i lanes = sm_first_lanes_avx2(n - c);
        most = _mm256_max_ps(most, _mm256_andnot_ps(sign_bit, _mm256_maskload_ps(x + c, lanes)));
    }
    return most;
}

/* max of pairs of lanes: a and b interleaved, half as many lanes of each. */
static inline __m256 sm_fold_avx2(__m256 a, __m256 b)
{
    return _mm256_max_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
}

/* i8: the scale of row i goes out, what brings the row to -127..127 comes back. */
static inline float sm_cache_scale_avx2(const struct sm_cache_write *a, size_t i, size_t g)
{
    float largest = sm_max_of_lanes_avx2(sm_largest_lanes_avx2(sm_cache_row(a, i, g), a->head_dim));
    if (largest < SM_CACHE_WRITE_LEAST) largest = 0;
    a->scale[g * a->scale_stride + a->slot + i] = largest / 127;
    return largest > 0 ? 127 / largest : 0;
}

/* The same for rows i to i + 8, which share their comparisons across lanes and their divisions. */
static inline void sm_cache_eight_scales_avx2(const struct sm_cache_write *a, size_t i, size_t g, float factor[8])
{
    __m256 m[8];
    for (size_t r = 0; r < 8; r++) m[r] = sm_largest_lanes_avx2(sm_cache_row(a, i + r, g), a->head_dim);
    const __m256 m01 = sm_fold_avx2(m[0], m[1]), m23 = sm_fold_avx2(m[2], m[3]);
    const __m256 m45 = sm_fold_avx2(m[4], m[5]), m67 = sm_fold_avx2(m[6], m[7]);
    const __m256 m0123 = _mm256_max_ps(_mm256_shuffle_ps(m01, m23, 0x44), _mm256_shuffle_ps(m01, m23, 0xee));
    const __m256 m4567 = _mm256_max_ps(_mm256_shuffle_ps(m45, m67, 0x44), _mm256_shuffle_ps(m45, m67, 0xee));
    __m256 largest =
        _mm256_max_ps(_mm256_permute2f128_ps(m0123, m4567, 0x20), _mm256_permute2f128_ps(m0123, m4567, 0x31));
    const __m256 some = _mm256_cmp_ps(largest, _mm256_set1_ps(SM_CACHE_WRITE_LEAST), _CMP_GE_OQ);
    const __m256 unit = _mm256_set1_ps(127);
    largest = _mm256_and_ps(largest, some);
    _mm256_storeu_ps(a->scale + g * a->scale_stride + a->slot + i, _mm256_div_ps(largest, unit));
    _mm256_storeu_ps(factor, _mm256_and_ps(some, _mm256_div_ps(unit, largest)));
}

/* i8: the scales of rows i to i + n, n <= 8. */
static inline void sm_cache_scales_avx2(const struct sm_cache_write *a, size_t i, size_t n, size_t g, float factor[8])
{
    if (n == 8) {
        sm_cache_eight_scales_avx2(a, i, g, factor);
        return;
    }
    for (size_t r = 0; r < n; r++) factor[r] = sm_cache_scale_avx2(a, i + r, g);
}

/* What n rows begin with: the tensor's factor where there is one; those of slots come row by row. */
static inline void sm_cache_factors_avx2(const struct sm_cache_write *a, enum sm_cache_scaling scaling, size_t n,
                                         float *factor)
{
    const float of_all = scaling == SM_CACHE_SCALED_BY_TENSOR ? 1 / *a->scale : 0;
    for (size_t i = 0; i < n; i++) factor[i] = of_all;
}

/* Elements c to c + n, n < 8, of row i, `apart` elements from each other. */
static inline __attribute__((always_inline)) void sm_store_few_avx2(uint8_t *to, size_t apart, const float *x, size_t n,
                                                                    float factor, size_t element_bytes,
                                                                    sm_store8_fn *store8)
{
    uint8_t few[8 * sizeof(float)];
    store8(few, n < 8 ? _mm256_maskload_ps(x, sm_first_lanes_avx2(n)) : _mm256_loadu_ps(x), _mm256_set1_ps(factor));
    for (size_t j = 0; j < n; j++) memcpy(to + j * apart * element_bytes, few + j * element_bytes, element_bytes);
}

/* Row i of one head, slot-major. */
static inline __attribute__((always_inline)) void sm_cache_row_avx2(const struct sm_cache_write *a, size_t i, size_t g,
                                                                    float factor, size_t element_bytes,
                                                                    sm_store8_fn *store8)
{
    const float *x = sm_cache_row(a, i, g);
    uint8_t *to = (uint8_t *)a->cache + (g * a->head_stride + (a->slot + i) * a->head_dim) * element_bytes;
    size_t c = 0;
    for (; c + 8 <= a->head_dim; c += 8) store8(to + c * element_bytes, _mm256_loadu_ps(x + c), _mm256_set1_ps(factor));
    if (c < a->head_dim)
        sm_store_few_avx2(to + c * element_bytes, 1, x + c, a->head_dim - c, factor, element_bytes, store8);
}

static inline __attribute__((always_inline)) void sm_cache_rows_avx2(const struct sm_cache_write *a,
                                                                     struct sm_part part, size_t element_bytes,
                                                                     enum sm_cache_scaling scaling,
                                                                     sm_store8_fn *store8)
{
    float factor[8];
    sm_cache_factors_avx2(a, scaling, 8, factor);
    for (size_t i = part.row_begin; i < part.row_end; i += 8)
        for (size_t g = part.col_begin; g < part.col_end; g++) {
            const size_t rows = part.row_end - i < 8 ? part.row_end - i : 8;
            if (scaling == SM_CACHE_SCALED_BY_SLOT) sm_cache_scales_avx2(a, i, rows, g, factor);
            for (size_t r = 0; r < rows; r++) sm_cache_row_avx2(a, i + r, g, factor[r], element_bytes, store8);
        }
}

/* v[j] = x[0..7][j]: eight columns of eight rows that are `stride` floats apart. */
static inline void sm_columns_avx2(__m256 v[8], const float *x, size_t stride)
{
    __m256 t[8];
    for (size_t half = 0; half < 2; half++)
        for (size_t i = 0; i < 4; i++)
            t[4 * half + i] =
                _mm256_set_m128(_mm_loadu_ps(x + (i + 4) * stride + 4 * half), _mm_loadu_ps(x + i * stride + 4 * half));
    for (size_t half = 0; half < 8; half += 4) {
        const __m256 low01 = _mm256_unpacklo_ps(t[half], t[half + 1]),
                     high01 = _mm256_unpackhi_ps(t[half], t[half + 1]);
        const __m256 low23 = _mm256_unpacklo_ps(t[half + 2], t[half + 3]),
                     high23 = _mm256_unpackhi_ps(t[half + 2], t[half + 3]);
        v[half] = _mm256_shuffle_ps(low01, low23, 0x44);
        v[half + 1] = _mm256_shuffle_ps(low01, low23, 0xee);
        v[half + 2] = _mm256_shuffle_ps(high01, high23, 0x44);
        v[half + 3] = _mm256_shuffle_ps(high01, high23, 0xee);
    }
}

/* Eight columns, from c on, of rows i to i + 8. */
static inline __attribute__((always_inline)) void sm_cache_turn_avx2(const struct sm_cache_write *a, size_t i, size_t g,
                                                                     size_t c, const float factor[8],
                                                                     size_t element_bytes, sm_store8_fn *store8)
{
    uint8_t *to = (uint8_t *)a->cache + (g * a->head_stride + c * a->slots + a->slot + i) * element_bytes;
    __m256 column[8];
    sm_columns_avx2(column, sm_cache_row(a, i, g) + c, a->x_stride);
    for (size_t j = 0; j < 8; j++) store8(to + j * a->slots * element_bytes, column[j], _mm256_loadu_ps(factor));
}

/* Rows that are no eight, or columns from c on: scattered one by one. */
static inline __attribute__((always_inline)) void sm_cache_scatter_avx2(const struct sm_cache_write *a, size_t i,
                                                                        size_t g, size_t c, float factor,
                                                                        size_t element_bytes, sm_store8_fn *store8)
{
    uint8_t *to = (uint8_t *)a->cache + (g * a->head_stride + a->slot + i) * element_bytes;
    for (; c < a->head_dim; c += 8)
        sm_store_few_avx2(to + c * a->slots * element_bytes, a->slots, sm_cache_row(a, i, g) + c,
                          a->head_dim - c < 8 ? a->head_dim - c : 8, factor, element_bytes, store8);
}

/* Eight columns of eight rows are turned at a time, the two that share a cache line of inputs one after the other:
 * rows lie a power of two apart, and would not stay in L1 until the rest of their lines is needed. The stores of each
 * column fill its cache lines from block to block. */
static inline __attribute__((always_inline)) void sm_cache_columns_avx2(const struct sm_cache_write *a,
                                                                        struct sm_part part, size_t element_bytes,
                                                                        enum sm_cache_scaling scaling,
                                                                        sm_store8_fn *store8)
{
    enum { BLOCK = 64 };
    const size_t turned = a->head_dim / 8 * 8;
    float factor[BLOCK];
    sm_cache_factors_avx2(a, scaling, BLOCK, factor);
    for (size_t g = part.col_begin; g < part.col_end; g++)
        for (size_t block = part.row_begin; block < part.row_end; block += BLOCK) {
            const size_t rows = part.row_end - block < BLOCK ? part.row_end - block : BLOCK, whole = rows / 8 * 8;
            for (size_t i = 0; scaling == SM_CACHE_SCALED_BY_SLOT && i < rows; i += 8)
                sm_cache_scales_avx2(a, block + i, rows - i < 8 ? rows - i : 8, g, factor + i);
            for (size_t c = 0; c < turned; c += 16)
                for (size_t i = 0; i < whole; i += 8) {
                    sm_cache_turn_avx2(a, block + i, g, c, factor + i, element_bytes, store8);
                    if (c + 8 < turned) sm_cache_turn_avx2(a, block + i, g, c + 8, factor + i, element_bytes, store8);
                }
            for (size_t i = 0; i < rows; i++)
                sm_cache_scatter_avx2(a, block + i, g, i < whole ? turned : 0, factor[i], element_bytes, store8);
        }
}

/* Row i of one head in blocks16, a group of elements at a time: what is kept together is `unit` bytes. */
static inline __attribute__((always_inline)) void sm_cache_row_blocks16_avx2(const struct sm_cache_write *a, size_t i,
                                                                             size_t g, float factor,
                                                                             size_t element_bytes, size_t together,
                                                                             sm_store8_fn *store8)
{
    const size_t unit = together * element_bytes;
    const float *x = sm_cache_row(a, i, g);
    uint8_t *to = (uint8_t *)a->cache +
                  (g * a->head_stride + sm_blocks16_at(a->slot + i, 0, a->head_dim, together)) * element_bytes;
    uint8_t few[8 * sizeof(float)];
    size_t c = 0;
    for (; c + 8 <= a->head_dim; c += 8) {
        store8(few, _mm256_loadu_ps(x + c), _mm256_set1_ps(factor));
#pragma GCC unroll 8
        for (size_t j = 0; j < 8; j += together, to += SM_CACHE_WRITE_BLOCK * unit)
            memcpy(to, few + j * element_bytes, unit); /* of a size that is known: moves, not calls */
    }
    if (c == a->head_dim) return;
    const size_t bytes = (a->head_dim - c) * element_bytes;
    store8(few, _mm256_maskload_ps(x + c, sm_first_lanes_avx2(a->head_dim - c)), _mm256_set1_ps(factor));
    for (size_t b = 0; b < bytes; b += unit, to += SM_CACHE_WRITE_BLOCK * unit)
        memcpy(to, few + b, bytes - b < unit ? bytes - b : unit);
}

/* Eight rows that lie in one half of a block: as sm_cache_turn_avx2 where elements stand alone. */
static inline __attribute__((always_inline)) void sm_cache_half_block_avx2(const struct sm_cache_write *a, size_t i,
                                                                           size_t g, const float factor[8],
                                                                           size_t element_bytes, sm_store8_fn *store8)
{
    uint8_t *to =
        (uint8_t *)a->cache + (g * a->head_stride + sm_blocks16_at(a->slot + i, 0, a->head_dim, 1)) * element_bytes;
    for (size_t c = 0; c + 8 <= a->head_dim; c += 8) {
        __m256 column[8];
        sm_columns_avx2(column, sm_cache_row(a, i, g) + c, a->x_stride);
        for (size_t j = 0; j < 8; j++)
            store8(to + (c + j) * SM_CACHE_WRITE_BLOCK * element_bytes, column[j], _mm256_loadu_ps(factor));
    }
}

static inline __attribute__((always_inline)) void sm_cache_blocks16_avx2(const struct sm_cache_write *a,
                                                                         struct sm_part part, size_t element_bytes,
                                                                         size_t together, enum sm_cache_scaling scaling,
                                                                         sm_store8_fn *store8)
{
    float factor[8];
    sm_cache_factors_avx2(a, scaling, 8, factor);
    for (size_t i = part.row_begin, rows; i < part.row_end; i += rows) {
        rows = 8 - (a->slot + i) % 8; /* to the end of the half block */
        if (rows > part.row_end - i) rows = part.row_end - i;
        for (size_t g = part.col_begin; g < part.col_end; g++) {
            if (scaling == SM_CACHE_SCALED_BY_SLOT) sm_cache_scales_avx2(a, i, rows, g, factor);
            if (together == 1 && rows == 8 && a->head_dim % 8 == 0)
                sm_cache_half_block_avx2(a, i, g, factor, element_bytes, store8);
            else
                for (size_t r = 0; r < rows; r++)
                    sm_cache_row_blocks16_avx2(a, i + r, g, factor[r], element_bytes, together, store8);
        }
    }
}

#endif
