#include "matmul_workload.h"

#include "matmul_w4c_a16/matmul_w4c_a16.h"

static void bind(void *args, const struct sm_matmul_operands *o)
{
    struct sm_matmul_c_a16 *a = args;
    *a = (struct sm_matmul_c_a16){.y = o->y,
                                  .y_stride = o->y_stride,
                                  .x = o->a16,
                                  .w = o->w,
                                  .bias = o->bias,
                                  .residual = o->residual,
                                  .rows = o->rows,
                                  .out = o->out,
                                  .in = o->in};
}

static const struct sm_matmul_kind kind = {
    .activations = SM_MATMUL_A16, .multiple = 32, .weight_bytes = 4 / 8.0, .bind = bind};

SM_MATMUL_WORKLOAD(matmul_w4c_a16, kind);
