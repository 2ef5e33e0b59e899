/* Q8_0 through the body that all AMX variants share. */
#include "matmul_w8g32_a8/matmul_w8g32_a8.h"

#define ARGS struct sm_matmul_w8g32_a8
#include "matmul_a8_amx_body.h"

void sm_matmul_w8g32_a8_amx(const void *args, struct sm_part part)
{
    if (part.row_begin < part.row_end) matmul_tiles_amx(args, part, 32, 0);
}
