/* Eight columns at a time, by F16C. */
#include "embedding_f16/embedding_f16.h"
#include "quant.h"
#include "vector_math_avx2.h"

void sm_embedding_f16_avx2(const void *args, struct sm_part part)
{
    const struct sm_embedding *a = args;
    const __m256 scale = _mm256_set1_ps(a->scale);
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const uint16_t *row = (const uint16_t *)a->table + (size_t)a->token[r] * a->cols;
        float *y = a->y + r * a->y_stride;
        size_t c = 0;
        for (; c + 8 <= a->cols; c += 8) {
            const __m256 v = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(row + c)));
            _mm256_storeu_ps(y + c, _mm256_mul_ps(v, scale));
        }
        for (; c < a->cols; c++) y[c] = sm_f16_to_f32(row[c]) * a->scale;
    }
}
