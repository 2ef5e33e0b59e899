/* counters_internal.h - shared by the probe and the per-thread counters. */
#ifndef SM_COUNTERS_INTERNAL_H
#define SM_COUNTERS_INTERNAL_H

#include "counters.h"

struct sm_counters {
    struct sm_counter_group group;
    struct sm_counter found[SM_COUNTERS_MOST];
    size_t passes;
};

/* Starts PAPI with thread support, once. 0, or -1 with a sentence. */
int sm_papi_start(char *why, size_t why_bytes);

/* The event's code, if PAPI maps the name on this CPU. 0, or -1. */
int sm_papi_code(const char *name, int *code);

/* The name that PAPI is asked for in this step. */
const char *sm_counter_papi_name(const struct sm_counter_def *def, enum sm_counter_step step);

/* What the probe found for one counter. */
void sm_counter_probe(const struct sm_counter_def *def, unsigned masked, struct sm_counter *found);

#endif
