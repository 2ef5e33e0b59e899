/* softcap_argmax.h - softcapped logits and the greedy token in one pass: y = c * tanh(x / c), index of the largest.
 *
 * tanh is monotone, so the index is that of the largest x, the first of equals: no ties by saturation.
 *   y, x   [rows][stride] floats; y may be x
 *   index  [rows], overwritten.    A part is rows x all columns (its column range is ignored).
 * Promises on both sides as in softcap_f32.h. */
#ifndef SM_SOFTCAP_ARGMAX_H
#define SM_SOFTCAP_ARGMAX_H

#include "registry.h"

struct sm_softcap_argmax {
    float *y;
    size_t y_stride;
    int32_t *index;
    const float *x;
    size_t x_stride;
    size_t rows, cols;
    float cap; /* c > 0 */
};

enum { SM_SOFTCAP_ARGMAX_ROWS, SM_SOFTCAP_ARGMAX_COLS, SM_SOFTCAP_ARGMAX_DIMS };

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_softcap_argmax_##name;
#include "softcap_argmax/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_softcap_argmax;

#endif
