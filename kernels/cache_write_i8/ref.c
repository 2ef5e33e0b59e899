/* One element at a time. */
#include <math.h>

#include "cache_write_i8/ref_scale.h"

void sm_cache_write_i8_ref(const void *args, struct sm_part part)
{
    const struct sm_cache_write *a = args;
    for (size_t i = part.row_begin; i < part.row_end; i++)
        for (size_t g = part.col_begin; g < part.col_end; g++) {
            const float *x = a->x + (a->first + i) * a->x_stride + g * a->head_dim;
            int8_t *head = (int8_t *)a->cache + g * a->head_stride;
            const float per_unit = sm_cache_write_i8_scale(a, x, i, g);
            for (size_t c = 0; c < a->head_dim; c++)
                head[(a->slot + i) * a->head_dim + c] = (int8_t)rintf(x[c] * per_unit);
        }
}
