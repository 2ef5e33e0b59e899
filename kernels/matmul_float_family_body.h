/* matmul_float_family_body.h - layouts, axes and parts of matmul_f32 and matmul_f16 (matmul_f32.h). Text for their
 * NAME.c, which define SM_WEIGHT, how a weight is stored, and SM_WEIGHT_FORMAT first. */
#include <string.h>

#include "cpu.h"
#include "matmul_f32/matmul_f32.h"

static size_t rows_bytes(size_t out, size_t in)
{
    return out * in * sizeof(SM_WEIGHT);
}

static void rows_pack(void *dst, const void *rows, size_t out, size_t in)
{
    memcpy(dst, rows, rows_bytes(out, in));
}

static const struct sm_layout layout_rows = {
    .name = "rows", .format = SM_WEIGHT_FORMAT, .packed_bytes = rows_bytes, .pack = rows_pack};

static size_t tile16_bytes(size_t out, size_t in)
{
    return (out + SM_MATMUL_F32_TILE - 1) / SM_MATMUL_F32_TILE * SM_MATMUL_F32_TILE * in * sizeof(SM_WEIGHT);
}

static void tile16_pack(void *dst, const void *rows, size_t out, size_t in)
{
    const SM_WEIGHT *from = rows;
    SM_WEIGHT *to = dst;
    for (size_t o = 0; o < out; o += SM_MATMUL_F32_TILE)
        for (size_t i = 0; i < in; i++)
            for (size_t k = 0; k < SM_MATMUL_F32_TILE; k++) *to++ = o + k < out ? from[(o + k) * in + i] : 0;
}

static const struct sm_layout layout_tile16 = {
    .name = "tile16", .format = SM_WEIGHT_FORMAT, .packed_bytes = tile16_bytes, .pack = tile16_pack};

static const struct sm_dim dims[SM_MATMUL_F32_DIMS] = {
    [SM_MATMUL_F32_ROWS] = {"rows", 1, 1, 131072, "activation rows: 1 in decode, the bucket in append"},
    [SM_MATMUL_F32_OUT] = {"out", 2048, 1, 1 << 20, "output channels"},
    [SM_MATMUL_F32_IN] = {"in", 2048, 1, 1 << 20, "input channels"},
};

static struct sm_part split(const struct sm_shape *shape, size_t threads, size_t i)
{
    struct sm_part part = sm_part_whole((size_t)shape->dim[SM_MATMUL_F32_ROWS], 0);
    sm_split_range((size_t)shape->dim[SM_MATMUL_F32_OUT], SM_MATMUL_F32_GRAIN, threads, i, &part.col_begin,
                   &part.col_end);
    return part;
}
