/* matmul_w8c_a16.h - 8-bit weights per output channel times int16 rows: matmul_channel.h. */
#ifndef SM_MATMUL_W8C_A16_H
#define SM_MATMUL_W8C_A16_H

#include "matmul_channel.h"

#define SM_VARIANT(name, isa, layout, bet) sm_kernel_fn sm_matmul_w8c_a16_##name;
#include "matmul_w8c_a16/variants.def"
#undef SM_VARIANT

extern const struct sm_family sm_family_matmul_w8c_a16;

#endif
