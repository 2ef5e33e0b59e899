/* bench_counters.h - what the counters of a run's records counted, or why they did not. */
#ifndef SM_BENCH_COUNTERS_H
#define SM_BENCH_COUNTERS_H

#include <jansson.h>
#include <stdio.h>

/* A table of the cases that have a value, and a line for each state and reason of those that have none. */
void sm_bench_counters_print(json_t *records, FILE *out);

/* "instructions=usable:1234;cycles=absent": for a cell. */
const char *sm_bench_counters_text(const json_t *record, char *text, size_t bytes);

#endif
