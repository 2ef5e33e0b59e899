/* 8-bit weights through the body that both widths share. */
#include "matmul_w8c_a16/matmul_w8c_a16.h"

#include "matmul_channel_a16_avx512.h"

#define MULADD(sum, w, x) _mm512_dpwssd_epi32(sum, w, x)
#define ARGS struct sm_matmul_c_a16
#define BITS 8
#define SCALE_OF(x, r) ((void)(r), (x).scale)
#include "matmul_channel_a16_body.h"

#define FEW_FOR_TILES 4 /* rows that vpdpwssd takes as fast */
#include "matmul_channel_a16_amx_body.h"

void sm_matmul_w8c_a16_amx(const void *args, struct sm_part part)
{
    matmul_by_rows(args, part);
}
