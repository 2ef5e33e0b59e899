/* Thirty-two elements at a time. */
#include "quantise_a16/quantise_a16.h"

#include "a16_avx512.h"

static inline __m512 load(const void *row, size_t c, __mmask16 lanes)
{
    const float *x = (const float *)row + c;
    return lanes == 0xffff ? _mm512_loadu_ps(x) : _mm512_maskz_loadu_ps(lanes, x);
}

void sm_quantise_a16_avx512(const void *args, struct sm_part part)
{
    const struct sm_quantise_a16 *a = args;
    const float factor = 1 / a->out.scale;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const int64_t sum =
            sm_row_of_words_avx512(a->out.q + r * a->cols, a->x + r * a->x_stride, a->cols, factor, load);
        if (a->out.sum) a->out.sum[r] = sum;
    }
}
