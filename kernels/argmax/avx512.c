/* Maxima of blocks; only a block that beats all before it is searched for the place. */
#include "argmax/argmax.h"
#include "argmax_avx512.h"

void sm_argmax_avx512(const void *args, struct sm_part part)
{
    const struct sm_argmax *a = args;
    for (size_t r = part.row_begin; r < part.row_end; r++) {
        const float *x = a->x + r * a->x_stride;
        float best = x[0];
        size_t index = 0;
        for (size_t c = 0; c < a->cols; c += SM_ARGMAX_BLOCK) {
            const size_t n = a->cols - c < SM_ARGMAX_BLOCK ? a->cols - c : SM_ARGMAX_BLOCK;
            const float largest = sm_largest_avx512(x + c, n);
            if (largest > best) {
                best = largest;
                index = c + sm_first_place_avx512(x + c, n, largest);
            }
        }
        a->index[r] = (int32_t)index;
    }
}
