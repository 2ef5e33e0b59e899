/* attention_f32.h - attention over keys and values kept as floats: attention.h is its contract. */
#ifndef SM_ATTENTION_F32_H
#define SM_ATTENTION_F32_H

#include "attention.h"

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_attention_f32_##name;
#include "attention_f32/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_attention_f32;

#endif
