/* counted.h - counters of a model's phases, a pass of the same work for each group.
 *
 * Groups are files of profiles/counters. A group is probed once; its counters are opened, read and closed by each
 * worker inside the parallel region of every call, and summed over the team. A group of which nothing counts on
 * this machine costs no pass: its counters are recorded without a value, each with its state and reason. */
#ifndef SM_COUNTED_H
#define SM_COUNTED_H

#include "counters.h"
#include "run.h"

struct sm_counted;

/* `name` is a file of the counters' folder, without .group. NULL and a sentence. */
struct sm_counted *sm_counted_create(const char *name, char *why, size_t why_bytes);
void sm_counted_destroy(struct sm_counted *counted); /* safe on NULL */

/* Whether a pass would count anything. */
bool sm_counted_worthwhile(const struct sm_counted *counted);

/* Forgets all counts and makes room for a team: 0, or -1: no memory. */
int sm_counted_reset(struct sm_counted *counted, size_t threads);

/* The hooks of a session that is counted. */
struct sm_run_hooks sm_counted_hooks(struct sm_counted *counted);

/* Adds the group's counters to a record: the mean of the phase's calls, summed over the team. */
void sm_counted_record(const struct sm_counted *counted, enum sm_phase phase, struct sm_record *record);

#endif
