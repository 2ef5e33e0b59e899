#include "embedding_w8c/embedding_w8c.h"
#include "quant.h"
#include "rows_workload.h"

static size_t row_bytes(size_t cols)
{
    return sm_channel_bytes(cols, 8);
}

static void fill_row_at(void *row, size_t cols, enum sm_regime regime, struct sm_random *r)
{
    static const float odd[] = {1e-8f, 0x1p-120f, 1.0f, 1e30f};
    struct sm_channel *head = row;
    uint8_t *q = (uint8_t *)(head + 1);
    head->zero = (int32_t)sm_random_below(r, 256);
    head->scale = regime == SM_REGIME_EXACT ? 0.25f : 0.01f * (1.5f + sm_random_unit(r));
    if (regime == SM_REGIME_EXTREME) {
        head->scale = odd[sm_random_below(r, 4)];
        head->zero = sm_random_below(r, 2) ? 255 : 0;
    }
    for (size_t c = 0; c < cols; c++) q[c] = (uint8_t)sm_random_below(r, 256);
}

static double element_at(const void *row, size_t c)
{
    const struct sm_channel *head = row;
    const uint8_t *q = (const uint8_t *)(head + 1);
    return (double)(q[c] - head->zero) * (double)head->scale;
}

#define EMBEDDING_FAMILY "embedding_w8c"
#define EMBEDDING_WORKLOAD sm_workload_embedding_w8c
#define EMBEDDING_ELEMENTS SM_GROUP
#include "embedding_workload_body.h"
