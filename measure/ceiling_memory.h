/* ceiling_memory.h - loops of ceiling_kernels.h at the levels of memory: working sets, ways, and the best of them. */
#ifndef SM_CEILING_MEMORY_H
#define SM_CEILING_MEMORY_H

#include <math.h>

#include "ceiling_team.h"
#include "ceilings.h"
#include "settle.h"

enum { SM_LEVEL_L1, SM_LEVEL_L2, SM_LEVEL_L3, SM_LEVEL_DRAM, SM_LEVELS };
enum { SM_LEVEL_SIZES = 3, SM_LEVEL_WAYS = 6, SM_CEILING_ROUNDS = 9 };

struct sm_ceiling_level {
    const char *name;
    size_t bytes[SM_LEVEL_SIZES]; /* of each worker; 0: no such size, or no such level, or nobody knows its size */
    const char *why;              /* there is no first one */
    bool own;                     /* of each core */
};

void sm_ceiling_levels(struct sm_ceiling_level level[SM_LEVELS], size_t threads, enum sm_ceilings_effort effort);

/* Ways to move bytes at one level: the best one counts. */
struct sm_ceiling_row {
    const struct sm_ceiling_level *level;
    size_t *at; /* memory: where in the set the next bytes are taken */
    enum sm_memory_kind ways[SM_LEVEL_WAYS];
    size_t count;
    bool counted; /* own: in cycles of a core */
    struct sm_settle settle;
    struct sm_ceiling *ceiling;
};

struct sm_ceiling_row sm_ceiling_row_of(const struct sm_ceiling_level *level, size_t *at, enum sm_memory_kind kind,
                                        bool beyond, struct sm_ceiling *ceiling);

/* One round. */
void sm_ceiling_row_measure(struct sm_ceiling_row *row, struct sm_ceiling_team *team, int round);

/* The team that a team's cores are compared with (settle.h): in a guest, which may believe that it has a core for each
 * while the host has put two of them on one, that of one thread. */
int sm_ceiling_peers(int threads);

/* Work a cycle of a core; a nanosecond where no clock is known. */
static inline double sm_ceiling_pace(double work, struct sm_ceiling_seen seen)
{
    return work / (isfinite(seen.cycles) ? seen.cycles : seen.ns);
}

#endif
