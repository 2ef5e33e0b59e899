/* cache_write_family.h - the axes and the split that all cache_write_* families share. For their family files only. */
#ifndef SM_CACHE_WRITE_FAMILY_H
#define SM_CACHE_WRITE_FAMILY_H

#include "cache_write.h"

static const struct sm_dim dims[SM_CACHE_WRITE_DIMS] = {
    [SM_CACHE_WRITE_ROWS] = {"rows", 1, 1, 131071, "tokens written: 1 in decode, T in append, n in prefill"},
    [SM_CACHE_WRITE_MAX_SEQ] = {"max_seq", 1024, 2, 131072, "columns of attention; the cache has one slot less"},
    [SM_CACHE_WRITE_HEAD_DIM] = {"head_dim", 64, 1, 1024, "elements of a head"},
    [SM_CACHE_WRITE_KV_HEADS] = {"kv_heads", 8, 1, 256, "key and value heads"},
    [SM_CACHE_WRITE_VALID] = {"valid", -1, -1, 131071, "the first slot written; -1: as late as the rows fit"},
};

/* Rows where every thread gets some cache lines of slots, else heads. */
static struct sm_part split(const struct sm_shape *shape, size_t threads, size_t i)
{
    const size_t rows = (size_t)shape->dim[SM_CACHE_WRITE_ROWS], heads = (size_t)shape->dim[SM_CACHE_WRITE_KV_HEADS];
    struct sm_part part = sm_part_whole(rows, heads);
    if (rows >= threads * SM_CACHE_WRITE_GRAIN)
        sm_split_range(rows, SM_CACHE_WRITE_GRAIN, threads, i, &part.row_begin, &part.row_end);
    else
        sm_split_range(heads, 1, threads, i, &part.col_begin, &part.col_end);
    return part;
}

#endif
