/* gated.h - a gated activation of an MLP, in float: gated_silu and gated_gelu (tanh form).
 *
 *     y[r][c] = act(gate[r][c]) * up[r][c]
 *     silu(x) = x / (1 + exp(-x));   gelu(x) = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
 *
 * y may be gate or up. A part is rows x columns; columns are cut at multiples of 32.
 * Both are gate * up / (1 + exp(-u)), with u = x, or u = 2 sqrt(2/pi) (x + 0.044715 x^3): the tanh form, rearranged so
 * that nothing cancels at negative gates.
 * Every variant promises |y - exact| <= (8 + 8 |u|) * 2^-24 |exact| + 2^-100 |up| + 2^-149: exp is within 4 * 2^-24 of
 * what its exponent says, sum, quotient and product are three more, rounding u itself moves exp by up to
 * 6 * 2^-24 |u|; below u = -SM_GATED_NOTHING, where the activation is under 2^-101, it may be as little or 0. */
#ifndef SM_GATED_H
#define SM_GATED_H

#include "registry.h"

#define SM_GATED_GRAIN 32
#define SM_GATED_NOTHING 75.0f        /* 75 exp(-75) < 2^-101 */
#define SM_GELU_U1 1.5957691216057308 /* 2 sqrt(2/pi) */
#define SM_GELU_U3 0.044715
#define SM_GELU_T1 (-2.302208198144325) /* -u log2(e) = x (T1 + T3 x^2) */
#define SM_GELU_T3 (SM_GELU_T1 * SM_GELU_U3)
/* Gates whose |u| is beyond SM_GATED_NOTHING and short of where 2^(u log2 e) ends: 80 and 82.3. */
#define SM_SILU_LIMIT 80.0f
#define SM_GELU_LIMIT 9.8f

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
