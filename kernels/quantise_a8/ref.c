/* One group at a time, as the header says it. */
#include <math.h>

#include "quantise_a8/quantise_a8.h"

static void quantise_group(int8_t *q, float *scale, int32_t *sum, const float *x)
{
    float amax = 0;
    for (size_t i = 0; i < SM_GROUP; i++) amax = fabsf(x[i]) > amax ? fabsf(x[i]) : amax;
    const float inverse = 127.0f / amax;
    *scale = amax / 127.0f;
    *sum = 0;
    for (size_t i = 0; i < SM_GROUP; i++) {
        float v = inverse <= 0x1.fffffep127f ? rintf(x[i] * inverse) : 0.0f;
        if (v > 127.0f) v = 127.0f;
        if (v < -127.0f) v = -127.0f;
        q[i] = (int8_t)v;
        *sum += q[i];
    }
}

void sm_quantise_a8_ref(const void *args, struct sm_part part)
{
    const struct sm_quantise_a8 *a = args;
    const size_t groups = a->cols / SM_GROUP;
    for (size_t r = part.row_begin; r < part.row_end; r++)
        for (size_t g = part.col_begin; g < part.col_end; g++)
            quantise_group(a->out.q + r * a->cols + g * SM_GROUP, &a->out.scale[r * groups + g],
                           &a->out.sum[r * groups + g], a->x + r * a->x_stride + g * SM_GROUP);
}
