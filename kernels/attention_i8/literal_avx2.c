/* Keys and values in integers; every column computed, hidden or not. */
#define SM_ATTENTION_KV 8
#define SM_ATTENTION_SKIP 0
#define SM_ATTENTION_MADD
#include "attention_i8/attention_i8.h"

#include "attention_avx2.h"

#include "attention_body.h"

void sm_attention_i8_literal_avx2(const void *args, struct sm_part part)
{
    attend(args, part);
}
