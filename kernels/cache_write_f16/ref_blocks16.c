/* One element at a time. */
#include "cache_write_f16/cache_write_f16.h"
#include "quant.h"

void sm_cache_write_f16_ref_blocks16(const void *args, struct sm_part part)
{
    const struct sm_cache_write *a = args;
    for (size_t i = part.row_begin; i < part.row_end; i++)
        for (size_t g = part.col_begin; g < part.col_end; g++) {
            const float *x = a->x + (a->first + i) * a->x_stride + g * a->head_dim;
            uint16_t *head = (uint16_t *)a->cache + g * a->head_stride;
            for (size_t c = 0; c < a->head_dim; c++)
                head[sm_blocks16_at(a->slot + i, c, a->head_dim, SM_CACHE_WRITE_TOGETHER_f16)] = sm_f32_to_f16(x[c]);
        }
}
