/* One output at a time: the integer first, then the scales. */
#include "matmul_w8c_a16/matmul_w8c_a16.h"

#define ARGS struct sm_matmul_c_a16
#define BITS 8
#define SCALE_OF(x, r) ((void)(r), (x).scale)
#include "matmul_channel_ref_body.h"

void sm_matmul_w8c_a16_ref(const void *args, struct sm_part part)
{
    matmul(args, part);
}
