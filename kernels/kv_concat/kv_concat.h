/* kv_concat.h - the two segments of a layer's keys (or values) in one buffer, for attention that reads one segment.
 *
 *     out[g][j] = past[g][j]           j in [0, past_rows)
 *     out[g][j] = now[g][j - past_rows]    j in [past_rows, past_rows + now_rows)
 *
 * What a runtime pays that hands attention one tensor of keys: the whole past is moved in every call. Slots are
 * copied as they are, [head_dim] elements of element_bytes each; where the type has a scale for every slot (i8), its
 * scales are put together likewise.
 *
 *   past, now  as in attention.h: [kv_heads] matrices of [slots][head_dim], head_stride elements apart, and where
 *              out_scale is not NULL [kv_heads] rows of scale_stride floats
 *   out        [kv_heads] matrices of [past_rows + now_rows][head_dim], out_stride elements apart
 *   out_scale  [kv_heads] rows of past_rows + now_rows floats, out_scale_stride apart, or NULL
 *
 * A part is columns j x KV heads. The caller promises: past_rows + now_rows >= 1; out overlaps nothing. Data may be
 * NULL where a segment is empty. Every variant writes the same bits. */
#ifndef SM_KV_CONCAT_H
#define SM_KV_CONCAT_H

#include "attention.h"

struct sm_kv_concat {
    void *out;
    float *out_scale;
    size_t out_stride, out_scale_stride;
    struct sm_kv past, now;
    size_t past_rows, now_rows;
    size_t kv_heads, head_dim, element_bytes;
};

enum {
    SM_KV_CONCAT_ROWS,    /* now_rows */
    SM_KV_CONCAT_MAX_SEQ, /* past_rows + now_rows */
    SM_KV_CONCAT_HEAD_DIM,
    SM_KV_CONCAT_KV_HEADS,
    SM_KV_CONCAT_ELEMENT_BYTES, /* 1 (i8, with scales), 2 or 4 */
    SM_KV_CONCAT_DIMS
};

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_kv_concat_##name;
#include "kv_concat/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_kv_concat;

#endif
