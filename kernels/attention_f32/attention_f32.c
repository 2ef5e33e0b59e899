#include "attention_f32/attention_f32.h"

#include "attention_family.h"
#include "cpu.h"

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet)                                                                             \
    {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_attention_f32_##name, bet},
#include "attention_f32/variants.def"
#undef SM_VARIANT
};

const struct sm_family sm_family_attention_f32 = {
    .name = "attention_f32",
    .group = "attention",
    .summary = "attention over a static cache of floats",
    .dims = attention_dims,
    .dim_count = SM_ATTENTION_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = attention_split,
};
