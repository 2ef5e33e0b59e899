/* rope.h - rotary position embedding of heads, half-split pairs, in place.
 *
 *     x'[i]       = x[i]       * cos[i] - x[i + H/2] * sin[i]
 *     x'[i + H/2] = x[i + H/2] * cos[i] + x[i]       * sin[i]      i in [0, H/2)
 *
 *   x         [rows][x_stride], row r holds [heads][head_dim]
 *   cos, sin  [rows][head_dim / 2]: the table rows of the absolute positions, which the host picks
 * A part is rows x heads. */
#ifndef SM_ROPE_H
#define SM_ROPE_H

#include "registry.h"

struct sm_rope {
    float *x;
    size_t x_stride;
    const float *cos, *sin;
    size_t rows, heads, head_dim;
};

enum { SM_ROPE_ROWS, SM_ROPE_HEADS, SM_ROPE_HEAD_DIM, SM_ROPE_DIMS };

extern const struct sm_family sm_family_rope;

#endif
