#include "matmul_workload.h"

#include "matmul_f16/matmul_f16.h"

static void bind(void *args, const struct sm_matmul_operands *o)
{
    struct sm_matmul_f32 *a = args;
    *a = (struct sm_matmul_f32){.y = o->y,
                                .y_stride = o->y_stride,
                                .x = o->x,
                                .x_stride = o->x_stride,
                                .w = o->w,
                                .bias = o->bias,
                                .residual = o->residual,
                                .rows = o->rows,
                                .out = o->out,
                                .in = o->in};
}

static const struct sm_matmul_kind kind = {
    .activations = SM_MATMUL_F32, .multiple = 1, .weight_bytes = 2, .bind = bind};

SM_MATMUL_WORKLOAD(matmul_f16, kind);
