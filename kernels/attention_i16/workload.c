#define SM_ATTENTION_KV 15
#include "attention_i16/attention_i16.h"
#include "attention_workload_body.h"

const struct sm_workload sm_workload_attention_i16 = ATTENTION_WORKLOAD("attention_i16");
