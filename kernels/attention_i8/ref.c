/* The definition, over int8 with one scale per slot. */
#define SM_ATTENTION_KV 8
#include "attention_i8/attention_i8.h"
#include "attention_ref_body.h"

void sm_attention_i8_ref(const void *args, struct sm_part part)
{
    attention_ref(args, part);
}
