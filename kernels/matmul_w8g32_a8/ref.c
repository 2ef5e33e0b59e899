/* One output at a time, one group at a time: the integers first, then the scales. */
#include "matmul_w8g32_a8/matmul_w8g32_a8.h"

void sm_matmul_w8g32_a8_ref(const void *args, struct sm_part part)
{
    const struct sm_matmul_w8g32_a8 *a = args;
    const size_t blocks = a->in / SM_GROUP;
    for (size_t r = part.row_begin; r < part.row_end; r++)
        for (size_t o = part.col_begin; o < part.col_end; o++) {
            const struct sm_block_q8_0 *w = (const struct sm_block_q8_0 *)a->w + o * blocks;
            const int8_t *x = a->x.q + r * a->in;
            float y = 0;
            for (size_t b = 0; b < blocks; b++, x += SM_GROUP) {
                int32_t dot = 0;
                for (size_t i = 0; i < SM_GROUP; i++) dot += w[b].q[i] * x[i];
                y += sm_f16_to_f32(w[b].d) * a->x.scale[r * blocks + b] * (float)dot;
            }
            if (a->bias) y += a->bias[o];
            if (a->residual) y += a->residual[r * a->y_stride + o];
            a->y[r * a->y_stride + o] = y;
        }
}
