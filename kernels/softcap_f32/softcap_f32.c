#include "softcap_f32/softcap_f32.h"

#include "cpu.h"

static const struct sm_layout layout_plain = {.name = "plain", .format = SM_FORMAT_NONE};

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet) {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_softcap_f32_##name, bet},
#include "softcap_f32/variants.def"
#undef SM_VARIANT
};

static const struct sm_dim dims[SM_SOFTCAP_F32_DIMS] = {
    [SM_SOFTCAP_F32_ROWS] = {"rows", 1, 1, 65536, "rows: 1 for final logits, bucket x heads for attention scores"},
    [SM_SOFTCAP_F32_COLS] = {"cols", 262144, 1, 1 << 21, "columns: the vocabulary, or max_seq for attention scores"},
};

static struct sm_part split(const struct sm_shape *shape, size_t threads, size_t i)
{
    struct sm_part part = sm_part_whole((size_t)shape->dim[SM_SOFTCAP_F32_ROWS], 0);
    sm_split_range((size_t)shape->dim[SM_SOFTCAP_F32_COLS], SM_SOFTCAP_F32_GRAIN, threads, i, &part.col_begin,
                   &part.col_end);
    return part;
}

const struct sm_family sm_family_softcap_f32 = {
    .name = "softcap_f32",
    .group = "softcap",
    .summary = "logit softcapping, c tanh(x / c)",
    .dims = dims,
    .dim_count = SM_SOFTCAP_F32_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
