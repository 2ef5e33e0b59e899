#include "cache_write_f16/cache_write_f16.h"

#include "cache_write_family.h"
#include "cpu.h"

static const struct sm_layout layout_slot_major = {.name = "slot_major", .format = SM_FORMAT_F16};
static const struct sm_layout layout_transposed = {.name = "transposed", .format = SM_FORMAT_F16};
static const struct sm_layout layout_blocks16 = {.name = "blocks16", .format = SM_FORMAT_F16};

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet)                                                                             \
    {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_cache_write_f16_##name, bet},
#include "cache_write_f16/variants.def"
#undef SM_VARIANT
};

const struct sm_family sm_family_cache_write_f16 = {
    .name = "cache_write_f16",
    .group = "cache_write",
    .summary = "rows of keys or values into a half float cache",
    .dims = dims,
    .dim_count = SM_CACHE_WRITE_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
