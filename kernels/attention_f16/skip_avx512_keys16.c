/* Vectors of sixteen floats, keys in blocks of 16; what the mask hides is left out where that is proven to change
 * nothing. */
#define SM_ATTENTION_KV 16
#define SM_ATTENTION_KEYS16
#define SM_ATTENTION_SKIP 1
#include "attention_f16/attention_f16.h"

#include "attention_avx512.h"

#include "attention_body.h"

void sm_attention_f16_skip_avx512_keys16(const void *args, struct sm_part part)
{
    attend(args, part);
}
