/* gated_silu.h - silu(gate) times up. The contract is gated.h. */
#ifndef SM_GATED_SILU_H
#define SM_GATED_SILU_H

#include "gated.h"

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_gated_silu_##name;
#include "gated_silu/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_gated_silu;

#endif
