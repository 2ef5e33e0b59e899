/* By libm in double, rounded once. */
#include "gated_gelu/gated_gelu.h"

#include <math.h>

void sm_gated_gelu_ref(const void *args, struct sm_part part)
{
    const struct sm_gated *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++)
        for (size_t c = part.col_begin; c < part.col_end; c++) {
            const double x = (double)a->gate[r * a->gate_stride + c];
            const double u = SM_GELU_U1 * (x + SM_GELU_U3 * x * x * x);
            a->y[r * a->y_stride + c] = (float)(x / (1 + exp(-u)) * (double)a->up[r * a->up_stride + c]);
        }
}
