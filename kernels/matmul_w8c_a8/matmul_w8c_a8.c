#include "matmul_w8c_a8/matmul_w8c_a8.h"

#define BITS 8
#define WIDE 0
#define HOLDS SM_FORMAT_W8C
#define MOST_IN (1 << 16)
#include "matmul_channel_family_body.h"

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet)                                                                             \
    {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_matmul_w8c_a8_##name, bet},
#include "matmul_w8c_a8/variants.def"
#undef SM_VARIANT
};

const struct sm_family sm_family_matmul_w8c_a8 = {
    .name = "matmul_w8c_a8",
    .group = "matmul",
    .summary = "8-bit weights per output channel times int8 rows with a scale each",
    .dims = dims,
    .dim_count = SM_MATMUL_C_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
