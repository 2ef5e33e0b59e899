/* By libm in double, rounded once. */
#include "softcap_f32/softcap_f32.h"

#include <math.h>

void sm_softcap_f32_ref(const void *args, struct sm_part part)
{
    const struct sm_softcap_f32 *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++)
        for (size_t c = part.col_begin; c < part.col_end; c++) {
            const double x = (double)a->x[r * a->x_stride + c];
            a->y[r * a->y_stride + c] = (float)((double)a->cap * tanh(x / (double)a->cap));
        }
}
