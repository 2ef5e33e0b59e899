/* Floats as they lie, through the body that all variants share. */
#include "matmul_f32/matmul_f32.h"

#include "matmul_float_avx512.h"

#define WEIGHT float
#define WIDEN(p) _mm512_load_ps(p)
#include "matmul_float_body.h"

void sm_matmul_f32_avx512(const void *args, struct sm_part part)
{
    matmul(args, part);
}
