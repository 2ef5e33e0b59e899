/* embedding_f16.h - rows of a half-float embedding table. The contract is embedding.h. */
#ifndef SM_EMBEDDING_F16_H
#define SM_EMBEDDING_F16_H

#include "embedding.h"

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_embedding_f16_##name;
#include "embedding_f16/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_embedding_f16;

#endif
