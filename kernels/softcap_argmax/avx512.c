/* Block by block while it is in L1: its maximum, its place if it beats all before, then the softcap. */
#include "argmax_avx512.h"
#include "softcap_argmax/softcap_argmax.h"

static void softcap_block(float *y, const float *x, size_t n, float limit)
{
    const __m512 cap = _mm512_set1_ps(limit), inverse = _mm512_set1_ps(1 / limit);
    size_t c = 0;
    for (; c + 16 <= n; c += 16) {
        const __m512 t = sm_tanh_avx512(_mm512_mul_ps(_mm512_loadu_ps(x + c), inverse));
        _mm512_storeu_ps(y + c, _mm512_mul_ps(cap, t));
    }
    if (c < n) {
        const __mmask16 lanes = sm_first_lanes_avx512(n - c);
        const __m512 t = sm_tanh_avx512(_mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, x + c), inverse));
        _mm512_mask_storeu_ps(y + c, lanes, _mm512_mul_ps(cap, t));
    }
}

void sm_softcap_argmax_avx512(const void *args, struct sm_part part)
{
    const struct sm_softcap_argmax *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const float *x = a->x + r * a->x_stride;
        float best = x[0]; /* kept apart: y may be x */
        size_t index = 0;
        for (size_t c = 0; c < a->cols; c += SM_ARGMAX_BLOCK) {
            const size_t n = a->cols - c < SM_ARGMAX_BLOCK ? a->cols - c : SM_ARGMAX_BLOCK;
            const float largest = sm_largest_avx512(x + c, n);
            if (largest > best) {
                best = largest;
                index = c + sm_first_place_avx512(x + c, n, largest);
            }
            softcap_block(a->y + r * a->y_stride + c, x + c, n, a->cap);
        }
        a->index[r] = (int32_t)index;
    }
}
