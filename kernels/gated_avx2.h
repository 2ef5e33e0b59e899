/* gated_avx2.h - the loop of the avx2 variants of gated_silu and gated_gelu, over the exponent of their activation. */
#ifndef SM_GATED_AVX2_H
#define SM_GATED_AVX2_H

#include "gated.h"
#include "vector_math_avx2.h"

/* -u log2(e) = x * slope_of(x). */
typedef __m256 sm_slope_avx2(__m256 x);

/* up * gate / (1 + 2^(-u log2 e)) of up to two vectors beside each other. Gates beyond the limit count as that: on one
 * side the power is nothing beside 1, on the other it makes nothing of the gate (gated.h), and no denormal number
 * arises on the way, which would cost a hundred cycles. What is whole of the exponent is found by rounding where floats
 * have no places after the point, and is moved from there into the exponent of p. */
static inline __attribute__((always_inline)) void sm_gated_values_avx2(__m256 *y, const __m256 *gate, const __m256 *up,
                                                                       size_t count, float limit,
                                                                       sm_slope_avx2 *slope_of)
{
    const __m256 whole = _mm256_set1_ps(SM_EXP2_WHOLE);
    __m256 g[2], n[2], r[2], p[2];
    for (size_t i = 0; i < count; i++) {
        g[i] = _mm256_max_ps(_mm256_set1_ps(-limit), gate[i]);
        const __m256 x = _mm256_min_ps(_mm256_set1_ps(limit), g[i]), slope = slope_of(x);
        n[i] = _mm256_fmadd_ps(x, slope, whole);
        r[i] = _mm256_fmsub_ps(x, slope, _mm256_sub_ps(n[i], whole));
    }
    for (size_t i = 0; i < count; i++) {
        p[i] = _mm256_fmadd_ps(_mm256_set1_ps(SM_EXP2_SHORT_C5), r[i], _mm256_set1_ps(SM_EXP2_SHORT_C4));
        p[i] = _mm256_fmadd_ps(p[i], r[i], _mm256_set1_ps(SM_EXP2_SHORT_C3));
        p[i] = _mm256_fmadd_ps(p[i], r[i], _mm256_set1_ps(SM_EXP2_SHORT_C2));
        p[i] = _mm256_fmadd_ps(p[i], r[i], _mm256_set1_ps(SM_EXP2_SHORT_C1));
        p[i] = _mm256_fmadd_ps(p[i], r[i], _mm256_set1_ps(SM_EXP2_SHORT_C0));
    }
    for (size_t i = 0; i < count; i++) {
        const __m256i power = _mm256_slli_epi32(_mm256_castps_si256(n[i]), 23);
        const __m256 e = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p[i]), power));
        y[i] = _mm256_mul_ps(_mm256_div_ps(g[i], _mm256_add_ps(e, _mm256_set1_ps(1))), up[i]);
    }
}

static inline __attribute__((always_inline)) void sm_gated_rows_avx2(const struct sm_gated *a, struct sm_part part,
                                                                     float limit, sm_slope_avx2 *slope_of)
{
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const float *gate = a->gate + r * a->gate_stride, *up = a->up + r * a->up_stride;
        float *y = a->y + r * a->y_stride;
        size_t c = part.col_begin;
        for (; c + 16 <= part.col_end; c += 16) {
            const __m256 g[2] = {_mm256_loadu_ps(gate + c), _mm256_loadu_ps(gate + c + 8)};
            const __m256 v[2] = {_mm256_loadu_ps(up + c), _mm256_loadu_ps(up + c + 8)};
            __m256 out[2];
            sm_gated_values_avx2(out, g, v, 2, limit, slope_of);
            _mm256_storeu_ps(y + c, out[0]);
            _mm256_storeu_ps(y + c + 8, out[1]);
        }
        for (; c < part.col_end; c += 8) {
            const __m256i lanes = sm_first_lanes_avx2(part.col_end - c < 8 ? part.col_end - c : 8);
            const __m256 g = _mm256_maskload_ps(gate + c, lanes), v = _mm256_maskload_ps(up + c, lanes);
            __m256 out;
            sm_gated_values_avx2(&out, &g, &v, 1, limit, slope_of);
            _mm256_maskstore_ps(y + c, lanes, out);
        }
    }
}

#endif
