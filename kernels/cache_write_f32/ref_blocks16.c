/* One element at a time. */
#include "cache_write_f32/cache_write_f32.h"

void sm_cache_write_f32_ref_blocks16(const void *args, struct sm_part part)
{
    const struct sm_cache_write *a = args;
    for (size_t i = part.row_begin; i < part.row_end; i++)
        for (size_t g = part.col_begin; g < part.col_end; g++) {
            const float *x = a->x + (a->first + i) * a->x_stride + g * a->head_dim;
            float *head = (float *)a->cache + g * a->head_stride;
            for (size_t c = 0; c < a->head_dim; c++)
                head[sm_blocks16_at(a->slot + i, c, a->head_dim, SM_CACHE_WRITE_TOGETHER_f32)] = x[c];
        }
}
