#include "mask_build/mask_build.h"

#include "cpu.h"

static const struct sm_layout layout_plain = {.name = "plain", .format = SM_FORMAT_NONE};

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet) {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_mask_build_##name, bet},
#include "mask_build/variants.def"
#undef SM_VARIANT
};

static const struct sm_dim dims[SM_MASK_BUILD_DIMS] = {
    [SM_MASK_BUILD_ROWS] = {"rows", 1, 1, 131072, "query rows: 1 in decode, the bucket in append, max_seq in prefill"},
    [SM_MASK_BUILD_MAX_SEQ] = {"max_seq", 1024, 1, 131072, "columns"},
    [SM_MASK_BUILD_VALID] = {"valid", -1, -1, 131072, "past slots that hold a token; -1: all of them"},
    [SM_MASK_BUILD_WINDOW] = {"window", 0, 0, 131072, "keys a row may see, itself included; 0: no window"},
};

static struct sm_part split(const struct sm_shape *shape, size_t threads, size_t i)
{
    struct sm_part part = sm_part_whole(0, (size_t)shape->dim[SM_MASK_BUILD_MAX_SEQ]);
    sm_split_range((size_t)shape->dim[SM_MASK_BUILD_ROWS], 1, threads, i, &part.row_begin, &part.row_end);
    return part;
}

const struct sm_family sm_family_mask_build = {
    .name = "mask_build",
    .group = "layer",
    .summary = "the additive mask of a static call",
    .dims = dims,
    .dim_count = SM_MASK_BUILD_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
