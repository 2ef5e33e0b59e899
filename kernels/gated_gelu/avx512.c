/* The loop of gated_avx512.h. */
#include "gated_gelu/gated_gelu.h"

#include "gated_avx512.h"

static inline __m512 slope_of(__m512 x)
{
    return _mm512_fmadd_ps(_mm512_mul_ps(x, x), _mm512_set1_ps((float)SM_GELU_T3), _mm512_set1_ps((float)SM_GELU_T1));
}

void sm_gated_gelu_avx512(const void *args, struct sm_part part)
{
    sm_gated_rows_avx512(args, part, SM_GELU_LIMIT, slope_of);
}
