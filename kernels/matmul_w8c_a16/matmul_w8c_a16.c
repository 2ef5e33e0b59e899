#include "matmul_w8c_a16/matmul_w8c_a16.h"

#define BITS 8
#define WIDE 1
#define HOLDS SM_FORMAT_W8C
#define MOST_IN (1 << 20)
#include "matmul_channel_family_body.h"

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet)                                                                             \
    {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_matmul_w8c_a16_##name, bet},
#include "matmul_w8c_a16/variants.def"
#undef SM_VARIANT
};

const struct sm_family sm_family_matmul_w8c_a16 = {
    .name = "matmul_w8c_a16",
    .group = "matmul",
    .summary = "8-bit weights per output channel times int16 rows with one static scale",
    .dims = dims,
    .dim_count = SM_MATMUL_C_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
