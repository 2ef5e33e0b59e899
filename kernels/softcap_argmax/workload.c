#include "softcap_argmax/softcap_argmax.h"

static int32_t **index_of(struct sm_softcap_argmax *args)
{
    return &args->index;
}

#define SOFTCAP_FAMILY "softcap_argmax"
#define SOFTCAP_WORKLOAD sm_workload_softcap_argmax
#define SOFTCAP_ARGS struct sm_softcap_argmax
#define SOFTCAP_ROWS SM_SOFTCAP_ARGMAX_ROWS
#define SOFTCAP_COLS SM_SOFTCAP_ARGMAX_COLS
#include "softcap_workload_body.h"
