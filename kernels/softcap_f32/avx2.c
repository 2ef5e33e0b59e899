/* Eight columns at a time, by the vector tanh; the last few behind a mask. */
#include "softcap_f32/softcap_f32.h"
#include "vector_math_avx2.h"

static inline __m256 softcap(__m256 x, __m256 cap, __m256 inverse)
{
    return _mm256_mul_ps(cap, sm_tanh_avx2(_mm256_mul_ps(x, inverse)));
}

void sm_softcap_f32_avx2(const void *args, struct sm_part part)
{
    const struct sm_softcap_f32 *a = args;
    const __m256 cap = _mm256_set1_ps(a->cap), inverse = _mm256_set1_ps(1 / a->cap);
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const float *x = a->x + r * a->x_stride;
        float *y = a->y + r * a->y_stride;
        size_t c = part.col_begin;
        for (; c + 8 <= part.col_end; c += 8) _mm256_storeu_ps(y + c, softcap(_mm256_loadu_ps(x + c), cap, inverse));
        if (c < part.col_end) {
            const __m256i lanes = sm_first_lanes_avx2(part.col_end - c);
            _mm256_maskstore_ps(y + c, lanes, softcap(_mm256_maskload_ps(x + c, lanes), cap, inverse));
        }
    }
}
