#include "embedding_f32/embedding_f32.h"

#include "cpu.h"
#include "embedding_family.h"

static const struct sm_layout layout_plain = {.name = "plain", .format = SM_FORMAT_F32};

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet)                                                                             \
    {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_embedding_f32_##name, bet},
#include "embedding_f32/variants.def"
#undef SM_VARIANT
};

const struct sm_family sm_family_embedding_f32 = {
    .name = "embedding_f32",
    .group = "layer",
    .summary = "rows of a float embedding table",
    .dims = dims,
    .dim_count = SM_EMBEDDING_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
