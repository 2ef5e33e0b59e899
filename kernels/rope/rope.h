/* rope.h - rotary position embedding of heads, half-split pairs, in place or not.
 *
 *     x'[i]       = x[i]       * cos[i] - x[i + H/2] * sin[i]
 *     x'[i + H/2] = x[i + H/2] * cos[i] + x[i]       * sin[i]      i in [0, H/2)
 *
 *   x         [rows][x_stride], row r holds [heads][head_dim]
 *   cos, sin  [rows][head_dim / 2]: the table rows of the absolute positions, which the host picks
 *   y         where the result goes, with its own stride; NULL: into x
 * A part is rows x heads.
 * The caller promises: head_dim even; y is x with the same stride, or does not overlap it.
 * Every variant promises |x' - exact| <= 2 * 2^-24 (|first product| + |second product|) + 2^-148. */
#ifndef SM_ROPE_H
#define SM_ROPE_H

#include "registry.h"

struct sm_rope {
    float *x;
    size_t x_stride;
    const float *cos, *sin;
    size_t rows, heads, head_dim;
    float *y;
    size_t y_stride;
};

enum { SM_ROPE_ROWS, SM_ROPE_HEADS, SM_ROPE_HEAD_DIM, SM_ROPE_DIMS };

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_rope_##name;
#include "rope/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_rope;

#endif
