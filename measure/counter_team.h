/* counter_team.h - counts of a team over many calls, by kind of call, and their place in a record.
 *
 *     for each group, for (pass = 0; pass < sm_counters_passes(counters); pass++)    the same work again
 *         each worker: sm_counter_team_open; sm_counter_team_begin; ...calls...; sm_counter_team_end
 *
 * Values are the mean of a call, summed over the team; metrics are worked out from them. */
#ifndef SM_COUNTER_TEAM_H
#define SM_COUNTER_TEAM_H

#include "counters.h"
#include "record.h"

struct sm_counter_team;

/* Room for `threads` workers and `kinds` of calls. counters: borrowed. NULL: no memory. */
struct sm_counter_team *sm_counter_team_create(const struct sm_counters *counters, size_t threads, size_t kinds);
void sm_counter_team_destroy(struct sm_counter_team *team); /* safe on NULL */

/* By each worker inside the region: opens; reads (the count begins); reads again, closes, and adds `calls` calls. */
void sm_counter_team_open(struct sm_counter_team *team, size_t pass, size_t thread);
void sm_counter_team_begin(struct sm_counter_team *team, size_t thread);
void sm_counter_team_end(struct sm_counter_team *team, size_t thread, size_t kind, double calls);

/* What a call did, for formulas; NAN: it has no meaning here, and metrics of it are left out. */
struct sm_counter_work {
    double tokens, ops;
};

/* Adds the counters and metrics of one kind of calls to a record. Without a value where nothing was counted. */
void sm_counter_team_record(const struct sm_counter_team *team, size_t kind, const struct sm_counter_work *work,
                            struct sm_record *record);

#endif
