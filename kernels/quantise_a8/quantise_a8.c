#include "quantise_a8/quantise_a8.h"

#include "cpu.h"

static const struct sm_layout layout_plain = {.name = "plain", .format = SM_FORMAT_NONE};

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet) {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_quantise_a8_##name, bet},
#include "quantise_a8/variants.def"
#undef SM_VARIANT
};

static const struct sm_dim dims[SM_QUANTISE_A8_DIMS] = {
    [SM_QUANTISE_A8_ROWS] = {"rows", 1, 1, 131072, "activation rows: 1 in decode, the bucket in append"},
    [SM_QUANTISE_A8_COLS] = {"cols", 2048, 32, 1 << 20, "values in a row, a multiple of 32"},
};

/* Whole rows where there is one for each thread, else pieces of every row, cut at cache lines of q. */
static struct sm_part split(const struct sm_shape *shape, size_t threads, size_t i)
{
    const size_t rows = (size_t)shape->dim[SM_QUANTISE_A8_ROWS];
    struct sm_part part = sm_part_whole(rows, (size_t)shape->dim[SM_QUANTISE_A8_COLS] / SM_GROUP);
    if (rows >= threads)
        sm_split_range(rows, 1, threads, i, &part.row_begin, &part.row_end);
    else
        sm_split_range(part.col_end, 2, threads, i, &part.col_begin, &part.col_end);
    return part;
}

const struct sm_family sm_family_quantise_a8 = {
    .name = "quantise_a8",
    .group = "layer",
    .summary = "float rows to int8 rows with a scale per group of 32",
    .dims = dims,
    .dim_count = SM_QUANTISE_A8_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
