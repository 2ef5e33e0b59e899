/* One element at a time. */
#include "embedding_w8c/embedding_w8c.h"
#include "quant.h"

void sm_embedding_w8c_ref(const void *args, struct sm_part part)
{
    const struct sm_embedding *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const uint8_t *row = (const uint8_t *)a->table + (size_t)a->token[r] * sm_channel_bytes(a->cols, 8);
        const struct sm_channel *head = (const struct sm_channel *)(const void *)row;
        const uint8_t *q = row + sizeof *head;
        for (size_t c = 0; c < a->cols; c++)
            a->y[r * a->y_stride + c] = (float)(q[c] - head->zero) * head->scale * a->scale;
    }
}
