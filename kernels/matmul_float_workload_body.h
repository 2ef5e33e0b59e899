/* matmul_float_workload_body.h - the workload of the families of float weights on float rows, which share their
 * arguments (matmul_f32.h). workload.c of a family includes the family's header, defines
 *
 *     FLOAT_FAMILY         its name
 *     FLOAT_WEIGHT_BYTES   of a weight
 *
 * and then includes this, once. */
#include "matmul_workload.h"

#include "matmul_f32/matmul_f32.h"

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
    .activations = SM_MATMUL_F32, .multiple = 1, .weight_bytes = FLOAT_WEIGHT_BYTES, .bind = bind};

#define WORKLOAD(family) SM_MATMUL_WORKLOAD(family, kind)
WORKLOAD(FLOAT_FAMILY);
