#define SM_ATTENTION_KV 16
#include "attention_f16/attention_f16.h"
#include "attention_workload_body.h"

const struct sm_workload sm_workload_attention_f16 = ATTENTION_WORKLOAD("attention_f16");
