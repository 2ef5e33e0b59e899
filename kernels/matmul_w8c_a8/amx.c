/* 8-bit weights through the body that both widths share. */
#include "matmul_w8c_a8/matmul_w8c_a8.h"

#define ARGS struct sm_matmul_c_a8
#define BITS 8
#define SCALE_OF(x, r) ((x).scale[r])
#define BESIDE_TILES
#include "matmul_channel_a8_avx512vnni_body.h"

#define FEW_FOR_TILES 8 /* rows that vpdpbusd takes as fast */
#include "matmul_channel_a8_amx_body.h"

void sm_matmul_w8c_a8_amx(const void *args, struct sm_part part)
{
    matmul_by_rows(args, part);
}
