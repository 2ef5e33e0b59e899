/* Vectors of sixteen floats, keys in integers; every column computed, hidden or not. */
#define SM_ATTENTION_KV 15
#define SM_ATTENTION_SKIP 0
#define SM_ATTENTION_VNNI
#include "attention_i16/attention_i16.h"

#include "attention_avx512.h"

#include "attention_body.h"

void sm_attention_i16_literal_avx512vnni(const void *args, struct sm_part part)
{
    attend(args, part);
}
