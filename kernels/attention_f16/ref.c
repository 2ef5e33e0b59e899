/* The definition, over half floats. */
#define SM_ATTENTION_KV 16
#include "attention_f16/attention_f16.h"
#include "attention_ref_body.h"

void sm_attention_f16_ref(const void *args, struct sm_part part)
{
    attention_ref(args, part);
}
