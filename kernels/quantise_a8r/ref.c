/* One row at a time, as the header says it. */
#include <math.h>

#include "quantise_a8r/quantise_a8r.h"

static void quantise_row(int8_t *q, float *scale, int32_t *sum, const float *x, size_t cols)
{
    float amax = 0;
    for (size_t i = 0; i < cols; i++) amax = fabsf(x[i]) > amax ? fabsf(x[i]) : amax;
    const float inverse = 127.0f / amax;
    *scale = amax / 127.0f;
    *sum = 0;
    for (size_t i = 0; i < cols; i++) {
        float v = inverse <= 0x1.fffffep127f ? rintf(x[i] * inverse) : 0.0f;
        if (v > 127.0f) v = 127.0f;
        if (v < -127.0f) v = -127.0f;
        q[i] = (int8_t)v;
        *sum += q[i];
    }
}

void sm_quantise_a8r_ref(const void *args, struct sm_part part)
{
    const struct sm_quantise_a8r *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++)
        quantise_row(a->out.q + r * a->cols, &a->out.scale[r], &a->out.sum[r], a->x + r * a->x_stride, a->cols);
}
