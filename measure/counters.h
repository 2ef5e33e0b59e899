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
 * PAPI does not tell for what part of the time its counters ran: where others share them, the slope is too small,
 * PAPI's step is judged implausible, and the bare system call, which does tell, is used in its place.
 *
 * What does not fit into the PMU at once is counted in several passes of the same work, never by multiplexing.
 *
 * Order of use, for PAPI's sake:
 *     sm_counters_create       once, before any team: starts PAPI (3 ms), probes (some 10 ms), plans passes
 *     sm_counters_open         by each worker, inside the parallel region
 *     sm_counters_read twice   by the same worker, in the same region; the difference is the count
 *     sm_counters_close        by the same worker, in the same region
 * Nothing of PAPI runs before sm_counters_create. sm_counters_cost says what opening and reading take: keep
 * regions above 1 ms. counter_team.h does this for a team. */
#ifndef SM_COUNTERS_H
#define SM_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arguments.h"

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
    SM_COUNTER_SOFTWARE, /* getrusage, /proc, powercap */
    SM_COUNTER_STEPS,
};

/* One line of a group file: profiles/counters/README.md. Empty names: that step does not know this counter. */
struct sm_counter_def {
    char name[32]; /* as in records: "instructions" */
    char unit[16]; /* "1", "ns", "B" */
    char work[16]; /* the known work that it is judged by; empty: none */
    char preset[48];
    char generic[48];
    char bare[64];     /* "hardware:instructions", "cache:l1d-read-miss", "pmu:power/energy-pkg" */
    char software[24]; /* "rusage:faults" */
};

/* A formula of the counters above it, and of time (s), tokens, ops, line (bytes of a cache line). */
struct sm_counter_metric {
    char name[32];
    char unit[32];
    char formula[128];
};

#define SM_COUNTERS_MOST 8 /* of a group */
#define SM_COUNTER_GROUPS_MOST 16
#define SM_COUNTER_PASSES_MOST SM_COUNTERS_MOST

struct sm_counter_group {
    char name[32]; /* of the file, without .group */
    char summary[100];
    size_t count, metric_count;
    struct sm_counter_def defs[SM_COUNTERS_MOST];
    struct sm_counter_metric metrics[SM_COUNTERS_MOST];
};

/* Reads a file. -1 with a sentence that names file and line. */
int sm_counter_group_load(const char *path, struct sm_counter_group *group, char *why, size_t why_bytes);

/* Adds the groups that `name` means to groups[*count..most): a file of the counters' folder without .group, "all" of
 * them, a path with a slash to a file, or to a folder of such files. -1 with a sentence; the good ones of a folder are
 * added all the same. */
int sm_counter_groups_add(const char *name, struct sm_counter_group *groups, size_t most, size_t *count, char *why,
                          size_t why_bytes);

/* The groups of a list, as --counters takes it: "none" alone means none. groups: [SM_COUNTER_GROUPS_MOST]. */
int sm_counter_groups_named(const struct sm_strings *names, struct sm_counter_group *groups, size_t *count, char *why,
                            size_t why_bytes);

/* The folder of the groups: the environment's SLOTMARK_COUNTERS, else the one the program was built with. */
const char *sm_counter_folder(void);

/* What the probe found. */
struct sm_counter {
    const char *name, *unit;
    enum sm_counter_state state;
    enum sm_counter_step step; /* the step that speaks */
    bool machine;              /* it counts the whole machine, not a thread */
    size_t pass;               /* of the work, in which it is counted */
    char provider[160];        /* "papi PAPI_TOT_INS (INST_RETIRED:ANY_P)", "getrusage" */
    char why[160];             /* empty when usable */
};

/* Whether it has values: usable or multiplexed. */
bool sm_counter_counts(const struct sm_counter *counter);

/* What an administrator, or whoever runs this, could change so that it counts; "" where nothing is known. */
const char *sm_counter_remedy(const struct sm_counter *counter);

struct sm_counters;

/* Probes a group on the calling thread. masked: a bit for each step that may not be used (tests).
 * NULL: no memory. A group of which nothing counts is no error. */
struct sm_counters *sm_counters_create(const struct sm_counter_group *group, unsigned masked);
void sm_counters_destroy(struct sm_counters *counters); /* safe on NULL */
size_t sm_counters_count(const struct sm_counters *counters);
const struct sm_counter *sm_counters_at(const struct sm_counters *counters, size_t i);
const struct sm_counter_group *sm_counters_group(const struct sm_counters *counters);
/* Passes of the work that count it all; 0: nothing counts here. */
size_t sm_counters_passes(const struct sm_counters *counters);

/* How long a counter was wanted, and ran, in any unit; both 0 where it is not told. count: NAN, it does not count. */
struct sm_counter_value {
    double count, enabled, running;
};
struct sm_counter_reading {
    uint64_t ns; /* of sm_clock_ns */
    struct sm_counter_value at[SM_COUNTERS_MOST];
};

/* The calling thread's own counters of one pass, running; those of the machine only where `machine` says so, which one
 * thread of a team does. NULL: no memory. */
struct sm_counter_thread *sm_counters_open(const struct sm_counters *counters, size_t pass, bool machine);
/* Allocates nothing. */
void sm_counters_read(struct sm_counter_thread *thread, struct sm_counter_reading *reading);
void sm_counters_close(struct sm_counter_thread *thread);

#define SM_COUNTER_WHOLE 0.999 /* of the time: what ran for less was multiplexed */

/* The count between two reads, scaled up where it ran for a part of the time only: *share. */
double sm_counter_between(const struct sm_counter_value *before, const struct sm_counter_value *after, double *share);

/* What it costs to open and close the counters of a pass, and to read them: the least of a few tries, in ns. */
struct sm_counter_cost {
    double region_ns, read_ns;
};
int sm_counters_cost(const struct sm_counters *counters, size_t pass, struct sm_counter_cost *cost);

/* "PAPI 7.0.0", and why it counts nothing on this CPU where it says so. Starts PAPI. */
const char *sm_counters_papi(char *text, size_t bytes);

/* Whether the kernel shows a PMU at all, for messages; the probe alone decides. */
int sm_counters_pmu_visible(void);

#endif
