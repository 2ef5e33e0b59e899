/* One element at a time. */
#include <math.h>

#include "cache_write_i16/cache_write_i16.h"

void sm_cache_write_i16_ref_blocks16(const void *args, struct sm_part part)
{
    const struct sm_cache_write *a = args;
    const float per_unit = 1 / *a->scale;
    for (size_t i = part.row_begin; i < part.row_end; i++)
        for (size_t g = part.col_begin; g < part.col_end; g++) {
            const float *x = a->x + (a->first + i) * a->x_stride + g * a->head_dim;
            int16_t *head = (int16_t *)a->cache + g * a->head_stride;
            for (size_t c = 0; c < a->head_dim; c++) {
                const float n = rintf(x[c] * per_unit);
                head[sm_blocks16_at(a->slot + i, c, a->head_dim, SM_CACHE_WRITE_TOGETHER_i16)] =
                    (int16_t)(n > 32767    ? 32767
                              : n < -32768 ? -32768
                                           : n);
            }
        }
}
