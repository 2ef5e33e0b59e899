/* witness.h - what else happened while samples were taken: the evidence that a time can be believed.
 *
 *     sm_witnesses_begin(w);
 *     for each sample: sm_witnesses_sample_begin(w); ...work...; sm_witnesses_sample_end(w, wall_ns);
 *     sm_witnesses_end(w);
 *     sm_record_set_json(record, "witnesses", sm_witnesses_json(w));
 *
 * Per sample: CPU time, involuntary switches, page faults, migrations (at least so many: the CPU at the
 * end was another than at the start), core clock before and after. Per series: stolen time, load average, and the core
 * clock again, measured longer. A sample's bookends cost about 0.2 ms outside the timed stretch. Flags, for people and
 * for filters:
 *
 *   preempted     a sample lost its CPU: wall time above 1.05 x CPU time, or an involuntary switch
 *   migrated      a sample ended on another CPU
 *   page_faults   a sample met page faults
 *   clock_drift   the core clock changed by more than 2 %, within a sample or over the series
 *   stolen        the hypervisor took time away
 *   busy_machine  the load average was above the number of CPUs
 *   unpinned      its threads were not held in their places, or one was not found there (the caller's to raise)
 *   short_sample  a sample was shorter than 1000 x the cost of reading the clock */
#ifndef SM_WITNESS_H
#define SM_WITNESS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum sm_witness_scope {
    SM_WITNESS_THREAD,  /* of the calling thread: for single-threaded work */
    SM_WITNESS_PROCESS, /* of all threads together: for teams; CPU time is their sum */
};

struct sm_witnesses;

/* Room for `samples` samples, so that nothing is allocated between them; NULL: no memory. */
struct sm_witnesses *sm_witnesses_create(size_t samples, enum sm_witness_scope scope);
void sm_witnesses_destroy(struct sm_witnesses *w);

void sm_witnesses_begin(struct sm_witnesses *w); /* forgets earlier samples; measures the core clock, 0.5 ms */
void sm_witnesses_sample_begin(struct sm_witnesses *w);
void sm_witnesses_sample_end(struct sm_witnesses *w, double wall_ns); /* of the sample just taken */
void sm_witnesses_end(struct sm_witnesses *w);

/* Forgets all but the last `samples` samples: the earlier ones were trials. */
void sm_witnesses_keep_last(struct sm_witnesses *w, size_t samples);

/* Core cycles per second: the median of all readings, before and after each sample and all of them (one reading alone
 * may have been disturbed); NAN: unknown. Times a sample's seconds, this is core_cycles_est. */
double sm_witnesses_core_hz(const struct sm_witnesses *w);

/* The "witnesses" object of a record, a new reference. */
json_t *sm_witnesses_json(const struct sm_witnesses *w);

#endif
