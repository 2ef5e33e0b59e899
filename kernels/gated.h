/* gated.h - a gated activation of an MLP, in float: gated_silu and gated_gelu (tanh form).
 *
 *     y[r][c] = act(gate[r][c]) * up[r][c]
 *     silu(x) = x / (1 + exp(-x));   gelu(x) = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
 *
 * y may be gate or up. A part is rows x columns; columns are cut at multiples of 32. */
#ifndef SM_GATED_H
#define SM_GATED_H

#include "registry.h"

struct sm_gated {
    float *y;
    size_t y_stride;
    const float *gate;
    size_t gate_stride;
    const float *up;
    size_t up_stride;
    size_t rows, cols;
};

enum { SM_GATED_ROWS, SM_GATED_COLS, SM_GATED_DIMS };

#endif
