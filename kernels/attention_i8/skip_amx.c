/* Vectors of sixteen floats, keys and values in integers by tiles; what the mask hides is left out where that is proven
 * to change nothing. */
#define SM_ATTENTION_KV 8
#define SM_ATTENTION_SKIP 1
#define SM_ATTENTION_VNNI
#define SM_ATTENTION_AMX
#include "attention_i8/attention_i8.h"

#include "attention_avx512.h"

#include "attention_body.h"

void sm_attention_i8_skip_amx(const void *args, struct sm_part part)
{
    attend(args, part);
}
