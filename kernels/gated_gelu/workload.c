#include "gated_gelu/gated_gelu.h"

static double gated_u(double x)
{
    return SM_GELU_U1 * (x + SM_GELU_U3 * x * x * x);
}

#define GATED_FAMILY "gated_gelu"
#define GATED_WORKLOAD sm_workload_gated_gelu
#include "gated_workload_body.h"
