/* gated_avx512.h - the loop of the avx512 variants of gated_silu and gated_gelu, over the u of their activation. */
#ifndef SM_GATED_AVX512_H
#define SM_GATED_AVX512_H

#include "gated.h"
#include "vector_math_avx512.h"

/* up * gate / (1 + exp(-u)). Denormal numbers cost a hundred cycles, so none may arise on the way: below -87 exp is
 * nothing beside 1, and where it makes nothing of the gate (gated.h) it is left out. */
static inline __m512 sm_gated_value_avx512(__m512 gate, __m512 up, __m512 u)
{
    const __m512 x = _mm512_sub_ps(_mm512_setzero_ps(), u);
    const __m512 limited = _mm512_max_ps(_mm512_set1_ps(-87), _mm512_min_ps(_mm512_set1_ps(SM_GATED_NOTHING), x));
    __m512 n;
    const __m512 p = sm_exp_reduced_avx512(limited, &n);
    const __m512 e = _mm512_scalef_ps(p, n);
    const __mmask16 kept = _mm512_cmp_ps_mask(x, _mm512_set1_ps(SM_GATED_NOTHING), _CMP_LE_OQ);
    return _mm512_mul_ps(_mm512_maskz_div_ps(kept, gate, _mm512_add_ps(_mm512_set1_ps(1), e)), up);
}

static inline __attribute__((always_inline)) void sm_gated_rows_avx512(const struct sm_gated *a, struct sm_part part,
                                                                       __m512 (*u_of)(__m512))
{
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const float *gate = a->gate + r * a->gate_stride, *up = a->up + r * a->up_stride;
        float *y = a->y + r * a->y_stride;
        size_t c = part.col_begin;
        for (; c + 16 <= part.col_end; c += 16) {
            const __m512 g = _mm512_loadu_ps(gate + c);
            _mm512_storeu_ps(y + c, sm_gated_value_avx512(g, _mm512_loadu_ps(up + c), u_of(g)));
        }
        if (c < part.col_end) {
            const __mmask16 lanes = sm_first_lanes_avx512(part.col_end - c);
            const __m512 g = _mm512_maskz_loadu_ps(lanes, gate + c);
            _mm512_mask_storeu_ps(y + c, lanes,
                                  sm_gated_value_avx512(g, _mm512_maskz_loadu_ps(lanes, up + c), u_of(g)));
        }
    }
}

#endif
