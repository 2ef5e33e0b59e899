/* Vectors of sixteen floats, keys in blocks of 16; every column computed, hidden or not. */
#define SM_ATTENTION_KV 32
#define SM_ATTENTION_KEYS16
#define SM_ATTENTION_SKIP 0
#include "attention_f32/attention_f32.h"

#include "attention_avx512.h"

#include "attention_body.h"

void sm_attention_f32_literal_avx512_keys16(const void *args, struct sm_part part)
{
    attend(args, part);
}
