#include "counted.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One worker's counts, on cache lines of its own. */
struct worker {
    struct sm_counter_thread *open;
    double begin[SM_COUNTERS_MOST];
    double sum[SM_PHASES][SM_COUNTERS_MOST];
    size_t calls[SM_PHASES];
    char apart[64];
};

struct sm_counted {
    struct sm_counters *counters;
    struct worker *workers;
    size_t threads;
};

struct sm_counted *sm_counted_create(const char *name, char *why, size_t why_bytes)
{
    char path[4096];
    struct sm_counter_group group;
    struct sm_counted *c = calloc(1, sizeof *c);
    if (strchr(name, '/'))
        snprintf(path, sizeof path, "%s", name);
    else
        snprintf(path, sizeof path, "%s/%s.group", sm_counter_folder(), name);
    if (!c || sm_counter_group_load(path, &group, why, why_bytes)) {
        if (!c) snprintf(why, why_bytes, "there is no memory for the counters of '%s'", name);
        free(c);
        return NULL;
    }
    c->counters = sm_counters_create(&group, 0);
    if (c->counters) return c;
    snprintf(why, why_bytes, "there is no memory for the counters of '%s'", name);
    free(c);
    return NULL;
}

void sm_counted_destroy(struct sm_counted *c)
{
    if (!c) return;
    sm_counters_destroy(c->counters);
    free(c->workers);
    free(c);
}

static bool counts(const struct sm_counter *counter)
{
    return counter->state == SM_COUNTER_USABLE || counter->state == SM_COUNTER_MULTIPLEXED;
}

bool sm_counted_worthwhile(const struct sm_counted *c)
{
    for (size_t i = 0; i < sm_counters_count(c->counters); i++)
        if (counts(sm_counters_at(c->counters, i))) return true;
    return false;
}

int sm_counted_reset(struct sm_counted *c, size_t threads)
{
    free(c->workers);
    c->workers = calloc(threads, sizeof *c->workers);
    c->threads = c->workers ? threads : 0;
    return c->workers ? 0 : -1;
}

static void begin_call(void *state, enum sm_phase phase, size_t thread)
{
    struct sm_counted *c = state;
    struct worker *w = &c->workers[thread];
    (void)phase;
    w->open = sm_counters_open(c->counters);
    if (w->open) sm_counters_read(w->open, w->begin);
}

static void end_call(void *state, enum sm_phase phase, size_t thread)
{
    struct sm_counted *c = state;
    struct worker *w = &c->workers[thread];
    double end[SM_COUNTERS_MOST];
    if (!w->open) return;
    sm_counters_read(w->open, end);
    sm_counters_close(w->open);
    w->open = NULL;
    for (size_t i = 0; i < sm_counters_count(c->counters); i++) w->sum[phase][i] += end[i] - w->begin[i];
    w->calls[phase]++;
}

struct sm_run_hooks sm_counted_hooks(struct sm_counted *c)
{
    return (struct sm_run_hooks){.begin = begin_call, .end = end_call, .state = c};
}

void sm_counted_record(const struct sm_counted *c, enum sm_phase phase, struct sm_record *record)
{
    double values[SM_COUNTERS_MOST];
    for (size_t i = 0; i < SM_COUNTERS_MOST; i++) {
        values[i] = c->threads ? 0 : NAN;
        for (size_t t = 0; t < c->threads; t++) {
            const struct worker *w = &c->workers[t];
            values[i] += w->calls[phase] ? w->sum[phase][i] / (double)w->calls[phase] : NAN;
        }
    }
    sm_counters_record(c->counters, values, "team", record);
}
