/* step_limits.h - how near the machine's limits the steps of a model are.
 *
 * A step's operations and bytes are those of its family's workload at the step's shape; limit.h says which ceiling
 * binds. Its weights, and the cache that a decode or append reads, are touched again only after all others: they come
 * from the level that holds the whole model. Steps of one label are added up, each by the least time that its ceiling
 * allows: the label's share is the sum of those by what was measured, and the ceiling named is the one that takes most
 * of it. */
#ifndef SM_STEP_LIMITS_H
#define SM_STEP_LIMITS_H

#include "limit.h"
#include "record.h"
#include "run.h"

/* `count` calls of a plan, whose steps were timed. */
struct sm_step_calls {
    const struct sm_plan *plan;
    double count;
};

/* Adds to the record's steps, which are there already, their "ops", "bytes", "ceiling", "share" and "why", where ns is
 * the mean of `runs` runs and the calls those of all runs. whole_bytes: of weights and cache, as a call reads them. */
void sm_step_limits_record(struct sm_record *record, const struct sm_step_calls *calls, size_t count, double runs,
                           double whole_bytes, size_t threads, double core_hz);

#endif
