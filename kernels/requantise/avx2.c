/* Sixteen elements at a time. */
#include "requantise/requantise.h"

#include "a16_avx2.h"

static inline __m256 load(const void *row, size_t c, size_t n)
{
    int16_t few[8] = {0};
    const int16_t *x = (const int16_t *)row + c;
    if (n < 8) x = memcpy(few, x, n * sizeof *x);
    return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(const void *)x)));
}

void sm_requantise_avx2(const void *args, struct sm_part part)
{
    const struct sm_requantise *a = args;
    const float factor = a->x_scale / a->out.scale;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const int64_t sum = sm_row_of_words_avx2(a->out.q + r * a->cols, a->x + r * a->x_stride, a->cols, factor, load);
        if (a->out.sum) a->out.sum[r] = sum;
    }
}
