#include "rope/rope.h"

#include "cpu.h"

static const struct sm_layout layout_plain = {.name = "plain", .format = SM_FORMAT_NONE};

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet) {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_rope_##name, bet},
#include "rope/variants.def"
#undef SM_VARIANT
};

static const struct sm_dim dims[SM_ROPE_DIMS] = {
    [SM_ROPE_ROWS] = {"rows", 1, 1, 131072, "rows: tokens"},
    [SM_ROPE_HEADS] = {"heads", 32, 1, 1024, "heads of one row, queries or keys"},
    [SM_ROPE_HEAD_DIM] = {"head_dim", 64, 2, 1024, "elements of a head, even"},
};

/* Rows where there is one for every thread, else heads. */
static struct sm_part split(const struct sm_shape *shape, size_t threads, size_t i)
{
    const size_t rows = (size_t)shape->dim[SM_ROPE_ROWS], heads = (size_t)shape->dim[SM_ROPE_HEADS];
    struct sm_part part = sm_part_whole(rows, heads);
    if (rows >= threads)
        sm_split_range(rows, 1, threads, i, &part.row_begin, &part.row_end);
    else
        sm_split_range(heads, 1, threads, i, &part.col_begin, &part.col_end);
    return part;
}

const struct sm_family sm_family_rope = {
    .name = "rope",
    .group = "layer",
    .summary = "rotary position embedding, half-split pairs",
    .dims = dims,
    .dim_count = SM_ROPE_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
