/* Sixteen elements of a row at a time; scales come eight rows at a time from the AVX2 loop. */
#include "cache_write_i8/cache_write_i8.h"

#include "cache_write_avx2.h"
#include "vector_math_avx512.h"

static void write_row(int8_t *to, const float *x, size_t n, float factor)
{
    for (size_t c = 0; c < n; c += 16) {
        const __mmask16 lanes = sm_first_lanes_avx512(n - c < 16 ? n - c : 16);
        const __m512 scaled = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, x + c), _mm512_set1_ps(factor));
        _mm_mask_storeu_epi8(to + c, lanes, _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(scaled)));
    }
}

void sm_cache_write_i8_avx512(const void *args, struct sm_part part)
{
    const struct sm_cache_write *a = args;
    for (size_t i = part.row_begin; i < part.row_end; i += 8)
        for (size_t g = part.col_begin; g < part.col_end; g++) {
            const size_t rows = part.row_end - i < 8 ? part.row_end - i : 8;
            int8_t *to = (int8_t *)a->cache + g * a->head_stride + (a->slot + i) * a->head_dim;
            float factor[8];
            sm_cache_scales_avx2(a, i, rows, g, factor);
            for (size_t r = 0; r < rows; r++)
                write_row(to + r * a->head_dim, sm_cache_row(a, i + r, g), a->head_dim, factor[r]);
        }
}
