/* A real row sees one range of the past and one of the call's own rows; everything around them is filled. */
#include "mask_build/mask_build.h"

static float *fill(float *p, const float *end, float value)
{
    while (p < end) *p++ = value;
    return p;
}

void sm_mask_build_ranges(const void *args, struct sm_part part)
{
    const struct sm_mask_build *a = args;
    for (size_t i = part.row_begin; i < part.row_end; i++) {
        float *const row = a->mask + i * a->mask_stride;
        const float *const end = row + a->past + a->rows;
        float *p = row;
        if (i >= a->begin && i < a->begin + a->valid) {
            const size_t seen = a->window ? a->window - 1 : SIZE_MAX; /* columns before its own */
            const size_t position = a->past_valid + i - a->begin;
            size_t past_first = position > seen ? position - seen : 0;
            if (past_first > a->past_valid) past_first = a->past_valid;
            size_t now_first = i > seen ? i - seen : 0;
            if (now_first < a->begin) now_first = a->begin;
            p = fill(p, row + past_first, a->fill);
            p = fill(p, row + a->past_valid, 0);
            p = fill(p, row + a->past + now_first, a->fill);
            p = fill(p, row + a->past + i + 1, 0);
        }
        fill(p, end, a->fill);
    }
}
