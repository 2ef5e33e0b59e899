#define SM_ATTENTION_KV 32
#include "attention_f32/attention_f32.h"
#include "attention_workload_body.h"

const struct sm_workload sm_workload_attention_f32 = ATTENTION_WORKLOAD("attention_f32");
