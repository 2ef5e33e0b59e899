/* The definition, over floats. */
#define SM_ATTENTION_KV 32
#include "attention_f32/attention_f32.h"
#include "attention_ref_body.h"

void sm_attention_f32_ref(const void *args, struct sm_part part)
{
    attention_ref(args, part);
}
