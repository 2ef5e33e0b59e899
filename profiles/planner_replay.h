/* planner_replay.h - sessions on the model itself with several sets: what was predicted of each turn, and what it took.
 *
 * A turn is taken in by the calls that were planned, each timed, then a few tokens are decoded; the rest of those it
 * generates go in untimed, since every set decodes alike. Threads keep their places, as where costs were measured, and
 * a session's cache is emptied before its first turn is timed. After each session calls of the cost table are made
 * again (planner_reference.h), to tell a wrong prediction from another machine than it was. All sets take the same
 * session before the next one begins, so that a change of the machine meets all of them, and their last logits are
 * compared. */
#ifndef SM_PLANNER_REPLAY_H
#define SM_PLANNER_REPLAY_H

#include <jansson.h>

#include "cases.h"
#include "machine.h"
#include "planner_reference.h"
#include "planner_show.h"
#include "weights.h"

#define PLANNER_REPLAY_SETS (1 + PLANNER_USUALS)
#define PLANNER_REPLAY_DECODES 5 /* of a turn, timed: their median is its decode */

struct planner_replay {
    const struct planner_study *study;
    const struct planner_facts *facts;
    const struct sm_weights *weights;
    const struct planner_choice *set[PLANNER_REPLAY_SETS]; /* the planned one first */
    struct sm_session *session[PLANNER_REPLAY_SETS];
    size_t sets;
    struct planner_reference reference;
    struct sm_pin pin;
    int32_t *tokens; /* [max_seq] */
    float *logits;   /* [vocab], of the first set's last turn */
    uint64_t *ended; /* [max_seq]: when the calls of a turn ended, clock_ns */
    size_t ended_count;
};

/* Sessions for the planned set and the usual ones that are not many times slower; and a first short turn for each. 0,
 * or -1 and a sentence. To be destroyed whatever comes back. */
int planner_replay_create(struct planner_replay *replay, const struct planner_study *study,
                          const struct planner_facts *facts, const struct sm_weights *weights, uint64_t seed, char *why,
                          size_t why_bytes);
void planner_replay_destroy(struct planner_replay *replay); /* safe on a zeroed struct */

/* Seconds that one session of the turns will take, roughly: its tokens at what a token costs each set on average. */
double planner_replay_estimate(const struct planner_study *study, size_t session);

/* One session: a record of each set. */
enum sm_case_outcome planner_replay_run(struct planner_replay *replay, size_t session, const char *case_id,
                                        struct sm_case_results *results, char *why, size_t why_bytes);

/* Of the records of a file, those of replays together: for each set
 * {"name","turns","sessions","ttft_ns","predicted_ttft_ns", "mean_ns","predicted_mean_ns","median_error",
 * "predicted_now_ns","speed"}: predicted_ttft_ns at the machine's speed of that time, and by what share calls of the
 * cost table took longer or less long then. A new reference. */
json_t *planner_replay_summary(const json_t *records);

/* The same of their calls, all sets together, by phase and rows: [{"phase","rows","calls","tokens","predicted_ns","ns",
 * "median_error"}], of a call on average; median_error with its sign. A new reference. */
json_t *planner_replay_calls(const json_t *records);

void planner_replay_text(const json_t *summary, const json_t *calls, FILE *out);

#endif
