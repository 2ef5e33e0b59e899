/* One element at a time. */
#include "embedding_q4_1/embedding_q4_1.h"
#include "quant.h"

static float value(const struct sm_block_q4_1 *b, size_t i)
{
    const int n = i < 16 ? b->q[i] & 15 : b->q[i - 16] >> 4;
    return (float)n * sm_f16_to_f32(b->d) + sm_f16_to_f32(b->m);
}

void sm_embedding_q4_1_ref(const void *args, struct sm_part part)
{
    const struct sm_embedding *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const size_t token = (size_t)a->token[r];
        const struct sm_block_q4_1 *row = (const struct sm_block_q4_1 *)a->table + token * (a->cols / SM_GROUP);
        for (size_t c = 0; c < a->cols; c++)
            a->y[r * a->y_stride + c] = value(&row[c / SM_GROUP], c % SM_GROUP) * a->scale;
    }
}
