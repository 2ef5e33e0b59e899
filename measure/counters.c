#include "counters.h"

#include <math.h>
#include <papi.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "counter_step.h"
#include "counters_internal.h"
#include "stimulus.h"

struct sm_counter_thread {
    const struct sm_counters *counters;
    int event_set;                                 /* of all that PAPI counts here; PAPI_NULL: none */
    int slot[SM_COUNTERS_MOST];                    /* place in the event set, -1: not there */
    struct sm_counter_bare bare[SM_COUNTERS_MOST]; /* of the bare system call, count 0: not there */
    int software[SM_COUNTERS_MOST];
    int slots;
};

const char *sm_counter_state_name(enum sm_counter_state state)
{
    static const char *const names[] = {"usable", "multiplexed", "unverified", "busy",   "implausible",
                                        "zero",   "denied",      "filtered",   "absent", "unmapped"};
    return names[state];
}

bool sm_counter_counts(const struct sm_counter *c)
{
    return c->state == SM_COUNTER_USABLE || c->state == SM_COUNTER_MULTIPLEXED;
}

/* Whether the counters of a pass all count at the same time, all of the time. Those that had to share when they were
 * alone need only count. */
static bool fits(const struct sm_counters *counters, size_t pass)
{
    struct sm_counter_reading before, after;
    bool all = true;
    struct sm_counter_thread *t = sm_counters_open(counters, pass, true);
    if (!t) return true; /* nothing can be told */
    sm_counters_read(t, &before);
    sm_stimulus_loop(300000); /* 0.3 ms: the kernel has had a turn */
    sm_counters_read(t, &after);
    sm_counters_close(t);
    for (size_t i = 0; i < counters->group.count && all; i++) {
        const struct sm_counter *c = &counters->found[i];
        double share;
        if (!sm_counter_counts(c) || c->pass != pass) continue;
        all = isfinite(sm_counter_between(&before.at[i], &after.at[i], &share)) &&
              (share >= SM_COUNTER_WHOLE || c->state == SM_COUNTER_MULTIPLEXED);
    }
    return all;
}

/* Each counter goes into the first pass that still holds when it is added. */
static void plan_passes(struct sm_counters *counters)
{
    for (size_t i = 0; i < counters->group.count; i++) counters->found[i].pass = SM_COUNTER_PASSES_MOST;
    for (size_t i = 0; i < counters->group.count; i++) {
        struct sm_counter *c = &counters->found[i];
        if (!sm_counter_counts(c)) continue;
        for (c->pass = 0; c->pass < counters->passes && !fits(counters, c->pass);) c->pass++;
        if (c->pass == counters->passes) counters->passes++;
    }
    for (size_t i = 0; i < counters->group.count; i++) /* whatever counts nothing stands with the first */
        if (counters->found[i].pass == SM_COUNTER_PASSES_MOST) counters->found[i].pass = 0;
}

struct sm_counters *sm_counters_create(const struct sm_counter_group *group, unsigned masked)
{
    struct sm_counters *counters = calloc(1, sizeof *counters);
    if (!counters) return NULL;
    counters->group = *group;
    for (size_t i = 0; i < group->count; i++) sm_counter_probe(&counters->group.defs[i], masked, &counters->found[i]);
    plan_passes(counters);
    return counters;
}

void sm_counters_destroy(struct sm_counters *counters)
{
    free(counters);
}

size_t sm_counters_count(const struct sm_counters *counters)
{
    return counters->group.count;
}

const struct sm_counter *sm_counters_at(const struct sm_counters *counters, size_t i)
{
    return i < counters->group.count ? &counters->found[i] : NULL;
}

const struct sm_counter_group *sm_counters_group(const struct sm_counters *counters)
{
    return &counters->group;
}

size_t sm_counters_passes(const struct sm_counters *counters)
{
    return counters->passes;
}

/* One event set a thread: PAPI runs only one at a time. An event that does not fit beside the others of its pass has
 * no value on this thread. */
static void add_to_set(struct sm_counter_thread *t, size_t i)
{
    const struct sm_counter *c = &t->counters->found[i];
    int code;
    if (t->event_set == PAPI_NULL) {
        PAPI_register_thread();
        if (PAPI_create_eventset(&t->event_set) != PAPI_OK) {
            t->event_set = PAPI_NULL;
            return;
        }
    }
    if (!sm_papi_code(sm_counter_papi_name(&t->counters->group.defs[i], c->step), &code) &&
        PAPI_add_event(t->event_set, code) == PAPI_OK)
        t->slot[i] = t->slots++;
}

struct sm_counter_thread *sm_counters_open(const struct sm_counters *counters, size_t pass, bool machine)
{
    struct sm_counter_thread *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->counters = counters;
    t->event_set = PAPI_NULL;
    for (size_t i = 0; i < SM_COUNTERS_MOST; i++) t->slot[i] = -1;
    for (size_t i = 0; i < counters->group.count; i++) {
        const struct sm_counter *c = &counters->found[i];
        if (!sm_counter_counts(c) || c->pass != pass || (c->machine && !machine)) continue;
        if (c->step == SM_COUNTER_BARE)
            sm_counter_bare_open(counters->group.defs[i].bare, &t->bare[i]);
        else if (c->step == SM_COUNTER_SOFTWARE)
            t->software[i] = 1;
        else
            add_to_set(t, i);
    }
    if (t->slots && PAPI_start(t->event_set) != PAPI_OK) t->slots = 0;
    return t;
}

void sm_counters_read(struct sm_counter_thread *t, struct sm_counter_reading *reading)
{
    long long papi[SM_COUNTERS_MOST];
    reading->ns = sm_clock_ns();
    const int papi_read = t->slots && PAPI_read(t->event_set, papi) == PAPI_OK;
    for (size_t i = 0; i < t->counters->group.count; i++) {
        struct sm_counter_value *v = &reading->at[i];
        *v = (struct sm_counter_value){.count = NAN};
        if (t->software[i]) {
            if (sm_counter_software_read(t->counters->group.defs[i].software, &v->count)) v->count = NAN;
        } else if (t->bare[i].count) {
            if (sm_counter_bare_read(&t->bare[i], v)) v->count = NAN;
        } else if (papi_read && t->slot[i] >= 0) {
            v->count = (double)papi[t->slot[i]];
        }
    }
}

double sm_counter_between(const struct sm_counter_value *before, const struct sm_counter_value *after, double *share)
{
    const double enabled = after->enabled - before->enabled, count = after->count - before->count;
    *share = enabled > 0 ? (after->running - before->running) / enabled : after->enabled > 0 ? 0 : 1;
    if (!(count >= 0) || !(*share > 0)) return NAN; /* what counts never goes back */
    return count / *share;
}

void sm_counters_close(struct sm_counter_thread *t)
{
    if (!t) return;
    if (t->event_set != PAPI_NULL) {
        long long papi[SM_COUNTERS_MOST];
        if (t->slots) PAPI_stop(t->event_set, papi);
        PAPI_cleanup_eventset(t->event_set);
        PAPI_destroy_eventset(&t->event_set);
        if (getpid() != (pid_t)gettid()) PAPI_unregister_thread(); /* the first thread is PAPI's own */
    }
    for (size_t i = 0; i < SM_COUNTERS_MOST; i++) sm_counter_bare_close(&t->bare[i]);
    free(t);
}

int sm_counters_cost(const struct sm_counters *counters, size_t pass, struct sm_counter_cost *cost)
{
    enum { TRIES = 15, READS = 20 };
    *cost = (struct sm_counter_cost){INFINITY, INFINITY};
    for (int i = 0; i < TRIES; i++) {
        struct sm_counter_reading reading;
        const uint64_t start = sm_clock_ns();
        struct sm_counter_thread *t = sm_counters_open(counters, pass, true);
        if (!t) return -1;
        const uint64_t open = sm_clock_ns();
        for (int r = 0; r < READS; r++) sm_counters_read(t, &reading);
        const uint64_t read = sm_clock_ns();
        sm_counters_close(t);
        const uint64_t closed = sm_clock_ns();
        cost->region_ns = fmin(cost->region_ns, (double)(closed - read + open - start));
        cost->read_ns = fmin(cost->read_ns, (double)(read - open) / READS);
    }
    return 0;
}
