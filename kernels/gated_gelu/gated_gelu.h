/* gated_gelu.h - gelu(gate) times up, tanh form. The contract is gated.h. */
#ifndef SM_GATED_GELU_H
#define SM_GATED_GELU_H

#include "gated.h"

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_gated_gelu_##name;
#include "gated_gelu/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_gated_gelu;

#endif
