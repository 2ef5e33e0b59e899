#include "gated_silu/gated_silu.h"

static double gated_u(double x)
{
    return x;
}

#define GATED_FAMILY "gated_silu"
#define GATED_WORKLOAD sm_workload_gated_silu
#include "gated_workload_body.h"
