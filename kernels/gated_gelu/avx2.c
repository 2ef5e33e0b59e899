/* The loop of gated_avx2.h. */
#include "gated_gelu/gated_gelu.h"

#include "gated_avx2.h"

static inline __m256 u_of(__m256 gate)
{
    const __m256 cubed = _mm256_mul_ps(_mm256_mul_ps(gate, gate), gate);
    return _mm256_mul_ps(_mm256_set1_ps((float)SM_GELU_U1),
                         _mm256_fmadd_ps(_mm256_set1_ps((float)SM_GELU_U3), cubed, gate));
}

void sm_gated_gelu_avx2(const void *args, struct sm_part part)
{
    sm_gated_rows_avx2(args, part, u_of);
}
