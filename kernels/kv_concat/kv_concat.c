#include "kv_concat/kv_concat.h"

#include "cpu.h"

#define GRAIN 64 /* columns at which shares of threads are cut: whole cache lines */

static const struct sm_layout layout_plain = {.name = "plain", .format = SM_FORMAT_NONE};

static const struct sm_variant variants[] = {
#define SM_VARIANT(name, isa, layout, bet) {#name, #isa, SM_NEEDS_##isa, &layout_##layout, sm_kv_concat_##name, bet},
#include "kv_concat/variants.def"
#undef SM_VARIANT
};

static const struct sm_dim dims[SM_KV_CONCAT_DIMS] = {
    [SM_KV_CONCAT_ROWS] = {"rows", 1, 1, 131072, "rows of the call: 1 in decode, the bucket in append"},
    [SM_KV_CONCAT_MAX_SEQ] = {"max_seq", 1024, 1, 131072, "columns: past slots and rows"},
    [SM_KV_CONCAT_HEAD_DIM] = {"head_dim", 64, 1, 1024, "elements of a head"},
    [SM_KV_CONCAT_KV_HEADS] = {"kv_heads", 8, 1, 256, "key and value heads"},
    [SM_KV_CONCAT_ELEMENT_BYTES] = {"element_bytes", 2, 1, 4, "of an element: 1 (with a scale a slot), 2 or 4"},
};

/* Columns where every thread gets some cache lines of them, else heads. */
static struct sm_part split(const struct sm_shape *shape, size_t threads, size_t i)
{
    const size_t columns = (size_t)shape->dim[SM_KV_CONCAT_MAX_SEQ], heads = (size_t)shape->dim[SM_KV_CONCAT_KV_HEADS];
    struct sm_part part = sm_part_whole(columns, heads);
    if (columns >= threads * GRAIN)
        sm_split_range(columns, GRAIN, threads, i, &part.row_begin, &part.row_end);
    else
        sm_split_range(heads, 1, threads, i, &part.col_begin, &part.col_end);
    return part;
}

const struct sm_family sm_family_kv_concat = {
    .name = "kv_concat",
    .group = "layer",
    .summary = "past and new keys or values in one buffer",
    .dims = dims,
    .dim_count = SM_KV_CONCAT_DIMS,
    .variants = variants,
    .variant_count = sizeof variants / sizeof *variants,
    .split = split,
};
