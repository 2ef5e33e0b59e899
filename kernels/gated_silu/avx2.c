/* The loop of gated_avx2.h. */
#include "gated_silu/gated_silu.h"

#include "gated_avx2.h"

static inline __m256 u_of(__m256 gate)
{
    return gate;
}

void sm_gated_silu_avx2(const void *args, struct sm_part part)
{
    sm_gated_rows_avx2(args, part, u_of);
}
