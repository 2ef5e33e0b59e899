/* replay.h - a thousand commits in seconds: trend and bisect on launches that nobody runs, judged by the very functions
 * that judge measured ones. The truth is known, so that what they find can be counted right or wrong. */
#ifndef SM_REPLAY_H
#define SM_REPLAY_H

#include <stddef.h>
#include <stdint.h>

struct sm_replay {
    /* The next launch of a kernel against itself: ln(B / A). From recorded ones, in their order, or drawn. */
    double (*launch)(void *state);
    void *state;
    uint64_t seed;
    double placement; /* ln: the deviation of what the placement of a build's code adds to all its launches */
};

/* Series of builds against an anchor, some with steps of 0.5 to 5 %; each build is recorded, steps are nominated, and
 * each nominated one is compared, as `record` and `trend --confirm` do. */
struct sm_replay_history {
    size_t series, commits; /* of each series */
    size_t planted;         /* steps, over all series */
    size_t found;           /* planted ones that a confirmed change spans */
    size_t nominated, nominated_falsely;
    size_t confirmed, confirmed_falsely; /* falsely: there is no step between the builds that were compared */
};
/* At most SM_SERIES_MOST commits. 0, or -1: out of memory. */
int sm_replay_history(const struct sm_replay *replay, size_t series, size_t commits, struct sm_replay_history *result);

/* Searches for one planted step among commits, of which a share does not build. */
struct sm_replay_bisect {
    size_t searches, commits;
    size_t right;       /* the step is what was found, with no commit beside it but unbuildable ones */
    size_t builds_half; /* median: the ends, the steps, and what did not build */
    size_t builds_most;
};
int sm_replay_bisect(const struct sm_replay *replay, size_t searches, size_t commits, double step, double unbuildable,
                     struct sm_replay_bisect *result);

/* A launch of a machine with neighbours: a deviation of 0.1 %, and one in 25 with ten times that. The state is a
 * struct sm_random. */
double sm_replay_drawn(void *random);

#endif
