/* embedding_w8c.h - rows of an embedding table with a scale and zero point per row (quant.h, W8C). The contract is
 * embedding.h. */
#ifndef SM_EMBEDDING_W8C_H
#define SM_EMBEDDING_W8C_H

#include "embedding.h"

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_embedding_w8c_##name;
#include "embedding_w8c/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_embedding_w8c;

#endif
