/* embedding_family.h - the axes and the split that all embedding_* families share. For their family files only. */
#ifndef SM_EMBEDDING_FAMILY_H
#define SM_EMBEDDING_FAMILY_H

#include "embedding.h"

static const struct sm_dim dims[SM_EMBEDDING_DIMS] = {
    [SM_EMBEDDING_ROWS] = {"rows", 1, 1, 131072, "tokens"},
    [SM_EMBEDDING_COLS] = {"cols", 2048, 1, 1 << 20, "columns: the hidden size; a multiple of 32 for block formats"},
    [SM_EMBEDDING_VOCAB] = {"vocab", 32000, 1, 1 << 20, "rows of the table"},
};

static struct sm_part split(const struct sm_shape *shape, size_t threads, size_t i)
{
    struct sm_part part = sm_part_whole(0, (size_t)shape->dim[SM_EMBEDDING_COLS]);
    sm_split_range((size_t)shape->dim[SM_EMBEDDING_ROWS], 1, threads, i, &part.row_begin, &part.row_end);
    return part;
}

#endif
