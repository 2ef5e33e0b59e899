#include "argmax/argmax.h"

#include "cpu.h"

static const struct sm_layout layout_plain = {.name = "plain", .format = SM_FORMAT_NONE};

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet) {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_argmax_##name, bet},
#include "argmax/variants.def"
#undef SM_VARIANT
};

static const struct sm_dim dims[SM_ARGMAX_DIMS] = {
    [SM_ARGMAX_ROWS] = {"rows", 1, 1, 4096, "rows"},
    [SM_ARGMAX_COLS] = {"cols", 262144, 1, 1 << 21, "columns: the vocabulary"},
};

static struct sm_part split(const struct sm_shape *shape, size_t threads, size_t i)
{
    struct sm_part part = sm_part_whole(0, (size_t)shape->dim[SM_ARGMAX_COLS]);
    sm_split_range((size_t)shape->dim[SM_ARGMAX_ROWS], 1, threads, i, &part.row_begin, &part.row_end);
    return part;
}

const struct sm_family sm_family_argmax = {
    .name = "argmax",
    .group = "layer",
    .summary = "the index of the largest element of each row",
    .dims = dims,
    .dim_count = SM_ARGMAX_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
