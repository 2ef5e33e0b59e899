#include "matmul_f16/matmul_f16.h"

#define FLOAT_FAMILY matmul_f16
#define FLOAT_WEIGHT_BYTES 2
#include "matmul_float_workload_body.h"
