/* One element at a time. */
#include "embedding_f16/embedding_f16.h"
#include "quant.h"

void sm_embedding_f16_ref(const void *args, struct sm_part part)
{
    const struct sm_embedding *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const size_t token = (size_t)a->token[r];
        const uint16_t *row = (const uint16_t *)a->table + token * a->cols;
        for (size_t c = 0; c < a->cols; c++) a->y[r * a->y_stride + c] = sm_f16_to_f32(row[c]) * a->scale;
    }
}
