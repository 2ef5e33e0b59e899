#include "counter_team.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counter_formula.h"
#include "machine.h"

struct tally {
    double sum[SM_COUNTERS_MOST], share[SM_COUNTERS_MOST]; /* share: the least seen */
    double calls[SM_COUNTER_PASSES_MOST], ns[SM_COUNTER_PASSES_MOST];
};

/* One worker's counts, on cache lines of its own. */
struct worker {
    struct sm_counter_thread *open;
    size_t pass;
    struct sm_counter_reading begin;
    struct tally *kinds;
    char apart[64];
};

struct sm_counter_team {
    const struct sm_counters *counters;
    size_t threads;
    struct worker *workers;
    struct tally *tallies; /* [threads][kinds] */
};

struct sm_counter_team *sm_counter_team_create(const struct sm_counters *counters, size_t threads, size_t kinds)
{
    struct sm_counter_team *team = calloc(1, sizeof *team);
    if (!team) return NULL;
    team->counters = counters;
    team->threads = threads;
    team->workers = calloc(threads, sizeof *team->workers);
    team->tallies = calloc(threads * kinds, sizeof *team->tallies);
    if (!team->workers || !team->tallies) {
        sm_counter_team_destroy(team);
        return NULL;
    }
    for (size_t t = 0; t < threads; t++) team->workers[t].kinds = team->tallies + t * kinds;
    return team;
}

void sm_counter_team_destroy(struct sm_counter_team *team)
{
    if (!team) return;
    free(team->workers);
    free(team->tallies);
    free(team);
}

void sm_counter_team_open(struct sm_counter_team *team, size_t pass, size_t thread)
{
    struct worker *w = &team->workers[thread];
    w->pass = pass;
    w->open = sm_counters_open(team->counters, pass, thread == 0);
}

void sm_counter_team_begin(struct sm_counter_team *team, size_t thread)
{
    struct worker *w = &team->workers[thread];
    if (w->open) sm_counters_read(w->open, &w->begin);
}

void sm_counter_team_end(struct sm_counter_team *team, size_t thread, size_t kind, double calls)
{
    struct worker *w = &team->workers[thread];
    struct tally *tally = &w->kinds[kind];
    struct sm_counter_reading end;
    if (!w->open) return;
    sm_counters_read(w->open, &end);
    sm_counters_close(w->open);
    w->open = NULL;
    for (size_t i = 0; i < sm_counters_count(team->counters); i++) {
        const struct sm_counter *c = sm_counters_at(team->counters, i);
        double share;
        if (c->pass != w->pass || (c->machine && thread > 0)) continue;
        tally->sum[i] += sm_counter_between(&w->begin.at[i], &end.at[i], &share);
        if (!(tally->share[i] > 0) || share < tally->share[i]) tally->share[i] = share;
    }
    tally->calls[w->pass] += calls;
    tally->ns[w->pass] += (double)(end.ns - w->begin.ns);
}

/* One kind of calls, for formulas and for the record. */
struct result {
    const struct sm_counters *counters;
    double value[SM_COUNTERS_MOST], share[SM_COUNTERS_MOST], time; /* of a call; NAN: none */
    const struct sm_counter_work *work;
    const struct sm_counter *lacks, *part; /* the first counter of a formula that has no value; that is multiplexed */
    bool meaningless;                      /* the formula is of something that this call has not */
};

static struct result result_of(const struct sm_counter_team *team, size_t kind, const struct sm_counter_work *work)
{
    struct result r = {.counters = team->counters, .work = work, .time = 0};
    const size_t passes = sm_counters_passes(team->counters);
    for (size_t i = 0; i < SM_COUNTERS_MOST; i++) {
        const struct sm_counter *c = sm_counters_at(team->counters, i);
        r.value[i] = c && sm_counter_counts(c) ? 0 : NAN;
        r.share[i] = 1;
        for (size_t t = 0; c && t < (c->machine ? 1 : team->threads); t++) {
            const struct tally *tally = &team->workers[t].kinds[kind];
            r.value[i] += tally->calls[c->pass] > 0 ? tally->sum[i] / tally->calls[c->pass] : NAN;
            r.share[i] = fmin(r.share[i], tally->share[i]);
        }
    }
    for (size_t p = 0; p < passes; p++) { /* passes do the same work: the mean of their times */
        const struct tally *first = &team->workers[0].kinds[kind];
        r.time += 1e-9 * first->ns[p] / first->calls[p] / (double)passes;
    }
    if (!passes) r.time = NAN;
    return r;
}

/* What was usable when probed may have had to share later. */
static enum sm_counter_state state_of(const struct result *r, size_t i)
{
    const enum sm_counter_state probed = sm_counters_at(r->counters, i)->state;
    return probed == SM_COUNTER_USABLE && r->share[i] < SM_COUNTER_WHOLE ? SM_COUNTER_MULTIPLEXED : probed;
}

static bool variable(struct result *r, const char *name, double *value)
{
    if (!strcmp(name, "time"))
        *value = r->time;
    else if (!strcmp(name, "tokens"))
        *value = r->work->tokens;
    else if (!strcmp(name, "ops"))
        *value = r->work->ops;
    else if (!strcmp(name, "line"))
        *value = sm_machine()->line_bytes ? (double)sm_machine()->line_bytes : NAN;
    else
        return false;
    if (strcmp(name, "time") && isnan(*value)) r->meaningless = true;
    return true;
}

static bool named(void *context, const char *name, double *value)
{
    struct result *r = context;
    for (size_t i = 0; i < sm_counters_count(r->counters); i++) {
        const struct sm_counter *c = sm_counters_at(r->counters, i);
        if (strcmp(c->name, name)) continue;
        *value = r->value[i];
        if (!sm_counter_counts(c) && !r->lacks) r->lacks = c;
        if (state_of(r, i) == SM_COUNTER_MULTIPLEXED) r->part = c;
        return true;
    }
    return variable(r, name, value);
}

static void add_metric(struct result *r, const struct sm_counter_metric *m, struct sm_record *record)
{
    const char *wrong;
    char provider[160], why[160] = "";
    r->lacks = r->part = NULL;
    r->meaningless = false;
    const double value = sm_formula_value(m->formula, named, r, &wrong);
    if (r->meaningless) return;
    const enum sm_counter_state state = r->lacks  ? r->lacks->state
                                        : r->part ? SM_COUNTER_MULTIPLEXED
                                                  : SM_COUNTER_USABLE;
    snprintf(provider, sizeof provider, "= %s", m->formula);
    if (state != SM_COUNTER_USABLE)
        snprintf(why, sizeof why, "%s is %s", r->lacks ? r->lacks->name : r->part->name, sm_counter_state_name(state));
    sm_record_add_counter(record, m->name, value, m->unit, provider, sm_counter_state_name(state), *why ? why : NULL,
                          "team");
    sm_record_counter_put(record, "derived", json_true());
}

void sm_counter_team_record(const struct sm_counter_team *team, size_t kind, const struct sm_counter_work *work,
                            struct sm_record *record)
{
    struct result r = result_of(team, kind, work);
    for (size_t i = 0; i < sm_counters_count(team->counters); i++) {
        const struct sm_counter *c = sm_counters_at(team->counters, i);
        const enum sm_counter_state state = state_of(&r, i);
        sm_record_add_counter(record, c->name, r.value[i], c->unit, *c->provider ? c->provider : NULL,
                              sm_counter_state_name(state), *c->why ? c->why : NULL,
                              c->machine          ? "machine"
                              : team->threads > 1 ? "team"
                                                  : "thread 0");
        if (state == SM_COUNTER_MULTIPLEXED && r.share[i] > 0)
            sm_record_counter_put(record, "share", json_real(r.share[i]));
    }
    const struct sm_counter_group *group = sm_counters_group(team->counters);
    for (size_t m = 0; m < group->metric_count; m++) add_metric(&r, &group->metrics[m], record);
}
