/* attention_i8.h - attention over keys and values kept as int8 with one scale per slot: attention.h is its contract. */
#ifndef SM_ATTENTION_I8_H
#define SM_ATTENTION_I8_H

#include "attention.h"

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_attention_i8_##name;
#include "attention_i8/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_attention_i8;

#endif
