/* counters.h - hardware and software counters, each believed only after it counted known work.
 *
 * A counter is tried in four steps: a PAPI preset, PAPI's generic perf:: name, the bare system call,
 * and what software knows (getrusage, the kernel's files). Each step is probed: opened, given work of three
 * sizes, and judged by the slope between them. The first step that counts is the one used, and named with
 * every value. A counter that no step can count has no value (NAN, null in records) and a state instead:
 *
 *   usable       counted known work right           denied       not permitted; says nothing about existence
 *   multiplexed  the same, part of the time         filtered     the system call is filtered or not built in
 *   busy         somebody else holds the counters   absent       no PMU, or no such event on it
 *   zero         opens and stays at zero            unmapped     nobody has a name for it on this CPU
 *   implausible  counts something else              unverified   opens, but no work is known to judge it by
 *
 * Order of use, for PAPI's sake:
 *     sm_counters_create       once, before any team: starts PAPI (3 ms) and probes (some 10 ms)
 *     sm_counters_open         by each worker, inside the parallel region
 *     sm_counters_read twice   by the same worker, in the same region; the difference is the count
 *     sm_counters_close        by the same worker, in the same region
 * Nothing of PAPI runs before sm_counters_create. A read costs 1 us or more: keep regions above 1 ms. */
#ifndef SM_COUNTERS_H
#define SM_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "record.h"

enum sm_counter_state {
    SM_COUNTER_USABLE, /* nearest to working first: of several steps the best one speaks */
    SM_COUNTER_MULTIPLEXED,
    SM_COUNTER_UNVERIFIED,
    SM_COUNTER_BUSY,
    SM_COUNTER_IMPLAUSIBLE,
    SM_COUNTER_ZERO,
    SM_COUNTER_DENIED,
    SM_COUNTER_FILTERED,
    SM_COUNTER_ABSENT,
    SM_COUNTER_UNMAPPED,
};
const char *sm_counter_state_name(enum sm_counter_state state);

enum sm_counter_step {
    SM_COUNTER_PRESET,   /* PAPI_TOT_INS */
    SM_COUNTER_GENERIC,  /* perf::INSTRUCTIONS, through PAPI */
    SM_COUNTER_BARE,     /* perf_event_open */
    SM_COUNTER_SOFTWARE, /* getrusage, /proc */
    SM_COUNTER_STEPS,
};

/* One line of a group file. Empty names: that step does not know this counter. */
struct sm_counter_def {
    char name[32]; /* as in records: "instructions" */
    char unit[8];  /* "1", "ns" */
    char work[16]; /* the known work that it is judged by; "-": none */
    char preset[48];
    char generic[48];
    char bare[40];     /* "hardware:instructions", "software:page-faults", "cache:l1d-read-miss" */
    char software[24]; /* "rusage:faults" */
};

#define SM_COUNTERS_MOST 8 /* of a group: what a PMU counts in one pass, and some software */

/* A group: the counters of one pass over the work. */
struct sm_counter_group {
    char name[32]; /* of the file, without .group */
    char summary[100];
    size_t count;
    struct sm_counter_def defs[SM_COUNTERS_MOST];
};

/* Reads profiles/counters/NAME.group. -1 with a sentence that names file and line. */
int sm_counter_group_load(const char *path, struct sm_counter_group *group, char *why, size_t why_bytes);

/* The folder of the groups: the environment's SLOTMARK_COUNTERS, else the one the program was built with. */
const char *sm_counter_folder(void);

/* What the probe found. */
struct sm_counter {
    const char *name, *unit;
    enum sm_counter_state state;
    enum sm_counter_step step; /* the step that speaks */
    char provider[160];        /* "papi PAPI_TOT_INS (INST_RETIRED:ANY_P)", "getrusage" */
    char why[160];             /* empty when usable */
};

struct sm_counters;

/* Probes a group on the calling thread. masked: a bit for each step that may not be used (tests).
 * NULL: no memory. A group of which nothing counts is no error. */
struct sm_counters *sm_counters_create(const struct sm_counter_group *group, unsigned masked);
void sm_counters_destroy(struct sm_counters *counters);
size_t sm_counters_count(const struct sm_counters *counters);
const struct sm_counter *sm_counters_at(const struct sm_counters *counters, size_t i);

/* The calling thread's own counters, running. NULL: no memory. */
struct sm_counter_thread *sm_counters_open(const struct sm_counters *counters);
/* One value for each counter since open; NAN: it does not count (on this thread). Allocates nothing. */
void sm_counters_read(struct sm_counter_thread *thread, double *values);
void sm_counters_close(struct sm_counter_thread *thread);

/* Adds every counter to a record, values being differences of two reads. scope: "thread 0", "team". */
void sm_counters_record(const struct sm_counters *counters, const double *values, const char *scope,
                        struct sm_record *record);

/* "PAPI 7.0.0", and why it counts nothing on this CPU where it says so. Starts PAPI. */
const char *sm_counters_papi(char *text, size_t bytes);

/* Whether the kernel shows a PMU at all, for messages; the probe alone decides. */
int sm_counters_pmu_visible(void);

#endif
