/* The sum in double, the rest as a float model does it. */
#include "rmsnorm/rmsnorm.h"

#include <math.h>

void sm_rmsnorm_ref(const void *args, struct sm_part part)
{
    const struct sm_rmsnorm *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const float *x = a->x + r * a->x_stride;
        float *y = a->y + r * a->y_stride;
        double sum = 0;
        for (size_t c = 0; c < a->cols; c++) sum += (double)x[c] * (double)x[c];
        const float scale = (float)(1 / sqrt(sum / (double)a->cols + (double)a->eps));
        const float *residual = a->residual ? a->residual + r * a->residual_stride : NULL;
        for (size_t c = 0; c < a->cols; c++) {
            const float n = x[c] * scale * (a->w ? a->w[c] : 1);
            y[c] = residual ? (n + residual[c]) * a->scale : n;
        }
    }
}
