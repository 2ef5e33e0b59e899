/* cache_write_i8.h - rows of keys or values into a int8 with a scale a slot cache. The contract is cache_write.h. */
#ifndef SM_CACHE_WRITE_I8_H
#define SM_CACHE_WRITE_I8_H

#include "cache_write.h"

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_cache_write_i8_##name;
#include "cache_write_i8/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_cache_write_i8;

#endif
