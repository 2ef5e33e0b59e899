/* embedding_f32.h - rows of a float embedding table. The contract is embedding.h. */
#ifndef SM_EMBEDDING_F32_H
#define SM_EMBEDDING_F32_H

#include "embedding.h"

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_embedding_f32_##name;
#include "embedding_f32/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_embedding_f32;

#endif
