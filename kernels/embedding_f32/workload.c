#include "embedding_f32/embedding_f32.h"
#include "rows_workload.h"

static void fill_block(float *b, enum sm_regime regime, struct sm_random *r)
{
    *b = regime == SM_REGIME_EXTREME ? sm_random_extreme(r, 0x1.fffffep127f) : sm_random_normal(r);
}

static double element(const float *b, size_t i)
{
    return (double)b[i];
}

#define EMBEDDING_FAMILY "embedding_f32"
#define EMBEDDING_WORKLOAD sm_workload_embedding_f32
#define EMBEDDING_BLOCK float
#define EMBEDDING_ELEMENTS 1
#include "embedding_workload_body.h"
