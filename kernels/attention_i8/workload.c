#define SM_ATTENTION_KV 8
#include "attention_i8/attention_i8.h"
#include "attention_workload_body.h"

const struct sm_workload sm_workload_attention_i8 = ATTENTION_WORKLOAD("attention_i8");
