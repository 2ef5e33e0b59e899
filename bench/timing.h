/* timing.h - the timed part of a case: a team at its calls, through Google Benchmark, alone or in turns with others. */
#ifndef SM_TIMING_H
#define SM_TIMING_H

#include "instances.h"
#include "machine.h"
#include "timed.h"
#include "witness.h"

#define SM_SAMPLES_MOST 1000
#define SM_TRIALS_MOST 256 /* calls of the body before the first sample: warm-up, and the search for a count */

/* One case on its way. c, set and witnesses are the caller's, who begins and ends the witnesses. */
struct sm_timing {
    const struct sm_bench_case *c;
    const struct sm_instances *set;
    struct sm_witnesses *witnesses; /* of every call of the body, the last ones being the samples; may be NULL */
    struct sm_pin pin;
    bool pinned, astray;        /* a place is planned for each thread; one did not get it */
    bool in_turns;              /* another case had the caches before each sample */
    size_t next;                /* instance of the next call */
    double ns[SM_SAMPLES_MOST]; /* per call */
    double calls[SM_SAMPLES_MOST];
    size_t samples;
    char error[256];
};

/* Plans where its team runs. */
void sm_timing_place(struct sm_timing *t);

/* All repetitions, after a warm-up and a search for how many calls fill one. -1: why. */
int sm_timing_run(struct sm_timed_session *session, struct sm_timing *t, const char *name, char *why, size_t why_bytes);

/* How many calls fill a repetition, tried out; 0: OpenMP gave fewer threads than asked for. */
size_t sm_timing_calls(const struct sm_timed_session *session, const struct sm_timing *t);
/* One repetition of so many calls, its sample added to the others. -1: why. */
int sm_timing_turn(struct sm_timed_session *session, struct sm_timing *t, const char *name, size_t calls, char *why,
                   size_t why_bytes);

/* The same calls again in passes under each group of counters, and what they counted into the record. -1: no memory or
 * fewer threads. */
int sm_timing_count(const struct sm_timed_session *session, const struct sm_timing *t, struct sm_record *record);

double sm_timing_median(const struct sm_timing *t); /* ns; NAN: no sample */

#endif
