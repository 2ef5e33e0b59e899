/* embedding_q8_0.h - rows of a Q8_0 embedding table. The contract is embedding.h. */
#ifndef SM_EMBEDDING_Q8_0_H
#define SM_EMBEDDING_Q8_0_H

#include "embedding.h"

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_embedding_q8_0_##name;
#include "embedding_q8_0/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_embedding_q8_0;

#endif
