#include "rates.h"

#include <math.h>
#include <stdlib.h>

struct sm_rates {
    int unused;
};

struct sm_rates *sm_rates_create(void)
{
    return calloc(1, sizeof(struct sm_rates));
}

void sm_rates_destroy(struct sm_rates *rates)
{
    free(rates);
}

void sm_rates_judge(struct sm_rates *rates, const struct sm_bench_case *c, double ns, double core_hz,
                    struct sm_record *record, double *share)
{
    (void)rates, (void)c, (void)ns, (void)core_hz, (void)record;
    *share = NAN;
}
