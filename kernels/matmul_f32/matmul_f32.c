#include "matmul_f32/matmul_f32.h"

#define SM_WEIGHT float
#define SM_WEIGHT_FORMAT SM_FORMAT_F32
#include "matmul_float_family_body.h"

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet) {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_matmul_f32_##name, bet},
#include "matmul_f32/variants.def"
#undef SM_VARIANT
};

const struct sm_family sm_family_matmul_f32 = {
    .name = "matmul_f32",
    .group = "matmul",
    .summary = "float weights times float rows",
    .dims = dims,
    .dim_count = SM_MATMUL_F32_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
