/* attention_f16.h - attention over keys and values kept as half floats: attention.h is its contract. */
#ifndef SM_ATTENTION_F16_H
#define SM_ATTENTION_F16_H

#include "attention.h"

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_attention_f16_##name;
#include "attention_f16/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_attention_f16;

#endif
