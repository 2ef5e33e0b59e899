#include "softcap_f32/softcap_f32.h"

static int32_t **index_of(struct sm_softcap_f32 *args)
{
    (void)args;
    return NULL;
}

#define SOFTCAP_FAMILY "softcap_f32"
#define SOFTCAP_WORKLOAD sm_workload_softcap_f32
#define SOFTCAP_ARGS struct sm_softcap_f32
#define SOFTCAP_ROWS SM_SOFTCAP_F32_ROWS
#define SOFTCAP_COLS SM_SOFTCAP_F32_COLS
#include "softcap_workload_body.h"
