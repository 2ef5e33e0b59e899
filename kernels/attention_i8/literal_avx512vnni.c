/* Vectors of sixteen floats, keys and values in integers; every column computed, hidden or not. */
#define SM_ATTENTION_KV 8
#define SM_ATTENTION_SKIP 0
#define SM_ATTENTION_VNNI
#include "attention_i8/attention_i8.h"

#include "attention_avx512.h"

#include "attention_body.h"

void sm_attention_i8_literal_avx512vnni(const void *args, struct sm_part part)
{
    attend(args, part);
}
