/* cache_write_i16.h - rows of keys or values into a cache of int16 with one scale a tensor. The contract is
 * cache_write.h. */
#ifndef SM_CACHE_WRITE_I16_H
#define SM_CACHE_WRITE_I16_H

#include "cache_write.h"

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_cache_write_i16_##name;
#include "cache_write_i16/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_cache_write_i16;

#endif
