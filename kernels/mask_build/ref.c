/* The definition, column by column. */
#include "mask_build/mask_build.h"

static int within(const struct sm_mask_build *a, size_t from, size_t to)
{
    return a->window == 0 || to - from < a->window;
}

static int allowed(const struct sm_mask_build *a, size_t i, size_t column)
{
    if (i < a->begin || i >= a->begin + a->valid) return 0;
    if (column < a->past) return column < a->past_valid && within(a, column, a->past_valid + i - a->begin);
    const size_t j = column - a->past;
    return j >= a->begin && j <= i && within(a, j, i);
}

void sm_mask_build_ref(const void *args, struct sm_part part)
{
    const struct sm_mask_build *a = args;
    for (size_t i = part.row_begin; i < part.row_end; i++)
        for (size_t column = 0; column < a->past + a->rows; column++)
            a->mask[i * a->mask_stride + column] = allowed(a, i, column) ? 0 : a->fill;
}
