#include "quantise_a16/quantise_a16.h"

#include "a16_family.h"
#include "cpu.h"

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet) {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_quantise_a16_##name, bet},
#include "quantise_a16/variants.def"
#undef SM_VARIANT
};

const struct sm_family sm_family_quantise_a16 = {
    .name = "quantise_a16",
    .group = "layer",
    .summary = "float rows to int16 rows with one static scale",
    .dims = dims,
    .dim_count = sizeof dims / sizeof *dims,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
