/* embedding_q4_1.h - rows of a Q4_1 embedding table. The contract is embedding.h. */
#ifndef SM_EMBEDDING_Q4_1_H
#define SM_EMBEDDING_Q4_1_H

#include "embedding.h"

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_embedding_q4_1_##name;
#include "embedding_q4_1/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_embedding_q4_1;

#endif
