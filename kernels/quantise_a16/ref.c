/* One element at a time, as the header says it. */
#include <math.h>

#include "quantise_a16/quantise_a16.h"

void sm_quantise_a16_ref(const void *args, struct sm_part part)
{
    const struct sm_quantise_a16 *a = args;
    const float factor = 1 / a->out.scale;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        int64_t sum = 0;
        for (size_t c = 0; c < a->cols; c++) {
            const float n = rintf(a->x[r * a->x_stride + c] * factor);
            const int16_t q = (int16_t)(n > 32767 ? 32767 : n < -32768 ? -32768 : n);
            a->out.q[r * a->cols + c] = q;
            sum += q;
        }
        if (a->out.sum) a->out.sum[r] = sum;
    }
}
