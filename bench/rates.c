#include "rates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ceilings.h"
#include "limit.h"
#include "ridge.h"

#define REPEATS_MOST 2 /* of all ceilings, in a run */
#define AGAIN_MOST 3   /* of those of far memory, beside a case */

struct team {
    struct sm_ceilings *ceilings; /* NULL: not measured, or not measurable */
    bool asked;
    int repeats;
};

struct sm_rates {
    struct team team[SM_TEAM_MOST + 1];
};

struct sm_rates *sm_rates_create(void)
{
    return calloc(1, sizeof(struct sm_rates));
}

void sm_rates_destroy(struct sm_rates *rates)
{
    for (size_t t = 0; rates && t <= SM_TEAM_MOST; t++) free(rates->team[t].ceilings);
    free(rates);
}

/* ops and bytes count every column of a static shape; where a mask hides some, a variant may leave them out. */
static bool may_leave_out(const struct sm_bench_case *c)
{
    if (strcmp(c->family->group, "attention")) return false;
    static const struct {
        const char *axis;
        int64_t all; /* the value that hides nothing */
    } axes[] = {{"rows", 1}, {"valid", -1}, {"window", 0}};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        const int axis = sm_dim_index(c->family, axes[i].axis);
        if (axis >= 0 && c->shape.dim[axis] != axes[i].all) return true;
    }
    return false;
}

static struct sm_ceilings *ceilings_of(struct team *team, int threads)
{
    if (team->asked) return team->ceilings;
    team->asked = true;
    const struct sm_ceilings *measured = sm_ceilings(threads);
    team->ceilings = measured ? malloc(sizeof *measured) : NULL;
    if (team->ceilings) *team->ceilings = *measured;
    return team->ceilings;
}

/* Measures again and keeps the higher of each. False: that was done often enough, or cannot be done. */
static bool raise_ceilings(struct team *team, int threads)
{
    char why[256];
    struct sm_ceilings *again = malloc(sizeof *again);
    bool done = false;
    if (again && team->repeats++ < REPEATS_MOST &&
        !sm_ceilings_measure(again, threads, SM_CEILINGS_QUICK, why, sizeof why)) {
        sm_ceilings_best(team->ceilings, again);
        done = true;
    }
    free(again);
    return done;
}

/* The same of L3 and DRAM alone. */
static bool raise_far_ceilings(struct sm_ceilings *ceilings)
{
    char why[256];
    struct sm_ceilings *again = malloc(sizeof *again);
    bool done = false;
    if (again) {
        *again = *ceilings;
        done = !sm_ceilings_refresh(again, why, sizeof why);
        if (done) sm_ceilings_best(ceilings, again);
    }
    free(again);
    return done;
}

static bool is_far(const char *ceiling)
{
    return !strncmp(ceiling, "l3_", 3) || !strncmp(ceiling, "dram_", 5);
}

static double axis_of(const struct sm_bench_case *c, const char *name)
{
    const int axis = sm_dim_index(c->family, name);
    return axis >= 0 ? (double)c->shape.dim[axis] : 0;
}

static struct sm_limit judge(const struct sm_ceilings *ceilings, const struct sm_bench_case *c,
                             const struct sm_limited_call *call, struct sm_record *record)
{
    const struct sm_limit limit = sm_limit_of(ceilings, call, record);
    if (*limit.name) sm_record_set_string(record, "binding_ceiling", limit.name);
    if (*limit.scheme) sm_ridge_record(record, c, ceilings, limit.scheme, call->core_hz);
    return limit;
}

struct sm_share sm_rates_judge(struct sm_rates *rates, const struct sm_bench_case *c, double working_set, double ns,
                               double core_hz, struct sm_record *record)
{
    const struct sm_limited_call call = {.family = c->family->name,
                                         .group = c->family->group,
                                         .isa = c->variant->isa,
                                         .ops_unit = c->workload->ops_unit,
                                         .ops = c->workload->ops(&c->shape),
                                         .bytes = c->workload->bytes(&c->shape),
                                         .head_dim = axis_of(c, "head_dim"),
                                         .capped = axis_of(c, "softcap") != 0,
                                         .leaves_out = may_leave_out(c),
                                         .threads = (int)c->threads,
                                         .ns = ns,
                                         .core_hz = core_hz,
                                         .working_set = working_set};
    struct team *team = &rates->team[c->threads];
    struct sm_ceilings *ceilings = ceilings_of(team, (int)c->threads);
    if (!ceilings) return (struct sm_share){NAN, false};
    char why[256];
    if (c->cold) sm_ceilings_refresh(ceilings, why, sizeof why); /* else those of this run's beginning remain */
    struct sm_limit limit = judge(ceilings, c, &call, record);
    /* a neighbour may have held the ceilings down while they were measured: ask again before showing more than there
       is, and before crying foul */
    for (int i = 0; i < AGAIN_MOST && !call.leaves_out && limit.share > SM_LIMIT_IMPOSSIBLE && is_far(limit.name);
         i++) {
        if (!raise_far_ceilings(ceilings)) break;
        limit = judge(ceilings, c, &call, record);
    }
    while (limit.impossible && raise_ceilings(team, (int)c->threads)) limit = judge(ceilings, c, &call, record);
    return (struct sm_share){limit.share, limit.impossible};
}
