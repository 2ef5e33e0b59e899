/* ref_scale.h - the scale of one slot, for the references of all layouts: what cache_write.h says of i8. */
#ifndef SM_CACHE_WRITE_I8_REF_SCALE_H
#define SM_CACHE_WRITE_I8_REF_SCALE_H

#include <math.h>

#include "cache_write_i8/cache_write_i8.h"

/* Writes the scale of row i of KV head g, which lies at x, and returns what its elements are multiplied by. */
static inline float sm_cache_write_i8_scale(const struct sm_cache_write *a, const float *x, size_t i, size_t g)
{
    float largest = 0;
    for (size_t c = 0; c < a->head_dim; c++) largest = fmaxf(largest, fabsf(x[c]));
    if (largest < SM_CACHE_WRITE_LEAST) largest = 0;
    a->scale[g * a->scale_stride + a->slot + i] = largest / 127;
    return largest > 0 ? 127 / largest : 0;
}

#endif
