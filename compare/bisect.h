/* bisect.h - the search for the commit that changed a kernel (comparison: 2.12); its comparisons are handed in, so that
 * it runs on builds and on replayed launches alike.
 *
 * Commits are numbered along a line, 0 good, the last one bad. Each step compares the good one with one near the middle
 * until the interval lies below or above half of the whole effect. A commit that cannot be judged (it does not build,
 * it answers wrong) gives way to its neighbours. What was found is measured afresh, from its parent; where that
 * explains less than half, both sides are searched for the other causes. */
#ifndef SM_BISECT_H
#define SM_BISECT_H

#include "pairing.h"

#define SM_CULPRITS_MOST 8

enum sm_bisect_answer { SM_BISECT_OK, SM_BISECT_UNUSABLE /* skip it */, SM_BISECT_STOP };

struct sm_bisect {
    size_t count; /* of commits, at least 2 */
    double floor; /* ln: smaller effects are none */
    /* Compares two commits until the interval lies beyond `limit` (ln) or within it. UNUSABLE and STOP: why says it. */
    enum sm_bisect_answer (*compare)(void *state, size_t base, size_t other, double limit, struct sm_comparison *to,
                                     char *why, size_t why_bytes);
    /* Told of each step; c is NULL for what was skipped, for the reason in `why`. NULL: nobody is. */
    void (*step)(void *state, size_t at, const struct sm_comparison *c, const char *why);
    void *state;
};

struct sm_culprit {
    size_t good, bad;  /* the change is in (good, bad]: more than one commit when those between cannot be judged */
    double effect, of; /* ln: measured afresh from good to bad; of the range that was searched */
};

struct sm_bisect_result {
    double effect; /* ln, of the whole line */
    struct sm_culprit culprit[SM_CULPRITS_MOST];
    size_t count; /* 0: the two ends do not differ */
    size_t comparisons;
    /* After STOP: the ranges that were not searched to their end; what else there is changed in (good, bad]. */
    struct sm_bisect_range {
        size_t good, bad;
    } left[SM_CULPRITS_MOST + 1];
    size_t left_count;
};

/* 0, or -1: a comparison said STOP, or an end cannot be judged; why is its sentence. */
int sm_bisect_search(const struct sm_bisect *bisect, struct sm_bisect_result *result, char *why, size_t why_bytes);

#endif
