/* The loop of gated_avx512.h. */
#include "gated_gelu/gated_gelu.h"

#include "gated_avx512.h"

static inline __m512 u_of(__m512 gate)
{
    const __m512 cubed = _mm512_mul_ps(_mm512_mul_ps(gate, gate), gate);
    return _mm512_mul_ps(_mm512_set1_ps((float)SM_GELU_U1),
                         _mm512_fmadd_ps(_mm512_set1_ps((float)SM_GELU_U3), cubed, gate));
}

void sm_gated_gelu_avx512(const void *args, struct sm_part part)
{
    sm_gated_rows_avx512(args, part, u_of);
}
