/* cache_write_f32.h - rows of keys or values into a float cache. The contract is cache_write.h. */
#ifndef SM_CACHE_WRITE_F32_H
#define SM_CACHE_WRITE_F32_H

#include "cache_write.h"

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_cache_write_f32_##name;
#include "cache_write_f32/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_cache_write_f32;

#endif
