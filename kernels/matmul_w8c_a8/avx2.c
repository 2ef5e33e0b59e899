/* 8-bit weights through the body that both widths share. */
#include "matmul_w8c_a8/matmul_w8c_a8.h"

#define ARGS struct sm_matmul_c_a8
#define BITS 8
#define SCALE_OF(x, r) ((x).scale[r])
#include "matmul_channel_a8_avx2_body.h"

void sm_matmul_w8c_a8_avx2(const void *args, struct sm_part part)
{
    if (part.row_begin < part.row_end) matmul(args, part);
}
