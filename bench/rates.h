/* rates.h - how fast a case was, and how near the machine's limit.
 *
 * The limits are measure's ceilings, and limit.h says which of them binds. L3 and DRAM are measured again beside each
 * cold case, and where a case was faster than one of them, since a neighbour holds them down for seconds. An impossible
 * rate is no result but an error. */
#ifndef SM_RATES_H
#define SM_RATES_H

#include "record.h"
#include "sweep.h"

#define SM_TEAM_MOST 256

struct sm_rates;

/* Nothing is measured yet. NULL: no memory. */
struct sm_rates *sm_rates_create(void);
void sm_rates_destroy(struct sm_rates *rates);

struct sm_share {
    double value; /* of the ceiling that binds; NAN: there is none. It counts hidden columns as done */
    bool impossible;
};

/* Measures the ceilings of the case's team, unless that is done already, and judges a call that took ns while
 * working_set bytes were touched over and over. Writes ceilings and binding_ceiling into the record. */
struct sm_share sm_rates_judge(struct sm_rates *rates, const struct sm_bench_case *c, double working_set, double ns,
                               double core_hz, struct sm_record *record);

#endif
