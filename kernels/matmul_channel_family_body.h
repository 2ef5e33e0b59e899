/* matmul_channel_family_body.h - the layouts, axes and split of a family of matmul_channel.h.
 *
 * Included by <family>/<family>.c, which defines BITS, WIDE (1: int16 rows), HOLDS (the format of its weights) and
 * MOST_IN first. */
#include <string.h>

#include "cpu.h"
#include "matmul_channel_tile.h"

static size_t rows_bytes(size_t out, size_t in)
{
    return out * sm_channel_bytes(in, BITS);
}

static void rows_pack(void *dst, const void *rows, size_t out, size_t in)
{
    memcpy(dst, rows, rows_bytes(out, in));
}

static size_t tile16_bytes(size_t out, size_t in)
{
    return sm_channel_packed_bytes(out, in, BITS);
}

static void tile16_pack(void *dst, const void *rows, size_t out, size_t in)
{
    sm_channel_pack(dst, rows, out, in, BITS, WIDE);
}

/* Canonical rows, and matmul_channel_tile.h. */
static const struct sm_layout layout_rows = {
    .name = "rows", .format = HOLDS, .packed_bytes = rows_bytes, .pack = rows_pack};
static const struct sm_layout layout_tile16 = {
    .name = "tile16", .format = HOLDS, .packed_bytes = tile16_bytes, .pack = tile16_pack};

static const struct sm_dim dims[SM_MATMUL_C_DIMS] = {
    [SM_MATMUL_C_ROWS] = {"rows", 1, 1, 131072, "activation rows: 1 in decode, the bucket in append"},
    [SM_MATMUL_C_OUT] = {"out", 2048, 1, 1 << 20, "output channels"},
    [SM_MATMUL_C_IN] = {"in", 2048, 32, MOST_IN, "input channels, a multiple of 32"},
};

static struct sm_part split(const struct sm_shape *shape, size_t threads, size_t i)
{
    struct sm_part part = sm_part_whole((size_t)shape->dim[SM_MATMUL_C_ROWS], 0);
    sm_split_range((size_t)shape->dim[SM_MATMUL_C_OUT], SM_CHANNEL_GRAIN, threads, i, &part.col_begin, &part.col_end);
    return part;
}
