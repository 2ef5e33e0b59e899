/* rates.h - how fast a case was, and how near the machine's limit.
 *
 * The limits are measure's ceilings; which of them can bind a case follows from its group and its variant's
 * instruction set. A rate above SM_RATE_IMPOSSIBLE times its ceiling is no result but an error. */
#ifndef SM_RATES_H
#define SM_RATES_H

#include "record.h"
#include "sweep.h"

#define SM_TEAM_MOST 256
#define SM_RATE_IMPOSSIBLE 1.05

struct sm_rates;

/* Nothing is measured yet. NULL: no memory. */
struct sm_rates *sm_rates_create(void);
void sm_rates_destroy(struct sm_rates *rates);

/* Measures what binds the case, unless it is measured already, and writes it into the record: ceilings, and
 * binding_ceiling for a call that took ns. *share is the rate's share of that ceiling, NAN when there is none. */
void sm_rates_judge(struct sm_rates *rates, const struct sm_bench_case *c, double ns, double core_hz,
                    struct sm_record *record, double *share);

#endif
