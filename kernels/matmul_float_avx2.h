/* matmul_float_avx2.h - the operations of matmul_float_body.h in 256 bits, two vectors to a tile: 6 rows by one tile
 * are 12 sums for 16 registers, and one row takes 3 tiles. */
#ifndef SM_MATMUL_FLOAT_AVX2_H
#define SM_MATMUL_FLOAT_AVX2_H

#include <immintrin.h>
#include <stddef.h>

#define LANES 8
#define ROWS 6
#define EACH_COUNT(X) X(1, 3) X(2, 2) X(3, 1) X(4, 1) X(5, 1) X(6, 1)
#define SIDE 1
#define EACH_BLOCK(X) X(3) X(4) X(5) X(6)
#define VECTOR __m256
#define MASK __m256i
#define ZERO() _mm256_setzero_ps()
#define FMADD(a, b, c) _mm256_fmadd_ps(a, b, c)
#define ADD(a, b) _mm256_add_ps(a, b)
#define BROADCAST(p) _mm256_broadcast_ss(p)
#define LOAD(p) _mm256_load_ps((const float *)(const void *)(p))
#define STORE(p, v) _mm256_store_ps(p, v)
#define FIRST(count) first_lanes(count)
#define LOAD_FIRST(mask, p) _mm256_maskload_ps(p, mask)
#define STORE_FIRST(p, mask, v) _mm256_maskstore_ps(p, mask, v)

static inline __m256i first_lanes(size_t count)
{
    const int left = count < 8 ? (int)count : 8;
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(left), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

#endif
