/* One output at a time, summed from left to right. */
#include "matmul_f16/matmul_f16.h"

#include "quant.h"

void sm_matmul_f16_ref(const void *args, struct sm_part part)
{
    const struct sm_matmul_f32 *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++)
        for (size_t o = part.col_begin; o < part.col_end; o++) {
            const uint16_t *w = (const uint16_t *)a->w + o * a->in;
            const float *x = a->x + r * a->x_stride;
            float sum = 0;
            for (size_t i = 0; i < a->in; i++) sum += sm_f16_to_f32(w[i]) * x[i];
            if (a->bias) sum += a->bias[o];
            if (a->residual) sum += a->residual[r * a->y_stride + o];
            a->y[r * a->y_stride + o] = sum;
        }
}
