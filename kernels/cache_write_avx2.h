/* cache_write_avx2.h - the loops of the AVX2 variants of cache_write_*, over how eight floats are stored.
 *
 * A store function converts eight floats, times their factors (int8 alone has any), to elements at `to`. */
#ifndef SM_CACHE_WRITE_AVX2_H
#define SM_CACHE_WRITE_AVX2_H

#include <string.h>

#include "cache_write.h"
#include "vector_math_avx2.h"

typedef void sm_store8_fn(void *to, __m256 x, __m256 factor);

static inline const float *sm_cache_row(const struct sm_cache_write *a, size_t i, size_t g)
{
    return a->x + (a->first + i) * a->x_stride + g * a->head_dim;
}

/* i8: the scale of row i goes out, what brings it to -127..127 comes back. */
static inline float sm_cache_scale_avx2(const struct sm_cache_write *a, size_t i, size_t g)
{
    const float *x = sm_cache_row(a, i, g);
    const __m256 sign_bit = _mm256_set1_ps(-0.0f);
    __m256 most = _mm256_setzero_ps();
    size_t c = 0;
    for (; c + 8 <= a->head_dim; c += 8) most = _mm256_max_ps(most, _mm256_andnot_ps(sign_bit, _mm256_loadu_ps(x + c)));
    if (c < a->head_dim) {
        const __m256i lanes = sm_first_lanes_avx2(a->head_dim - c);
        most = _mm256_max_ps(most, _mm256_andnot_ps(sign_bit, _mm256_maskload_ps(x + c, lanes)));
    }
    float largest = sm_max_of_lanes_avx2(most);
    if (largest < SM_CACHE_WRITE_LEAST) largest = 0;
    a->scale[g * a->scale_stride + a->slot + i] = largest / 127;
    return largest > 0 ? 127 / largest : 0;
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

static inline __attribute__((always_inline)) void sm_cache_rows_avx2(const struct sm_cache_write *a,
                                                                     struct sm_part part, size_t element_bytes,
                                                                     int scaled, sm_store8_fn *store8)
{
    for (size_t i = part.row_begin; i < part.row_end; i++)
        for (size_t g = part.col_begin; g < part.col_end; g++) {
            const float *x = sm_cache_row(a, i, g);
            const float factor = scaled ? sm_cache_scale_avx2(a, i, g) : 1;
            uint8_t *to = (uint8_t *)a->cache + (g * a->head_stride + (a->slot + i) * a->head_dim) * element_bytes;
            size_t c = 0;
            for (; c + 8 <= a->head_dim; c += 8)
                store8(to + c * element_bytes, _mm256_loadu_ps(x + c), _mm256_set1_ps(factor));
            if (c < a->head_dim)
                sm_store_few_avx2(to + c * element_bytes, 1, x + c, a->head_dim - c, factor, element_bytes, store8);
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

/* Blocks of rows, so that their inputs stay in L1 while every column of them is stored; in a block eight columns of
 * eight rows are turned at a time, and each column's stores fill whole cache lines one after another. */
static inline __attribute__((always_inline)) void sm_cache_columns_avx2(const struct sm_cache_write *a,
                                                                        struct sm_part part, size_t element_bytes,
                                                                        int scaled, sm_store8_fn *store8)
{
    enum { BLOCK = 64 };
    float factor[BLOCK];
    for (size_t g = part.col_begin; g < part.col_end; g++)
        for (size_t block = part.row_begin; block < part.row_end; block += BLOCK) {
            const size_t rows = part.row_end - block < BLOCK ? part.row_end - block : BLOCK, whole = rows / 8 * 8;
            uint8_t *to = (uint8_t *)a->cache + (g * a->head_stride + a->slot + block) * element_bytes;
            for (size_t i = 0; i < rows; i++) factor[i] = scaled ? sm_cache_scale_avx2(a, block + i, g) : 1;
            size_t c = 0;
            for (; c + 8 <= a->head_dim && whole; c += 8)
                for (size_t i = 0; i < whole; i += 8) {
                    __m256 column[8];
                    sm_columns_avx2(column, sm_cache_row(a, block + i, g) + c, a->x_stride);
                    for (size_t j = 0; j < 8; j++)
                        store8(to + ((c + j) * a->slots + i) * element_bytes, column[j], _mm256_loadu_ps(factor + i));
                }
            for (size_t i = 0; i < rows; i++)
                for (size_t from = i < whole ? c : 0; from < a->head_dim; from += 8)
                    sm_store_few_avx2(
                        to + (from * a->slots + i) * element_bytes, a->slots, sm_cache_row(a, block + i, g) + from,
                        a->head_dim - from < 8 ? a->head_dim - from : 8, factor[i], element_bytes, store8);
        }
}

#endif
