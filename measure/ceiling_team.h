/* ceiling_team.h - a team at a loop that a ceiling is measured with: many short repetitions, the best one counts. */
#ifndef SM_CEILING_TEAM_H
#define SM_CEILING_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ceiling_kernels.h"
#include "machine.h"

/* A team at work: each worker has its share of the memory, or the same scheme. */
struct sm_ceiling_team {
    int threads;
    const struct sm_pin *pin; /* NULL: stay where the system puts us */
    char *memory;
    size_t share; /* bytes from one worker's memory to the next one's */
};

struct sm_ceiling_job {
    const struct sm_scheme *scheme; /* NULL: memory */
    enum sm_memory_kind kind;
    size_t offset, bytes; /* of each worker's memory, in one pass */
    size_t span;          /* 0: all passes there; or each repetition takes the next bytes of so many, round and round */
    uint64_t passes;
    int repetitions; /* one more is made, and dropped */
    bool own;        /* the workers share nothing that they need */
};

/* What a team's repetitions came to. */
struct sm_ceiling_seen {
    double ns;     /* of one in which all do it */
    double cycles; /* of a core's own clock; INFINITY: not own, or the clock is not known */
};

/* Best of the repetitions. A repetition takes as long as its slowest worker; where they share nothing, each has a best
 * of its own, and what is returned is the time in which a team of such workers does as much. The clock of a core is
 * seen right before and after each of its repetitions: a guest's moves by a tenth within a run. */
struct sm_ceiling_seen sm_ceiling_run(struct sm_ceiling_team *team, const struct sm_ceiling_job *job);

/* How many passes fill the time, by one worker alone: more until a tenth of it is seen. */
uint64_t sm_ceiling_passes(const struct sm_ceiling_team *team, struct sm_ceiling_job job, double want_ns);

#endif
