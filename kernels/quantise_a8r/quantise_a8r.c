#include "quantise_a8r/quantise_a8r.h"

#include "cpu.h"

static const struct sm_layout layout_plain = {.name = "plain", .format = SM_FORMAT_NONE};

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet) {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_quantise_a8r_##name, bet},
#include "quantise_a8r/variants.def"
#undef SM_VARIANT
};

static const struct sm_dim dims[SM_QUANTISE_A8R_DIMS] = {
    [SM_QUANTISE_A8R_ROWS] = {"rows", 1, 1, 131072, "activation rows: 1 in decode, the bucket in append"},
    [SM_QUANTISE_A8R_COLS] = {"cols", 2048, 32, 1 << 20, "values in a row, a multiple of 32"},
};

/* Whole rows: a row's scale needs all of it. */
static struct sm_part split(const struct sm_shape *shape, size_t threads, size_t i)
{
    struct sm_part part = sm_part_whole((size_t)shape->dim[SM_QUANTISE_A8R_ROWS], 1);
    sm_split_range(part.row_end, 1, threads, i, &part.row_begin, &part.row_end);
    return part;
}

const struct sm_family sm_family_quantise_a8r = {
    .name = "quantise_a8r",
    .group = "layer",
    .summary = "float rows to int8 rows with a scale each",
    .dims = dims,
    .dim_count = SM_QUANTISE_A8R_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
