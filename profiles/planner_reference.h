/* planner_reference.h - calls of the cost table, made again while sessions are replayed: how fast the machine is now,
 * against when costs were measured. Neighbours of a virtual machine change that by a third within seconds, and no model
 * of calls is to blame for it. */
#ifndef SM_PLANNER_REFERENCE_H
#define SM_PLANNER_REFERENCE_H

#include "planner_study.h"
#include "run.h"

/* A prefill, an append and a decode, as far as they were measured with all rows real and fit max_seq. */
struct planner_reference {
    const struct sm_cost_measured *point[SM_PHASES];
    size_t count;
    struct sm_session *session;
    const int32_t *tokens;
};

/* Those of each phase that take about as long as a planned turn's first token: they weigh what the turns weigh. */
void planner_reference_choose(struct planner_reference *reference, const struct planner_study *study);

/* A session for them, and each once. tokens: [max_seq]; like the state of the hooks, they must outlive it. 0, or -1 and
 * a sentence. */
int planner_reference_open(struct planner_reference *reference, const struct planner_study *study,
                           const struct sm_weights *weights, const struct sm_run_hooks *hooks, const int32_t *tokens,
                           char *why, size_t why_bytes);
void planner_reference_close(struct planner_reference *reference); /* safe on a zeroed struct */

/* All of them one after another; *ns: what they took together. 0, or -1 and a sentence. */
int planner_reference_run(struct planner_reference *reference, double *ns, char *why, size_t why_bytes);

/* What the table says that they take together. */
double planner_reference_ns(const struct planner_reference *reference);

#endif
