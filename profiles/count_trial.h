/* count_trial.h - `profile --count`: what a model executes, phase by phase and step by step, to the instruction.
 *
 * The trial runs in a child under callgrind (measure/callgrind.h), in one thread that does the shares of a team one
 * after another: their sum is exact, whatever OpenMP does while it waits, and simulated caches are those of one core.
 * Only kernels are collected: each is entered through a jump that belongs to its step's label. The caches are as the
 * run before has left them: the prefill's after loading, the decoded tokens' after the prefill. */
#ifndef SM_COUNT_TRIAL_H
#define SM_COUNT_TRIAL_H

#include <jansson.h>

#include "callgrind.h"
#include "cpu.h"
#include "rows.h"
#include "trial.h"

/* What valgrind 3.19 can run. */
#define SM_COUNT_TRIAL_FEATURES SM_NEEDS_avx2

/* Native time to time under callgrind, for estimates. */
#define SM_COUNT_TRIAL_SLOWER 150

/* Counts it. `weights` are packed for SM_COUNT_TRIAL_FEATURES; `words`, beginning with "profile --counted N", make the
 * child build the same trial. records: prefill and decode (NULL where gen is 0), of kind "count". 0; 1 when interrupted
 * (no records); -1 and a sentence, with records that say it, or with none where there is no memory. */
int sm_count_trial_run(const struct sm_callgrind *tool, const struct sm_trial *trial, const struct sm_source *source,
                       const struct sm_weights *weights, const char *case_id, char *const *words, size_t word_count,
                       struct sm_record *records[2], char *why, size_t why_bytes);

/* The child's side: runs the trial, and ends its output with "counted N". 0, or -1 and a sentence. */
int sm_count_trial_child(const struct sm_trial *trial, const struct sm_weights *weights, size_t n, char *why,
                         size_t why_bytes);

/* records: a JSON array; those of kind "count" that have a phase are shown, step by step. */
void sm_count_trial_print(const json_t *records, enum sm_rows_format format, FILE *out);

#endif
