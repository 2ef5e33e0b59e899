#include "embedding_f16/embedding_f16.h"
#include "quant.h"
#include "rows_workload.h"

static void fill_block(uint16_t *b, enum sm_regime regime, struct sm_random *r)
{
    *b = sm_random_half(regime, r);
}

static double element(const uint16_t *b, size_t i)
{
    return (double)sm_f16_to_f32(b[i]);
}

#define EMBEDDING_FAMILY "embedding_f16"
#define EMBEDDING_WORKLOAD sm_workload_embedding_f16
#define EMBEDDING_BLOCK uint16_t
#define EMBEDDING_ELEMENTS 1
#include "embedding_workload_body.h"
