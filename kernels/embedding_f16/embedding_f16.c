#include "embedding_f16/embedding_f16.h"

#include "cpu.h"
#include "embedding_family.h"

static const struct sm_layout layout_plain = {.name = "plain", .format = SM_FORMAT_F16};

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet)                                                                             \
    {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_embedding_f16_##name, bet},
#include "embedding_f16/variants.def"
#undef SM_VARIANT
};

const struct sm_family sm_family_embedding_f16 = {
    .name = "embedding_f16",
    .group = "layer",
    .summary = "rows of a half-float embedding table",
    .dims = dims,
    .dim_count = SM_EMBEDDING_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
