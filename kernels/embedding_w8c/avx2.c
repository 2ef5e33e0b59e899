/* Eight elements at a time. */
#include <immintrin.h>

#include "embedding_w8c/embedding_w8c.h"
#include "quant.h"

void sm_embedding_w8c_avx2(const void *args, struct sm_part part)
{
    const struct sm_embedding *a = args;
    const __m256 times = _mm256_set1_ps(a->scale);
    const size_t cols = a->cols;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const uint8_t *row = (const uint8_t *)a->table + (size_t)a->token[r] * sm_channel_bytes(cols, 8);
        const struct sm_channel *head = (const struct sm_channel *)(const void *)row;
        const uint8_t *q = row + sizeof *head;
        const __m256 scale = _mm256_set1_ps(head->scale);
        const __m256i zero = _mm256_set1_epi32(head->zero);
        float *y = a->y + r * a->y_stride;
        for (size_t c = 0; c < cols; c += 8) {
            const __m256i n = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(q + c)));
            const __m256 value = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(n, zero)), scale);
            _mm256_storeu_ps(y + c, _mm256_mul_ps(value, times));
        }
    }
}
