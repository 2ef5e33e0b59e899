/* Thirty-two elements at a time. */
#include "requantise/requantise.h"

#include "a16_avx512.h"

static inline __m512 load(const void *row, size_t c, __mmask16 lanes)
{
    const int16_t *x = (const int16_t *)row + c;
    const __m256i words =
        lanes == 0xffff ? _mm256_loadu_si256((const __m256i *)(const void *)x) : _mm256_maskz_loadu_epi16(lanes, x);
    return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(words));
}

void sm_requantise_avx512(const void *args, struct sm_part part)
{
    const struct sm_requantise *a = args;
    const float factor = a->x_scale / a->out.scale;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const int64_t sum =
            sm_row_of_words_avx512(a->out.q + r * a->cols, a->x + r * a->x_stride, a->cols, factor, load);
        if (a->out.sum) a->out.sum[r] = sum;
    }
}
