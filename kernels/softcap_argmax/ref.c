/* By libm in double, rounded once. */
#include "softcap_argmax/softcap_argmax.h"

#include <math.h>

void sm_softcap_argmax_ref(const void *args, struct sm_part part)
{
    const struct sm_softcap_argmax *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const float *x = a->x + r * a->x_stride;
        float largest = x[0]; /* kept apart: y may be x */
        size_t best = 0;
        for (size_t c = 0; c < a->cols; c++) {
            if (x[c] > largest) largest = x[c], best = c;
            a->y[r * a->y_stride + c] = (float)((double)a->cap * tanh((double)x[c] / (double)a->cap));
        }
        a->index[r] = (int32_t)best;
    }
}
