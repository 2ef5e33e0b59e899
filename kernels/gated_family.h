/* gated_family.h - the axes and the split that all gated_* families share. For their family files only. */
#ifndef SM_GATED_FAMILY_H
#define SM_GATED_FAMILY_H

#include "gated.h"

static const struct sm_dim dims[SM_GATED_DIMS] = {
    [SM_GATED_ROWS] = {"rows", 1, 1, 131072, "tokens"},
    [SM_GATED_COLS] = {"cols", 8192, 1, 1 << 20, "columns: the width of the MLP"},
};

/* Whole rows where there is one for each thread, else pieces of every row. */
static struct sm_part split(const struct sm_shape *shape, size_t threads, size_t i)
{
    const size_t rows = (size_t)shape->dim[SM_GATED_ROWS], cols = (size_t)shape->dim[SM_GATED_COLS];
    struct sm_part part = sm_part_whole(rows, cols);
    if (rows >= threads)
        sm_split_range(rows, 1, threads, i, &part.row_begin, &part.row_end);
    else
        sm_split_range(cols, SM_GATED_GRAIN, threads, i, &part.col_begin, &part.col_end);
    return part;
}

#endif
