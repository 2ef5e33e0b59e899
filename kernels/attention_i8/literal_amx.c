/* Vectors of sixteen floats, keys and values in integers by tiles; every column computed, hidden or not. */
#define SM_ATTENTION_KV 8
#define SM_ATTENTION_SKIP 0
#define SM_ATTENTION_VNNI
#define SM_ATTENTION_AMX
#include "attention_i8/attention_i8.h"

#include "attention_avx512.h"

#include "attention_body.h"

void sm_attention_i8_literal_amx(const void *args, struct sm_part part)
{
    attend(args, part);
}
