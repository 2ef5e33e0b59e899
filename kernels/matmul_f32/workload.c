#include "matmul_f32/matmul_f32.h"

#define FLOAT_FAMILY matmul_f32
#define FLOAT_WEIGHT_BYTES 4
#include "matmul_float_workload_body.h"
