#include "gated_silu/gated_silu.h"

#include "cpu.h"
#include "gated_family.h"

static const struct sm_layout layout_plain = {.name = "plain", .format = SM_FORMAT_NONE};

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet) {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_gated_silu_##name, bet},
#include "gated_silu/variants.def"
#undef SM_VARIANT
};

const struct sm_family sm_family_gated_silu = {
    .name = "gated_silu",
    .group = "layer",
    .summary = "silu(gate) times up",
    .dims = dims,
    .dim_count = SM_GATED_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
