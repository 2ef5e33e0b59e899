#include "embedding_w8c/embedding_w8c.h"

#include "cpu.h"
#include "embedding_family.h"

static const struct sm_layout layout_plain = {.name = "plain", .format = SM_FORMAT_W8C};

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet)                                                                             \
    {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_embedding_w8c_##name, bet},
#include "embedding_w8c/variants.def"
#undef SM_VARIANT
};

const struct sm_family sm_family_embedding_w8c = {
    .name = "embedding_w8c",
    .group = "layer",
    .summary = "rows of an 8-bit embedding table with a scale and zero point per row",
    .dims = dims,
    .dim_count = SM_EMBEDDING_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
