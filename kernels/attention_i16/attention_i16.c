#include "attention_i16/attention_i16.h"

#include "attention_family.h"
#include "cpu.h"

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet)                                                                             \
    {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_attention_i16_##name, bet},
#include "attention_i16/variants.def"
#undef SM_VARIANT
};

const struct sm_family sm_family_attention_i16 = {
    .name = "attention_i16",
    .group = "attention",
    .summary = "attention over a static cache of int16 with one scale a tensor",
    .dims = attention_dims,
    .dim_count = SM_ATTENTION_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = attention_split,
};
