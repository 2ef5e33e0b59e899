#include "embedding_q4_0/embedding_q4_0.h"

#include "cpu.h"
#include "embedding_family.h"

static const struct sm_layout layout_plain = {.name = "plain", .format = SM_FORMAT_Q4_0};

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet)                                                                             \
    {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_embedding_q4_0_##name, bet},
#include "embedding_q4_0/variants.def"
#undef SM_VARIANT
};

const struct sm_family sm_family_embedding_q4_0 = {
    .name = "embedding_q4_0",
    .group = "layer",
    .summary = "rows of a Q4_0 embedding table",
    .dims = dims,
    .dim_count = SM_EMBEDDING_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
