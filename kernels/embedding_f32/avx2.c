/* Eight columns at a time. */
#include "embedding_f32/embedding_f32.h"
#include "vector_math_avx2.h"

void sm_embedding_f32_avx2(const void *args, struct sm_part part)
{
    const struct sm_embedding *a = args;
    const __m256 scale = _mm256_set1_ps(a->scale);
    const size_t cols = a->cols;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const float *row = (const float *)a->table + (size_t)a->token[r] * cols;
        float *y = a->y + r * a->y_stride;
        size_t c = 0;
        for (; c + 8 <= cols; c += 8) _mm256_storeu_ps(y + c, _mm256_mul_ps(_mm256_loadu_ps(row + c), scale));
        if (c < cols) {
            const __m256i lanes = sm_first_lanes_avx2(cols - c);
            _mm256_maskstore_ps(y + c, lanes, _mm256_mul_ps(_mm256_maskload_ps(row + c, lanes), scale));
        }
    }
}
