/* timed.h - one case from operands to record: create, check, time, check again.
 *
 * The answer is checked in this process at this shape before and after timing, by the same OpenMP team that is
 * timed; a wrong answer or damage gives an error record without samples. Google Benchmark drives the loop. A call
 * of a team ends with a barrier inside the timed region; its threads exist before the clock starts.
 *
 * Variants of one family at one shape are timed in turns (sm_timed_turns), because they will be compared. */
#ifndef SM_TIMED_H
#define SM_TIMED_H

#include "arguments.h"
#include "cases.h"
#include "counters.h"
#include "gbench.h"
#include "rates.h"
#include "sweep.h"

struct sm_timed_options {
    double min_time; /* seconds of a repetition at least */
    double warm_up;  /* seconds */
    size_t repetitions;
    double limit; /* seconds that a case may run at a time before it counts as hanging; 0: a minute, or a hundred times
                     its estimate where that is more */
};

struct sm_timed_session {
    struct sm_timed_options options;
    struct sm_gbench *gbench;
    struct sm_rates *rates;           /* clock and ceilings; NULL: rates are left out */
    double null_ns[SM_TEAM_MOST + 1]; /* a call of a kernel that does nothing, by team; 0: not measured yet */
    struct sm_counters *counters[SM_COUNTER_GROUPS_MOST];
    size_t counter_count;                    /* groups of counters, each with passes of its own after the timing */
    double l2_bytes, l3_bytes, memory_bytes; /* NAN where the machine does not tell */
};

/* Reads the machine's sizes. The caller sets the rest. */
void sm_timed_session_init(struct sm_timed_session *session);

/* Probes the groups of counters that names means ("none": no group). -1: why. */
int sm_timed_session_count(struct sm_timed_session *session, const struct sm_strings *names, char *why,
                           size_t why_bytes);
/* Lets go of the counters. */
void sm_timed_session_end(struct sm_timed_session *session);

/* Measures the harness for teams of `threads`: a kernel that does nothing, through the same loop. */
int sm_timed_null(struct sm_timed_session *session, size_t threads, char *why, size_t why_bytes);

/* Runs the case and hands its record to results. For sm_cases_run. */
enum sm_case_outcome sm_timed_case(struct sm_timed_session *session, const struct sm_bench_case *c,
                                   struct sm_case_results *results, char *why, size_t why_bytes);

/* The record alone, for tests: the caller destroys it. NULL: why. */
struct sm_record *sm_timed_record(struct sm_timed_session *session, const struct sm_bench_case *c, char *why,
                                  size_t why_bytes);

/* Cases whose samples are taken in turns, a sample of each in random order, then the next: what happens to the machine
 * meanwhile happens to all of them, and samples of the same place in their lists belong together. records: [count], one
 * for each, the caller's. 0; 1: interrupted, no records; -1: why. */
#define SM_TURNS_MOST 64
int sm_timed_turns(struct sm_timed_session *session, const struct sm_bench_case *const *cases, size_t count,
                   struct sm_record **records, char *why, size_t why_bytes);

/* What the record of a case says of it before anything has run: names, shape, team, operations and bytes. */
void sm_timed_describe(struct sm_record *record, const struct sm_bench_case *c);

/* About how long the case takes, in seconds. */
double sm_timed_estimate(const struct sm_timed_options *options, const struct sm_bench_case *c);

#endif
