#include "requantise/requantise.h"

#include "a16_family.h"
#include "cpu.h"

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet) {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_requantise_##name, bet},
#include "requantise/variants.def"
#undef SM_VARIANT
};

const struct sm_family sm_family_requantise = {
    .name = "requantise",
    .group = "layer",
    .summary = "int16 rows to int16 rows with another static scale",
    .dims = dims,
    .dim_count = sizeof dims / sizeof *dims,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
