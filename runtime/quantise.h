/* quantise.h - floats into the block formats that kernels multiply by, to nearest, as GGUF's reference does
 * (model-math: C.5): byte for byte. */
#ifndef SM_QUANTISE_H
#define SM_QUANTISE_H

#include <stddef.h>

#include "registry.h"

/* `count` floats, a whole number of blocks, into Q4_0, Q4_1 or Q8_0. They must be finite; a scale may still not fit a
 * half float, and sm_blocks_finite tells. */
void sm_quantise(void *to, enum sm_format format, const float *from, size_t count);

#endif
