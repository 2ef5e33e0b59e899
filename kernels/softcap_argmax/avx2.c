/* Block by block while it is in L1: its maximum, its place if it beats all before, then the softcap. */
#include "argmax_avx2.h"
#include "softcap_argmax/softcap_argmax.h"

static void softcap_block(float *y, const float *x, size_t n, float limit)
{
    const __m256 cap = _mm256_set1_ps(limit), inverse = _mm256_set1_ps(1 / limit);
    size_t c = 0;
    for (; c + 8 <= n; c += 8) {
        const __m256 t = sm_tanh_avx2(_mm256_mul_ps(_mm256_loadu_ps(x + c), inverse));
        _mm256_storeu_ps(y + c, _mm256_mul_ps(cap, t));
    }
    if (c < n) {
        const __m256i lanes = sm_first_lanes_avx2(n - c);
        const __m256 t = sm_tanh_avx2(_mm256_mul_ps(_mm256_maskload_ps(x + c, lanes), inverse));
        _mm256_maskstore_ps(y + c, lanes, _mm256_mul_ps(cap, t));
    }
}

void sm_softcap_argmax_avx2(const void *args, struct sm_part part)
{
    const struct sm_softcap_argmax *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const float *x = a->x + r * a->x_stride;
        float best = x[0]; /* kept apart: y may be x */
        size_t index = 0;
        for (size_t c = 0; c < a->cols; c += SM_ARGMAX_BLOCK) {
            const size_t n = a->cols - c < SM_ARGMAX_BLOCK ? a->cols - c : SM_ARGMAX_BLOCK;
            const float largest = sm_largest_avx2(x + c, n);
            if (largest > best) {
                best = largest;
                index = c + sm_first_place_avx2(x + c, n, largest);
            }
            softcap_block(a->y + r * a->y_stride + c, x + c, n, a->cap);
        }
        a->index[r] = (int32_t)index;
    }
}
