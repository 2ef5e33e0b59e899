#include "counters.h"

#include <math.h>
#include <papi.h>
#include <stdlib.h>
#include <unistd.h>

#include "counter_step.h"
#include "counters_internal.h"

struct sm_counter_thread {
    const struct sm_counters *counters;
    int event_set;              /* of all that PAPI counts here; PAPI_NULL: none */
    int slot[SM_COUNTERS_MOST]; /* place in the event set, -1: not there */
    int fd[SM_COUNTERS_MOST];   /* of the bare system call, -1: not there */
    int slots;
};

const char *sm_counter_state_name(enum sm_counter_state state)
{
    static const char *const names[] = {"usable", "multiplexed", "unverified", "busy",   "implausible",
                                        "zero",   "denied",      "filtered",   "absent", "unmapped"};
    return names[state];
}

struct sm_counters *sm_counters_create(const struct sm_counter_group *group, unsigned masked)
{
    struct sm_counters *counters = calloc(1, sizeof *counters);
    if (!counters) return NULL;
    counters->group = *group;
    for (size_t i = 0; i < group->count; i++) sm_counter_probe(&counters->group.defs[i], masked, &counters->found[i]);
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

static int counts(const struct sm_counter *c)
{
    return c->state == SM_COUNTER_USABLE || c->state == SM_COUNTER_MULTIPLEXED;
}

/* One event set a thread: PAPI runs only one at a time. An event that does not fit beside the others has
 * no value on this thread; groups are small enough to be one pass. */
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

struct sm_counter_thread *sm_counters_open(const struct sm_counters *counters)
{
    struct sm_counter_thread *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->counters = counters;
    t->event_set = PAPI_NULL;
    for (size_t i = 0; i < SM_COUNTERS_MOST; i++) t->slot[i] = t->fd[i] = -1;
    for (size_t i = 0; i < counters->group.count; i++) {
        const struct sm_counter *c = &counters->found[i];
        if (!counts(c)) continue;
        if (c->step == SM_COUNTER_BARE)
            t->fd[i] = sm_counter_bare_open(counters->group.defs[i].bare);
        else if (c->step != SM_COUNTER_SOFTWARE)
            add_to_set(t, i);
    }
    if (t->slots && PAPI_start(t->event_set) != PAPI_OK) t->slots = 0;
    return t;
}

void sm_counters_read(struct sm_counter_thread *t, double *values)
{
    long long papi[SM_COUNTERS_MOST];
    const int papi_read = t->slots && PAPI_read(t->event_set, papi) == PAPI_OK;
    for (size_t i = 0; i < t->counters->group.count; i++) {
        const struct sm_counter *c = &t->counters->found[i];
        double share;
        values[i] = NAN;
        if (!counts(c)) continue;
        if (c->step == SM_COUNTER_SOFTWARE) {
            if (sm_counter_software_read(t->counters->group.defs[i].software, &values[i])) values[i] = NAN;
        } else if (t->fd[i] >= 0) {
            if (sm_counter_bare_read(t->fd[i], &values[i], &share) || share <= 0) values[i] = NAN;
        } else if (papi_read && t->slot[i] >= 0) {
            values[i] = (double)papi[t->slot[i]];
        }
    }
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
    for (size_t i = 0; i < SM_COUNTERS_MOST; i++)
        if (t->fd[i] >= 0) close(t->fd[i]);
    free(t);
}

void sm_counters_record(const struct sm_counters *counters, const double *values, const char *scope,
                        struct sm_record *record)
{
    for (size_t i = 0; i < counters->group.count; i++) {
        const struct sm_counter *c = &counters->found[i];
        sm_record_add_counter(record, c->name, values[i], c->unit, *c->provider ? c->provider : NULL,
                              sm_counter_state_name(c->state), *c->why ? c->why : NULL, scope);
    }
}
