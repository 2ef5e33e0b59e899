/* The definition, byte by byte. */
#include "kv_concat/kv_concat.h"

void sm_kv_concat_ref(const void *args, struct sm_part part)
{
    const struct sm_kv_concat *a = args;
    const size_t slot_bytes = a->head_dim * a->element_bytes;
    for (size_t j = part.row_begin; j < part.row_end; j++)
        for (size_t g = part.col_begin; g < part.col_end; g++) {
            const struct sm_kv *from = j < a->past_rows ? &a->past : &a->now;
            const size_t slot = j < a->past_rows ? j : j - a->past_rows;
            const char *data = (const char *)from->data + g * from->head_stride * a->element_bytes + slot * slot_bytes;
            char *out = (char *)a->out + g * a->out_stride * a->element_bytes + j * slot_bytes;
            for (size_t b = 0; b < slot_bytes; b++) out[b] = data[b];
            if (a->out_scale) a->out_scale[g * a->out_scale_stride + j] = from->scale[g * from->scale_stride + slot];
        }
}
