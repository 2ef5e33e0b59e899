/* The probe: nothing is believed because a list says so, nor because opening succeeded. */
#include <errno.h>
#include <math.h>
#include <papi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "counter_step.h"
#include "counters_internal.h"
#include "stimulus.h"

static int papi_ready;
static char papi_why[160];

static unsigned long thread_id(void)
{
    return (unsigned long)syscall(SYS_gettid);
}

static void start_papi(void)
{
    const int version = PAPI_library_init(PAPI_VER_CURRENT);
    const int threads = version == PAPI_VER_CURRENT ? PAPI_thread_init(thread_id) : PAPI_OK;
    if (version != PAPI_VER_CURRENT)
        snprintf(papi_why, sizeof papi_why, "PAPI does not start (%d)", version);
    else if (threads != PAPI_OK)
        snprintf(papi_why, sizeof papi_why, "PAPI without threads: %s", PAPI_strerror(threads));
    else
        papi_ready = 1;
}

int sm_papi_start(char *why, size_t why_bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_papi);
    if (!papi_ready) snprintf(why, why_bytes, "%s", papi_why);
    return papi_ready ? 0 : -1;
}

const char *sm_counters_papi(char *text, size_t bytes)
{
    char why[160];
    int n = snprintf(text, bytes, "PAPI %d.%d.%d", PAPI_VERSION_MAJOR(PAPI_VERSION), PAPI_VERSION_MINOR(PAPI_VERSION),
                     PAPI_VERSION_REVISION(PAPI_VERSION));
    if (sm_papi_start(why, sizeof why)) {
        snprintf(text + n, bytes - (size_t)n, ": %s", why);
        return text;
    }
    for (int i = 0; i < PAPI_num_components(); i++) {
        const PAPI_component_info_t *c = PAPI_get_component_info(i);
        if (c && !strcmp(c->name, "perf_event") && c->disabled)
            snprintf(text + n, bytes - (size_t)n, ": off on this CPU (%.80s)", c->disabled_reason);
    }
    return text;
}

/* Naming and querying succeed for presets that this CPU does not map; only both together say "mapped". */
int sm_papi_code(const char *name, int *code)
{
    return PAPI_event_name_to_code(name, code) == PAPI_OK && PAPI_query_event(*code) == PAPI_OK ? 0 : -1;
}

const char *sm_counter_papi_name(const struct sm_counter_def *def, enum sm_counter_step step)
{
    return step == SM_COUNTER_PRESET ? def->preset : def->generic;
}

int sm_counters_pmu_visible(void)
{
    return !access("/sys/bus/event_source/devices/cpu", F_OK) ||
           !access("/sys/bus/event_source/devices/cpu_core", F_OK) ||
           !access("/sys/bus/event_source/devices/armv8_pmuv3_0", F_OK);
}

/* One counter open on this thread, through one of the steps. */
struct source {
    enum sm_counter_step step;
    const struct sm_counter_def *def;
    int event_set; /* PAPI */
    struct sm_counter_bare bare;
};

static int read_source(const struct source *s, struct sm_counter_value *value)
{
    long long count;
    *value = (struct sm_counter_value){0};
    switch (s->step) {
    case SM_COUNTER_BARE: return sm_counter_bare_read(&s->bare, value);
    case SM_COUNTER_SOFTWARE: return sm_counter_software_read(s->def->software, &value->count);
    default:
        if (PAPI_read(s->event_set, &count) != PAPI_OK) return -1;
        value->count = (double)count;
        return 0;
    }
}

static enum sm_counter_state settle(struct sm_counter *c, enum sm_counter_state state, const char *why)
{
    c->state = state;
    snprintf(c->why, sizeof c->why, "%s", why);
    return state;
}

/* Three sizes of known work; the slopes between them leave all fixed overhead out. */
static enum sm_counter_state judge_once(const struct source *s, const struct sm_stimulus *work, struct sm_counter *c)
{
    static const uint64_t sizes[] = {1, 2, 8};
    double count[3], share = 1, least_share = 1, wall_ns = 0;
    for (int i = 0; i < 3; i++) {
        struct sm_counter_value before, after;
        if (read_source(s, &before)) return settle(c, SM_COUNTER_IMPLAUSIBLE, "it cannot be read");
        const uint64_t start = sm_clock_ns();
        if (work->run(sizes[i] * work->units))
            return settle(c, SM_COUNTER_UNVERIFIED, "the work to judge it by cannot be done here");
        wall_ns = (double)(sm_clock_ns() - start);
        if (read_source(s, &after)) return settle(c, SM_COUNTER_IMPLAUSIBLE, "it cannot be read");
        count[i] = sm_counter_between(&before, &after, &share);
        least_share = fmin(least_share, share);
    }
    if (least_share <= 0)
        return settle(c, SM_COUNTER_BUSY, "opened, and never scheduled: somebody else holds the counters");
    if (isnan(count[0] + count[1] + count[2])) return settle(c, SM_COUNTER_IMPLAUSIBLE, "its count went back");
    if (count[0] == 0 && count[1] == 0 && count[2] == 0)
        return settle(c, SM_COUNTER_ZERO, "opened, and read 0 over work that must count");
    const double units = (double)work->units;
    const double low = (count[1] - count[0]) / units, high = (count[2] - count[1]) / (6 * units);
    if (low < work->least || low > work->most || high < work->least || high > work->most ||
        (!strcmp(work->name, "cycles") && count[2] > 7 * wall_ns)) {
        settle(c, SM_COUNTER_IMPLAUSIBLE, "");
        snprintf(c->why, sizeof c->why, "counted %.3g and %.3g where %.3g to %.3g is right", low, high, work->least,
                 work->most);
        return c->state;
    }
    if (least_share < SM_COUNTER_WHOLE) {
        settle(c, SM_COUNTER_MULTIPLEXED, "");
        snprintf(c->why, sizeof c->why, "ran %.0f %% of the time, scaled up", 100 * least_share);
        return c->state;
    }
    return settle(c, SM_COUNTER_USABLE, "");
}

/* A neighbour may spoil one attempt (a preemption, a stray fault), not three. */
static void judge(const struct source *s, struct sm_counter *c)
{
    const struct sm_stimulus *work = *s->def->work ? sm_stimulus_named(s->def->work) : NULL;
    if (!work) {
        settle(c, SM_COUNTER_UNVERIFIED, "opens, but no work is known to judge it by");
        return;
    }
    for (int attempt = 0; attempt < 3 && judge_once(s, work, c) == SM_COUNTER_IMPLAUSIBLE; attempt++) {
    }
}

static void classify(struct sm_counter *c, int error)
{
    switch (error) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        settle(c, SM_COUNTER_ABSENT,
               c->machine                  ? "the kernel shows no such unit of this machine"
               : sm_counters_pmu_visible() ? "no such event on this PMU"
                                           : "this machine shows no PMU");
        return;
    case EACCES:
    case EPERM: settle(c, SM_COUNTER_DENIED, "not permitted; perf_event_paranoid or CAP_PERFMON decides"); return;
    case ENOSYS: settle(c, SM_COUNTER_FILTERED, "the system call is filtered or not built in"); return;
    case EMFILE:
    case EBUSY:
    case ENOSPC: settle(c, SM_COUNTER_BUSY, "no counter or no file descriptor is free"); return;
    default: settle(c, SM_COUNTER_ABSENT, ""); snprintf(c->why, sizeof c->why, "cannot be opened: %s", strerror(error));
    }
}

static int as_errno(int papi_error)
{
    switch (papi_error) {
    case PAPI_EPERM: return EACCES;
    case PAPI_ESYS: return ENOSYS;
    case PAPI_ECOUNT:
    case PAPI_ECNFLCT: return EMFILE;
    default: return ENOENT;
    }
}

static void name_provider(struct sm_counter *c, const char *name, int code, enum sm_counter_step step)
{
    static PAPI_event_info_t info; /* too large for a stack; probes run one after another */
    if (step == SM_COUNTER_PRESET && PAPI_get_event_info(code, &info) == PAPI_OK && info.count)
        snprintf(c->provider, sizeof c->provider, "papi %s (%.80s%s)", name, info.name[0],
                 info.count > 1 ? ", ..." : "");
    else
        snprintf(c->provider, sizeof c->provider, "papi %s", name);
}

static void probe_papi(const struct sm_counter_def *def, enum sm_counter_step step, struct sm_counter *c)
{
    const char *name = sm_counter_papi_name(def, step);
    struct source s = {.step = step, .def = def, .event_set = PAPI_NULL};
    char why[160];
    int code;
    if (sm_papi_start(why, sizeof why)) {
        settle(c, SM_COUNTER_UNMAPPED, why);
        return;
    }
    if (sm_papi_code(name, &code)) {
        settle(c, SM_COUNTER_UNMAPPED, "PAPI has no such event on this CPU");
        return;
    }
    name_provider(c, name, code, step);
    int error = PAPI_create_eventset(&s.event_set);
    if (error == PAPI_OK) error = PAPI_add_event(s.event_set, code);
    if (error != PAPI_OK) {
        classify(c, as_errno(error));
    } else if ((error = PAPI_start(s.event_set)) != PAPI_OK) {
        classify(c, as_errno(error));
    } else {
        long long last;
        judge(&s, c);
        PAPI_stop(s.event_set, &last);
    }
    if (s.event_set != PAPI_NULL) {
        PAPI_cleanup_eventset(s.event_set);
        PAPI_destroy_eventset(&s.event_set);
    }
}

static void probe_bare(const struct sm_counter_def *def, struct sm_counter *c)
{
    struct source s = {.step = SM_COUNTER_BARE, .def = def};
    snprintf(c->provider, sizeof c->provider, "perf_event_open %s", def->bare);
    if (sm_counter_bare_open(def->bare, &s.bare)) {
        classify(c, errno);
        return;
    }
    judge(&s, c);
    sm_counter_bare_close(&s.bare);
}

static void probe_software(const struct sm_counter_def *def, struct sm_counter *c)
{
    const struct source s = {.step = SM_COUNTER_SOFTWARE, .def = def};
    double value;
    snprintf(c->provider, sizeof c->provider, "%s", def->software);
    errno = 0;
    if (!sm_counter_software_read(def->software, &value))
        judge(&s, c);
    else if (errno == EACCES)
        settle(c, SM_COUNTER_DENIED, "the kernel's file may not be read");
    else
        settle(c, SM_COUNTER_ABSENT, "not visible here");
}

void sm_counter_probe(const struct sm_counter_def *def, unsigned masked, struct sm_counter *found)
{
    const char *const names[] = {def->preset, def->generic, def->bare, def->software};
    *found = (struct sm_counter){.name = def->name, .unit = def->unit};
    settle(found, SM_COUNTER_UNMAPPED, "no step of the fall-back has a name for it");
    for (int step = 0; step < SM_COUNTER_STEPS && found->state > SM_COUNTER_MULTIPLEXED; step++) {
        if (!*names[step] || masked & 1u << step) continue;
        struct sm_counter c = {.name = def->name, .unit = def->unit, .step = (enum sm_counter_step)step};
        c.machine = sm_counter_of_machine(names[step]);
        if (step == SM_COUNTER_BARE)
            probe_bare(def, &c);
        else if (step == SM_COUNTER_SOFTWARE)
            probe_software(def, &c);
        else
            probe_papi(def, c.step, &c);
        if (c.state < found->state)
            *found = c;
        else if (found->state == SM_COUNTER_UNMAPPED)
            *found = c;
    }
}
