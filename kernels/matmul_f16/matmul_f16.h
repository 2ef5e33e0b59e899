/* matmul_f16.h - half float weights times float rows: what matmul_f32.h says, of the weights' values.
 *
 *   w   [out][in] half floats (quant.h) in the variant's layout, finite
 *
 * Each weight is widened without loss, so that an answer has the bits that the variant of the same instruction set of
 * matmul_f32 gives for the widened weights. */
#ifndef SM_MATMUL_F16_H
#define SM_MATMUL_F16_H

#include "matmul_f32/matmul_f32.h" /* its arguments, axes, grain and tile */

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_matmul_f16_##name;
#include "matmul_f16/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_matmul_f16;

#endif
