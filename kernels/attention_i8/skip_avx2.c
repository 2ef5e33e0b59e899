/* Keys and values in integers; what the mask hides is left out where that is proven to change nothing. */
#define SM_ATTENTION_KV 8
#define SM_ATTENTION_SKIP 1
#define SM_ATTENTION_MADD
#include "attention_i8/attention_i8.h"

#include "attention_avx2.h"

#include "attention_body.h"

void sm_attention_i8_skip_avx2(const void *args, struct sm_part part)
{
    attend(args, part);
}
