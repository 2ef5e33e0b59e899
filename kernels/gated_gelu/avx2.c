/* The loop of gated_avx2.h. */
#include "gated_gelu/gated_gelu.h"

#include "gated_avx2.h"

static inline __m256 slope_of(__m256 x)
{
    return _mm256_fmadd_ps(_mm256_mul_ps(x, x), _mm256_set1_ps((float)SM_GELU_T3), _mm256_set1_ps((float)SM_GELU_T1));
}

void sm_gated_gelu_avx2(const void *args, struct sm_part part)
{
    sm_gated_rows_avx2(args, part, SM_GELU_LIMIT, slope_of);
}
