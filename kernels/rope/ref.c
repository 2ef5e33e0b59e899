/* One pair at a time. */
#include "rope/rope.h"

void sm_rope_ref(const void *args, struct sm_part part)
{
    const struct sm_rope *a = args;
    const size_t half = a->head_dim / 2;
    for (size_t r = part.row_begin; r < part.row_end; r++)
        for (size_t h = part.col_begin; h < part.col_end; h++) {
            const float *x = a->x + r * a->x_stride + h * a->head_dim;
            float *y = a->y ? a->y + r * a->y_stride + h * a->head_dim : a->x + r * a->x_stride + h * a->head_dim;
            for (size_t i = 0; i < half; i++) {
                const float cos = a->cos[r * half + i], sin = a->sin[r * half + i];
                const float first = x[i], second = x[i + half];
                y[i] = first * cos - second * sin;
                y[i + half] = second * cos + first * sin;
            }
        }
}
