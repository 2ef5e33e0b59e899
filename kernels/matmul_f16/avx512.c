/* Halves widened once for all rows, through the body that all variants share. */
#include "matmul_f16/matmul_f16.h"

#include "matmul_float_avx512.h"

#define WEIGHT uint16_t
#define WIDEN(p) _mm512_cvtph_ps(_mm256_load_si256((const __m256i *)(const void *)(p)))
#include "matmul_float_body.h"

void sm_matmul_f16_avx512(const void *args, struct sm_part part)
{
    matmul(args, part);
}
