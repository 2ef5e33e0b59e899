/* attention_i16.h - attention over keys and values kept as int16 with one scale a tensor: attention.h is its contract.
 */
#ifndef SM_ATTENTION_I16_H
#define SM_ATTENTION_I16_H

#include "attention.h"

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_attention_i16_##name;
#include "attention_i16/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_attention_i16;

#endif
