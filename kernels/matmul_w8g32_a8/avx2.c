/* Q8_0: few rows through the body that all AVX2 variants share, many in bands. */
#include "matmul_w8g32_a8/matmul_w8g32_a8.h"

#define ARGS struct sm_matmul_w8g32_a8
#include "matmul_a8_avx2_body.h"

#include "matmul_a8_avx2_band_body.h"

#define MANY 8 /* rows: what taking weights apart costs is less than what it saves */

void sm_matmul_w8g32_a8_avx2(const void *args, struct sm_part part)
{
    const size_t rows = part.row_end - part.row_begin;
    if (rows >= MANY)
        matmul_bands(args, part);
    else if (part.row_begin < part.row_end)
        matmul_tiles(args, part, 32, 0);
}
