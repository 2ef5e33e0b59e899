/* gated_avx512.h - the loop of the avx512 variants of gated_silu and gated_gelu, over the exponent of their activation.
 */
#ifndef SM_GATED_AVX512_H
#define SM_GATED_AVX512_H

#include "gated.h"
#include "vector_math_avx512.h"

/* -u log2(e) = x * slope_of(x). */
typedef __m512 sm_slope_avx512(__m512 x);

/* up * gate / (1 + 2^(-u log2 e)) of up to two vectors beside each other. Gates beyond the limit count as that: on one
 * side the power is nothing beside 1, on the other it makes nothing of the gate (gated.h), and no denormal number
 * arises on the way, which would cost a hundred cycles. */
static inline __attribute__((always_inline)) void sm_gated_values_avx512(__m512 *y, const __m512 *gate,
                                                                         const __m512 *up, size_t count, float limit,
                                                                         sm_slope_avx512 *slope_of)
{
    __m512 g[2], n[2], r[2], p[2];
    for (size_t i = 0; i < count; i++) {
        g[i] = _mm512_max_ps(_mm512_set1_ps(-limit), gate[i]);
        const __m512 x = _mm512_min_ps(_mm512_set1_ps(limit), g[i]), slope = slope_of(x);
        const __m512 t = _mm512_mul_ps(x, slope);
        n[i] = _mm512_roundscale_ps(t, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        r[i] = _mm512_sub_ps(t, n[i]);
    }
    for (size_t i = 0; i < count; i++) {
        p[i] = _mm512_fmadd_ps(_mm512_set1_ps(SM_EXP2_SHORT_C5), r[i], _mm512_set1_ps(SM_EXP2_SHORT_C4));
        p[i] = _mm512_fmadd_ps(p[i], r[i], _mm512_set1_ps(SM_EXP2_SHORT_C3));
        p[i] = _mm512_fmadd_ps(p[i], r[i], _mm512_set1_ps(SM_EXP2_SHORT_C2));
        p[i] = _mm512_fmadd_ps(p[i], r[i], _mm512_set1_ps(SM_EXP2_SHORT_C1));
        p[i] = _mm512_fmadd_ps(p[i], r[i], _mm512_set1_ps(SM_EXP2_SHORT_C0));
    }
    for (size_t i = 0; i < count; i++) {
        const __m512 e = _mm512_scalef_ps(p[i], n[i]);
        y[i] = _mm512_mul_ps(_mm512_div_ps(g[i], _mm512_add_ps(e, _mm512_set1_ps(1))), up[i]);
    }
}

static inline __attribute__((always_inline)) void sm_gated_rows_avx512(const struct sm_gated *a, struct sm_part part,
                                                                       float limit, sm_slope_avx512 *slope_of)
{
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const float *gate = a->gate + r * a->gate_stride, *up = a->up + r * a->up_stride;
        float *y = a->y + r * a->y_stride;
        size_t c = part.col_begin;
        for (; c + 32 <= part.col_end; c += 32) {
            const __m512 g[2] = {_mm512_loadu_ps(gate + c), _mm512_loadu_ps(gate + c + 16)};
            const __m512 v[2] = {_mm512_loadu_ps(up + c), _mm512_loadu_ps(up + c + 16)};
            __m512 out[2];
            sm_gated_values_avx512(out, g, v, 2, limit, slope_of);
            _mm512_storeu_ps(y + c, out[0]);
            _mm512_storeu_ps(y + c + 16, out[1]);
        }
        for (; c < part.col_end; c += 16) {
            const __mmask16 lanes = sm_first_lanes_avx512(part.col_end - c < 16 ? part.col_end - c : 16);
            const __m512 g = _mm512_maskz_loadu_ps(lanes, gate + c), v = _mm512_maskz_loadu_ps(lanes, up + c);
            __m512 out;
            sm_gated_values_avx512(&out, &g, &v, 1, limit, slope_of);
            _mm512_mask_storeu_ps(y + c, lanes, out);
        }
    }
}

#endif
