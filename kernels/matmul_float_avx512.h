/* matmul_float_avx512.h - the operations of matmul_float_body.h in 512 bits: 8 rows by 2 tiles are 16 sums, and one row
 * takes 8 tiles. */
#ifndef SM_MATMUL_FLOAT_AVX512_H
#define SM_MATMUL_FLOAT_AVX512_H

#include <immintrin.h>

#define LANES 16
#define ROWS 8
#define EACH_COUNT(X) X(1, 8) X(2, 4) X(3, 4) X(4, 4) X(5, 2) X(6, 2) X(7, 2) X(8, 2)
#define SIDE 2
#define EACH_BLOCK(X) X(4) X(5) X(6) X(7) X(8)
#define VECTOR __m512
#define MASK __mmask16
#define ZERO() _mm512_setzero_ps()
#define FMADD(a, b, c) _mm512_fmadd_ps(a, b, c)
#define ADD(a, b) _mm512_add_ps(a, b)
#define BROADCAST(p) _mm512_set1_ps(*(p))
#define LOAD(p) _mm512_load_ps((const void *)(p))
#define STORE(p, v) _mm512_store_ps(p, v)
#define FIRST(count) ((__mmask16)((count) < 16 ? (1u << (count)) - 1 : 0xffff))
#define LOAD_FIRST(mask, p) _mm512_maskz_loadu_ps(mask, p)
#define STORE_FIRST(p, mask, v) _mm512_mask_storeu_ps(p, mask, v)

#endif
