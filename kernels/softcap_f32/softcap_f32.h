/* softcap_f32.h - logit softcapping: y = c * tanh(x / c), elementwise.
 *
 *   y, x  [rows][stride] floats; y may be x.    A part is rows x columns, cut at multiples of 32.
 *
 * The caller promises: 2^-60 <= c <= 2^60; no NaN.
 * Every variant promises |y| <= c, the sign of x, and |y - exact| <= 10 * 2^-24 |exact| + c * 2^-149: x / c may take
 * two roundings, whose effect tanh never magnifies, tanh is within 6 * 2^-24, the product is one more; the
 * second term is what x / c loses among the denormals. */
#ifndef SM_SOFTCAP_F32_H
#define SM_SOFTCAP_F32_H

#include "registry.h"

#define SM_SOFTCAP_F32_GRAIN 32

struct sm_softcap_f32 {
    float *y;
    size_t y_stride;
    const float *x;
    size_t x_stride;
    size_t rows, cols;
    float cap; /* c > 0 */
};

enum { SM_SOFTCAP_F32_ROWS, SM_SOFTCAP_F32_COLS, SM_SOFTCAP_F32_DIMS };

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_softcap_f32_##name;
#include "softcap_f32/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_softcap_f32;

#endif
