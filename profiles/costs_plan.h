/* costs_plan.h - which rounds of which points run, under a budget, and in which order. */
#ifndef SM_COSTS_PLAN_H
#define SM_COSTS_PLAN_H

#include "costs_grid.h"
#include "source.h"

/* A case: a round of a point, or the steps of a session. */
struct costs_todo {
    const struct costs_point *point; /* of the steps: one of the session's */
    size_t round;
    bool steps;
    double seconds;
    bool taken; /* the budget pays for it */
};

struct costs_plan {
    struct costs_todo *todo; /* all of them */
    struct sm_cases *cases;  /* those to run; payloads point into todo */
};

/* Leaves out what options->resume has finished. Of the rest the budget pays for a first round of every point, the cheap
 * ones first, then for the steps, then for a second round, and so on; no single call may take more than an eighth of
 * it. Within a round points come in an order drawn from the seed, so that whatever drifts meets all of the grid. 0, or
 * -1 and a sentence. To be freed whatever comes back. */
int costs_plan_make(struct costs_plan *plan, const struct costs_grid *grid, const struct costs_options *options,
                    const struct sm_source *source, char *why, size_t why_bytes);
void costs_plan_free(struct costs_plan *plan);

#endif
