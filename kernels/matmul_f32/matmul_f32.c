#include "matmul_f32/matmul_f32.h"

#include <string.h>

#include "cpu.h"

static size_t rows_bytes(size_t out, size_t in)
{
    return out * in * sizeof(float);
}

static void rows_pack(void *dst, const void *rows, size_t out, size_t in)
{
    memcpy(dst, rows, rows_bytes(out, in));
}

static const struct sm_layout layout_rows = {
    .name = "rows", .format = SM_FORMAT_F32, .packed_bytes = rows_bytes, .pack = rows_pack};

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet) {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_matmul_f32_##name, bet},
#include "matmul_f32/variants.def"
#undef SM_VARIANT
};

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

const struct sm_family sm_family_matmul_f32 = {
    .name = "matmul_f32",
    .group = "matmul",
    .summary = "float weights times float rows",
    .dims = dims,
    .dim_count = SM_MATMUL_F32_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
