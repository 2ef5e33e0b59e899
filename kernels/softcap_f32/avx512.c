/* Sixteen columns at a time, by the vector tanh; the last few behind a mask. */
#include "softcap_f32/softcap_f32.h"
#include "vector_math_avx512.h"

static inline __m512 softcap(__m512 x, __m512 cap, __m512 inverse)
{
    return _mm512_mul_ps(cap, sm_tanh_avx512(_mm512_mul_ps(x, inverse)));
}

void sm_softcap_f32_avx512(const void *args, struct sm_part part)
{
    const struct sm_softcap_f32 *a = args;
    const __m512 cap = _mm512_set1_ps(a->cap), inverse = _mm512_set1_ps(1 / a->cap);
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const float *x = a->x + r * a->x_stride;
        float *y = a->y + r * a->y_stride;
        size_t c = part.col_begin;
        for (; c + 16 <= part.col_end; c += 16) _mm512_storeu_ps(y + c, softcap(_mm512_loadu_ps(x + c), cap, inverse));
        if (c < part.col_end) {
            const __mmask16 lanes = sm_first_lanes_avx512(part.col_end - c);
            _mm512_mask_storeu_ps(y + c, lanes, softcap(_mm512_maskz_loadu_ps(lanes, x + c), cap, inverse));
        }
    }
}
