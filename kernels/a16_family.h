/* a16_family.h - the axes and the split that quantise_a16 and requantise share. For their family files only. */
#ifndef SM_A16_FAMILY_H
#define SM_A16_FAMILY_H

#include "registry.h"

static const struct sm_layout layout_plain = {.name = "plain", .format = SM_FORMAT_NONE};

static const struct sm_dim dims[] = {
    {"rows", 1, 1, 131072, "activation rows: 1 in decode, the bucket in append"},
    {"cols", 2048, 1, 1 << 19, "values in a row"},
};

/* Whole rows: each has one sum. */
static struct sm_part split(const struct sm_shape *shape, size_t threads, size_t i)
{
    struct sm_part part = sm_part_whole((size_t)shape->dim[0], 1);
    sm_split_range(part.row_end, 1, threads, i, &part.row_begin, &part.row_end);
    return part;
}

#endif
