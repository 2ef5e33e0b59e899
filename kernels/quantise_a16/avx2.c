/* Sixteen elements at a time. */
#include "quantise_a16/quantise_a16.h"

#include "a16_avx2.h"
#include "vector_math_avx2.h"

static inline __m256 load(const void *row, size_t c, size_t n)
{
    const float *x = (const float *)row + c;
    return n == 8 ? _mm256_loadu_ps(x) : _mm256_maskload_ps(x, sm_first_lanes_avx2(n));
}

void sm_quantise_a16_avx2(const void *args, struct sm_part part)
{
    const struct sm_quantise_a16 *a = args;
    const float factor = 1 / a->out.scale;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const int64_t sum = sm_row_of_words_avx2(a->out.q + r * a->cols, a->x + r * a->x_stride, a->cols, factor, load);
        if (a->out.sum) a->out.sum[r] = sum;
    }
}
