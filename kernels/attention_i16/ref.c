/* The definition, over int16 with one scale a tensor. */
#define SM_ATTENTION_KV 15
#include "attention_i16/attention_i16.h"
#include "attention_ref_body.h"

void sm_attention_i16_ref(const void *args, struct sm_part part)
{
    attention_ref(args, part);
}
