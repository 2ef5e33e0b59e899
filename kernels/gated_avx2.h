/* gated_avx2.h - the loop of the avx2 variants of gated_silu and gated_gelu, over the u of their activation. */
#ifndef SM_GATED_AVX2_H
#define SM_GATED_AVX2_H

#include "gated.h"
#include "vector_math_avx2.h"

/* up * gate / (1 + exp(-u)). Denormal numbers cost a hundred cycles, so none may arise on the way: below -87 exp is
 * nothing beside 1, and where it makes nothing of the gate (gated.h) it is left out. */
static inline __m256 sm_gated_value_avx2(__m256 gate, __m256 up, __m256 u)
{
    const __m256 x = _mm256_sub_ps(_mm256_setzero_ps(), u);
    const __m256 limited = _mm256_max_ps(_mm256_set1_ps(-87), _mm256_min_ps(_mm256_set1_ps(SM_GATED_NOTHING), x));
    __m256i n;
    const __m256 p = sm_exp_reduced_avx2(limited, &n);
    const __m256 e = sm_scale_avx2(p, n);
    const __m256 kept = _mm256_cmp_ps(x, _mm256_set1_ps(SM_GATED_NOTHING), _CMP_LE_OQ);
    return _mm256_mul_ps(_mm256_div_ps(_mm256_and_ps(kept, gate), _mm256_add_ps(_mm256_set1_ps(1), e)), up);
}

static inline __attribute__((always_inline)) void sm_gated_rows_avx2(const struct sm_gated *a, struct sm_part part,
                                                                     __m256 (*u_of)(__m256))
{
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const float *gate = a->gate + r * a->gate_stride, *up = a->up + r * a->up_stride;
        float *y = a->y + r * a->y_stride;
        size_t c = part.col_begin;
        for (; c + 8 <= part.col_end; c += 8) {
            const __m256 g = _mm256_loadu_ps(gate + c);
            _mm256_storeu_ps(y + c, sm_gated_value_avx2(g, _mm256_loadu_ps(up + c), u_of(g)));
        }
        if (c < part.col_end) {
            const __m256i lanes = sm_first_lanes_avx2(part.col_end - c);
            const __m256 g = _mm256_maskload_ps(gate + c, lanes);
            _mm256_maskstore_ps(y + c, lanes, sm_gated_value_avx2(g, _mm256_maskload_ps(up + c, lanes), u_of(g)));
        }
    }
}

#endif
