/* Halves widened once for all rows, through the body that all variants share. */
#include "matmul_f16/matmul_f16.h"

#include "matmul_float_avx2.h"

#define WEIGHT uint16_t
#define WIDEN(p) _mm256_cvtph_ps(_mm_load_si128((const __m128i *)(const void *)(p)))
#include "matmul_float_body.h"

void sm_matmul_f16_avx2(const void *args, struct sm_part part)
{
    matmul(args, part);
}
