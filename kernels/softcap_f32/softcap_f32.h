/* softcap_f32.h - logit softcapping: y = c * tanh(x / c), elementwise.
 *
 *   y, x  [rows][stride] floats; y may be x.    A part is rows x columns, cut at multiples of 32. */
#ifndef SM_SOFTCAP_F32_H
#define SM_SOFTCAP_F32_H

#include "registry.h"

struct sm_softcap_f32 {
    float *y;
    size_t y_stride;
    const float *x;
    size_t x_stride;
    size_t rows, cols;
    float cap; /* c > 0 */
};

enum { SM_SOFTCAP_F32_ROWS, SM_SOFTCAP_F32_COLS, SM_SOFTCAP_F32_DIMS };

extern const struct sm_family sm_family_softcap_f32;

#endif
