/* One element at a time. */
#include "embedding_f32/embedding_f32.h"

void sm_embedding_f32_ref(const void *args, struct sm_part part)
{
    const struct sm_embedding *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const size_t token = (size_t)a->token[r];
        const float *row = (const float *)a->table + token * a->cols;
        for (size_t c = 0; c < a->cols; c++) a->y[r * a->y_stride + c] = row[c] * a->scale;
    }
}
