/* As ref.c; the offset is the same for a whole group, so it meets the sum of the group's activations. */
#include "matmul_w4g32_a8/matmul_w4g32_a8.h"

void sm_matmul_w4g32_a8_ref_offset(const void *args, struct sm_part part)
{
    const struct sm_matmul_w4g32_a8 *a = args;
    const size_t blocks = a->in / SM_GROUP;
    for (size_t r = part.row_begin; r < part.row_end; r++)
        for (size_t o = part.col_begin; o < part.col_end; o++) {
            const struct sm_block_q4_1 *w = (const struct sm_block_q4_1 *)a->w + o * blocks;
            const int8_t *x = a->x.q + r * a->in;
            float y = 0;
            for (size_t b = 0; b < blocks; b++, x += SM_GROUP) {
                int32_t dot = 0;
                for (size_t i = 0; i < 16; i++) dot += (w[b].q[i] & 15) * x[i] + (w[b].q[i] >> 4) * x[16 + i];
                const float sum = (float)a->x.sum[r * blocks + b];
                y += a->x.scale[r * blocks + b] * (sm_f16_to_f32(w[b].d) * (float)dot + sm_f16_to_f32(w[b].m) * sum);
            }
            if (a->bias) y += a->bias[o];
            if (a->residual) y += a->residual[r * a->y_stride + o];
            a->y[r * a->y_stride + o] = y;
        }
}
