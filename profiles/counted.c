#include "counted.h"

#include <stdlib.h>

#define BY_PHASE SIZE_MAX

struct sm_counted {
    struct sm_counters *counters;
    struct sm_counter_team *team;
    size_t pass, kind;
    double calls; /* that one call counts for */
};

struct sm_counted *sm_counted_create(const struct sm_counter_group *group)
{
    struct sm_counted *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->counters = sm_counters_create(group, 0);
    if (c->counters && !sm_counted_reset(c, 1, SM_PHASES)) return c;
    sm_counted_destroy(c);
    return NULL;
}

void sm_counted_destroy(struct sm_counted *c)
{
    if (!c) return;
    sm_counter_team_destroy(c->team);
    sm_counters_destroy(c->counters);
    free(c);
}

size_t sm_counted_passes(const struct sm_counted *c)
{
    return sm_counters_passes(c->counters);
}

int sm_counted_reset(struct sm_counted *c, size_t threads, size_t kinds)
{
    struct sm_counter_team *team = sm_counter_team_create(c->counters, threads, kinds);
    if (!team) return -1;
    sm_counter_team_destroy(c->team);
    c->team = team;
    c->kind = BY_PHASE;
    c->calls = 1;
    return 0;
}

static void begin_call(void *state, enum sm_phase phase, size_t thread)
{
    struct sm_counted *c = state;
    (void)phase;
    sm_counter_team_open(c->team, c->pass, thread);
    sm_counter_team_begin(c->team, thread);
}

static void end_call(void *state, enum sm_phase phase, size_t thread)
{
    struct sm_counted *c = state;
    sm_counter_team_end(c->team, thread, c->kind == BY_PHASE ? (size_t)phase : c->kind, c->calls);
}

struct sm_run_hooks sm_counted_hooks(struct sm_counted *c, size_t pass)
{
    c->pass = pass;
    return (struct sm_run_hooks){.begin = begin_call, .end = end_call, .state = c};
}

void sm_counted_as(struct sm_counted *c, size_t kind, double calls)
{
    c->kind = kind;
    c->calls = calls;
}

void sm_counted_record(const struct sm_counted *c, size_t kind, double tokens, double ops, struct sm_record *record)
{
    sm_counter_team_record(c->team, kind, &(struct sm_counter_work){tokens, ops}, record);
}
