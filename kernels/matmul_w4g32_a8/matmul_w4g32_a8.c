#include "matmul_w4g32_a8/matmul_w4g32_a8.h"

#include <string.h>

#include "cpu.h"
#include "matmul_tile.h"

static size_t rows_bytes(size_t out, size_t in)
{
    return out * (in / SM_GROUP) * sizeof(struct sm_block_q4_0);
}

static void rows_pack(void *dst, const void *rows, size_t out, size_t in)
{
    memcpy(dst, rows, rows_bytes(out, in));
}

static size_t rows_offset_bytes(size_t out, size_t in)
{
    return out * (in / SM_GROUP) * sizeof(struct sm_block_q4_1);
}

static void rows_offset_pack(void *dst, const void *rows, size_t out, size_t in)
{
    memcpy(dst, rows, rows_offset_bytes(out, in));
}

static size_t tile32_bytes(size_t out, size_t in)
{
    return sm_tile_packed_bytes(out, in, 16, 0);
}

static void tile32_pack(void *dst, const void *rows, size_t out, size_t in)
{
    sm_tile_pack(dst, rows, out, in, 16, 0, 0);
}

static size_t tile32_offset_bytes(size_t out, size_t in)
{
    return sm_tile_packed_bytes(out, in, 16, 1);
}

static void tile32_offset_pack(void *dst, const void *rows, size_t out, size_t in)
{
    sm_tile_pack(dst, rows, out, in, 16, 1, 0);
}

/* GGUF's own blocks, and matmul_tile.h; each with and without an offset. */
#define LAYOUT(layout, holds)                                                                                          \
    static const struct sm_layout layout_##layout = {                                                                  \
        .name = #layout, .format = holds, .packed_bytes = layout##_bytes, .pack = layout##_pack}
LAYOUT(rows, SM_FORMAT_Q4_0);
LAYOUT(rows_offset, SM_FORMAT_Q4_1);
LAYOUT(tile32, SM_FORMAT_Q4_0);
LAYOUT(tile32_offset, SM_FORMAT_Q4_1);

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet)                                                                             \
    {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_matmul_w4g32_a8_##name, bet},
#include "matmul_w4g32_a8/variants.def"
#undef SM_VARIANT
};

static const struct sm_dim dims[SM_MATMUL_W4G32_A8_DIMS] = {
    [SM_MATMUL_W4G32_A8_ROWS] = {"rows", 1, 1, 131072, "activation rows: 1 in decode, the bucket in append"},
    [SM_MATMUL_W4G32_A8_OUT] = {"out", 2048, 1, 1 << 20, "output channels"},
    [SM_MATMUL_W4G32_A8_IN] = {"in", 2048, 32, 1 << 20, "input channels, a multiple of 32"},
};

static struct sm_part split(const struct sm_shape *shape, size_t threads, size_t i)
{
    struct sm_part part = sm_part_whole((size_t)shape->dim[SM_MATMUL_W4G32_A8_ROWS], 0);
    sm_split_range((size_t)shape->dim[SM_MATMUL_W4G32_A8_OUT], SM_MATMUL_W4G32_A8_GRAIN, threads, i, &part.col_begin,
                   &part.col_end);
    return part;
}

const struct sm_family sm_family_matmul_w4g32_a8 = {
    .name = "matmul_w4g32_a8",
    .group = "matmul",
    .summary = "4-bit weights in groups of 32 (Q4_0, Q4_1) times int8 rows",
    .dims = dims,
    .dim_count = SM_MATMUL_W4G32_A8_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
