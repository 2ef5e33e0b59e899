/* Each segment of a head lies together. */
#include <string.h>

#include "kv_concat/kv_concat.h"

/* Columns [begin, end) of head g, which are the slots of one segment from `begin - first` on. */
static void copy(const struct sm_kv_concat *a, const struct sm_kv *from, size_t first, size_t g, size_t begin,
                 size_t end)
{
    const size_t slot_bytes = a->head_dim * a->element_bytes, slot = begin - first;
    if (begin >= end) return;
    memcpy((char *)a->out + g * a->out_stride * a->element_bytes + begin * slot_bytes,
           (const char *)from->data + g * from->head_stride * a->element_bytes + slot * slot_bytes,
           (end - begin) * slot_bytes);
    if (a->out_scale)
        memcpy(a->out_scale + g * a->out_scale_stride + begin, from->scale + g * from->scale_stride + slot,
               (end - begin) * sizeof(float));
}

void sm_kv_concat_segments(const void *args, struct sm_part part)
{
    const struct sm_kv_concat *a = args;
    const size_t past_end = part.row_end < a->past_rows ? part.row_end : a->past_rows;
    const size_t now_begin = part.row_begin > a->past_rows ? part.row_begin : a->past_rows;
    for (size_t g = part.col_begin; g < part.col_end; g++) {
        copy(a, &a->past, 0, g, part.row_begin, past_end);
        copy(a, &a->now, a->past_rows, g, now_begin, part.row_end);
    }
}
