#include "rmsnorm/rmsnorm.h"

#include "cpu.h"

static const struct sm_layout layout_plain = {.name = "plain", .format = SM_FORMAT_NONE};

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet) {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_rmsnorm_##name, bet},
#include "rmsnorm/variants.def"
#undef SM_VARIANT
};

static const struct sm_dim dims[SM_RMSNORM_DIMS] = {
    [SM_RMSNORM_ROWS] = {"rows", 1, 1, 1 << 20, "rows: tokens, or tokens x heads for norms of heads"},
    [SM_RMSNORM_COLS] = {"cols", 2048, 1, 1 << 20, "columns: the hidden size, or head_dim"},
    [SM_RMSNORM_RESIDUAL] = {"residual", 0, 0, 1, "1: the norm is added to a residual, and the sum scaled"},
};

static struct sm_part split(const struct sm_shape *shape, size_t threads, size_t i)
{
    struct sm_part part = sm_part_whole(0, (size_t)shape->dim[SM_RMSNORM_COLS]);
    sm_split_range((size_t)shape->dim[SM_RMSNORM_ROWS], 1, threads, i, &part.row_begin, &part.row_end);
    return part;
}

const struct sm_family sm_family_rmsnorm = {
    .name = "rmsnorm",
    .group = "layer",
    .summary = "root-mean-square normalisation of rows",
    .dims = dims,
    .dim_count = SM_RMSNORM_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
