#include "embedding_q4_0/embedding_q4_0.h"
#include "quant.h"
#include "rows_workload.h"

static void fill_block(struct sm_block_q4_0 *b, enum sm_regime regime, struct sm_random *r)
{
    b->d = sm_random_half(regime, r);
    for (size_t i = 0; i < 16; i++) b->q[i] = (uint8_t)sm_random_u64(r);
}

static double element(const struct sm_block_q4_0 *b, size_t i)
{
    const int n = i < 16 ? b->q[i] & 15 : b->q[i - 16] >> 4;
    return (double)(n - 8) * (double)sm_f16_to_f32(b->d);
}

#define EMBEDDING_FAMILY "embedding_q4_0"
#define EMBEDDING_WORKLOAD sm_workload_embedding_q4_0
#define EMBEDDING_BLOCK struct sm_block_q4_0
#define EMBEDDING_ELEMENTS SM_GROUP
#include "embedding_workload_body.h"
