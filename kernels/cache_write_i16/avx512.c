/* Sixteen elements of a row at a time. */
#include "cache_write_i16/cache_write_i16.h"

#include "vector_math_avx512.h"

static void write_row(int16_t *to, const float *x, size_t n, __m512 factor)
{
    const __m512 most = _mm512_set1_ps(32767), least = _mm512_set1_ps(-32768);
    for (size_t c = 0; c < n; c += 16) {
        const __mmask16 lanes = sm_first_lanes_avx512(n - c < 16 ? n - c : 16);
        const __m512 scaled = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, x + c), factor);
        const __m512i word = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(scaled, least), most));
        _mm256_mask_storeu_epi16(to + c, lanes, _mm512_cvtepi32_epi16(word));
    }
}

void sm_cache_write_i16_avx512(const void *args, struct sm_part part)
{
    const struct sm_cache_write *a = args;
    const __m512 factor = _mm512_set1_ps(1 / *a->scale);
    for (size_t i = part.row_begin; i < part.row_end; i++)
        for (size_t g = part.col_begin; g < part.col_end; g++)
            write_row((int16_t *)a->cache + g * a->head_stride + (a->slot + i) * a->head_dim,
                      a->x + (a->first + i) * a->x_stride + g * a->head_dim, a->head_dim, factor);
}
