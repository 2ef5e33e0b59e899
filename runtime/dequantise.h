/* dequantise.h - the formats that model files store numbers in: their blocks, and the floats these mean.
 *
 * The value of an element is defined by GGUF's reference (model-math: C.5), in float arithmetic in the order it is
 * written there, so that every implementation has the same bits. Blocks may lie at any address. */
#ifndef SM_DEQUANTISE_H
#define SM_DEQUANTISE_H

#include <stdbool.h>
#include <stddef.h>

#include "registry.h"

/* Bytes of a row of `cols` elements; 0: the format is none of a file's, or its blocks do not fill such a row. */
size_t sm_row_bytes(enum sm_format format, size_t cols);

/* `count` elements, a whole number of blocks, as floats. Of W4C and W8C one row. */
void sm_dequantise(float *to, enum sm_format format, const void *from, size_t count);

/* Group `group` of the eight in a block of Q4_K: its values are step * n - low, n in 0..15. */
void sm_q4_k_group(const void *block, size_t group, float *step, float *low);

/* Whether all of them are finite, judged by their scales. A whole number of blocks, of W4C and W8C one row. */
bool sm_blocks_finite(enum sm_format format, const void *from, size_t count);

#endif
