/* counted.h - counters of a model's phases, a pass of the same work for each group, or several where its counters do
 * not fit into the PMU at once.
 *
 * Groups are files of profiles/counters. A group is probed once; its counters are opened, read and closed by each
 * worker inside the parallel region of every call, and summed over the team. A group of which nothing counts on
 * this machine costs no pass: its counters are recorded without a value, each with its state and reason. */
#ifndef SM_COUNTED_H
#define SM_COUNTED_H

#include "counter_team.h"
#include "run.h"

struct sm_counted;

/* Probes a group. NULL: no memory. */
struct sm_counted *sm_counted_create(const struct sm_counter_group *group);
void sm_counted_destroy(struct sm_counted *counted); /* safe on NULL */

/* Passes of the work that it takes; 0: nothing counts here. */
size_t sm_counted_passes(const struct sm_counted *counted);

/* Forgets all counts and makes room for a team, whose calls are of `kinds` kinds: 0, or -1: no memory. */
int sm_counted_reset(struct sm_counted *counted, size_t threads, size_t kinds);

/* The hooks of a session that is counted in one pass: calls are added under their phase. */
struct sm_run_hooks sm_counted_hooks(struct sm_counted *counted, size_t pass);
/* From now on under this kind instead, each as so many calls: 1/n where n of them are counted together. */
void sm_counted_as(struct sm_counted *counted, size_t kind, double calls);

/* Adds the group's counters and metrics to a record: the mean of one `kind`'s calls, summed over the team. tokens: the
 * real ones of a call; NAN: their number varies. */
void sm_counted_record(const struct sm_counted *counted, size_t kind, double tokens, double ops,
                       struct sm_record *record);

#endif
