/* Vectors of sixteen floats; every column computed, hidden or not. */
#define SM_ATTENTION_KV 15
#define SM_ATTENTION_SKIP 0
#include "attention_i16/attention_i16.h"

#include "attention_avx512.h"

#include "attention_body.h"

void sm_attention_i16_literal_avx512(const void *args, struct sm_part part)
{
    attend(args, part);
}
