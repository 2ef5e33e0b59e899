/* From left to right. */
#include "argmax/argmax.h"

void sm_argmax_ref(const void *args, struct sm_part part)
{
    const struct sm_argmax *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const float *x = a->x + r * a->x_stride;
        size_t best = 0;
        for (size_t c = 1; c < a->cols; c++)
            if (x[c] > x[best]) best = c;
        a->index[r] = (int32_t)best;
    }
}
