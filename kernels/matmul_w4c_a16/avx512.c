/* 4-bit weights with vpmaddwd, through the body that all variants share. */
#include "matmul_w4c_a16/matmul_w4c_a16.h"

#include "matmul_channel_a16_avx512.h"

#define MULADD(sum, w, x) _mm512_add_epi32(sum, _mm512_madd_epi16(w, x))
#define ARGS struct sm_matmul_c_a16
#define BITS 4
#define SCALE_OF(x, r) ((void)(r), (x).scale)
#include "matmul_channel_a16_body.h"

void sm_matmul_w4c_a16_avx512(const void *args, struct sm_part part)
{
    if (part.row_begin < part.row_end) matmul(args, part);
}
