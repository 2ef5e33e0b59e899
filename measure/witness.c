#include "witness.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "record.h"
#include "stats.h"

struct reading {
    uint64_t cpu_ns;
    int64_t involuntary, faults;
    int cpu; /* -1: not known */
    double hz;
};

struct sample {
    double wall_ns;
    uint64_t cpu_ns;
    int64_t involuntary, faults;
    int moved; /* 1: ended on another CPU; -1: not known */
    double hz_before, hz_after;
};

struct sm_witnesses {
    enum sm_witness_scope scope;
    size_t count, capacity;
    struct reading start;
    double steal_before_ms, steal_after_ms, load, hz_before, hz_after;
    double *clocks; /* room for all readings of the core clock */
    struct sample samples[];
};

struct sm_witnesses *sm_witnesses_create(size_t samples, enum sm_witness_scope scope)
{
    if (samples > SIZE_MAX / 4 / sizeof(struct sample)) return NULL;
    struct sm_witnesses *w = calloc(1, sizeof *w + samples * sizeof(struct sample));
    if (!w) return NULL;
    w->clocks = malloc((2 * samples + 2) * sizeof *w->clocks);
    if (!w->clocks) {
        free(w);
        return NULL;
    }
    w->scope = scope;
    w->capacity = samples;
    return w;
}

void sm_witnesses_destroy(struct sm_witnesses *w)
{
    if (w) free(w->clocks);
    free(w);
}

/* Time the hypervisor gave to others, all CPUs, since boot. */
static double steal_ms(void)
{
    FILE *f = fopen("/proc/stat", "r");
    if (!f) return NAN;
    unsigned long long ticks;
    const int read = fscanf(f, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &ticks);
    fclose(f);
    return read == 1 ? (double)ticks * 1000 / (double)sysconf(_SC_CLK_TCK) : NAN;
}

static double load_average(void)
{
    double load;
    return getloadavg(&load, 1) == 1 ? load : NAN;
}

static struct reading read_now(enum sm_witness_scope scope)
{
    struct rusage u;
    struct timespec t;
    clock_gettime(scope == SM_WITNESS_THREAD ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID, &t);
    getrusage(scope == SM_WITNESS_THREAD ? RUSAGE_THREAD : RUSAGE_SELF, &u);
    return (struct reading){(uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec, u.ru_nivcsw,
                            u.ru_minflt + u.ru_majflt, sched_getcpu(), NAN};
}

void sm_witnesses_begin(struct sm_witnesses *w)
{
    w->count = 0;
    w->steal_before_ms = w->steal_after_ms = steal_ms();
    w->load = load_average();
    w->hz_before = w->hz_after = sm_core_hz();
}

void sm_witnesses_sample_begin(struct sm_witnesses *w)
{
    const double hz = sm_core_hz_glance();
    w->start = read_now(w->scope);
    w->start.hz = hz;
}

void sm_witnesses_sample_end(struct sm_witnesses *w, double wall_ns)
{
    const struct reading end = read_now(w->scope), *start = &w->start;
    if (w->count == w->capacity) return;
    w->samples[w->count++] = (struct sample){wall_ns,
                                             end.cpu_ns - start->cpu_ns,
                                             end.involuntary - start->involuntary,
                                             end.faults - start->faults,
                                             end.cpu < 0 || start->cpu < 0 ? -1 : end.cpu != start->cpu,
                                             start->hz,
                                             sm_core_hz_glance()};
}

void sm_witnesses_end(struct sm_witnesses *w)
{
    w->hz_after = sm_core_hz();
    w->steal_after_ms = steal_ms();
}

void sm_witnesses_keep_last(struct sm_witnesses *w, size_t samples)
{
    if (samples >= w->count) return;
    memmove(w->samples, w->samples + (w->count - samples), samples * sizeof *w->samples);
    w->count = samples;
}

double sm_witnesses_core_hz(const struct sm_witnesses *w)
{
    size_t n = 0;
    w->clocks[n++] = w->hz_before;
    w->clocks[n++] = w->hz_after;
    for (size_t i = 0; i < w->count; i++) {
        w->clocks[n++] = w->samples[i].hz_before;
        w->clocks[n++] = w->samples[i].hz_after;
    }
    return sm_median(w->clocks, n);
}

static void flag(json_t *flags, int raised, const char *name)
{
    if (raised) json_array_append_new(flags, json_string(name));
}

static int drifted(double before, double after)
{
    return fabs(after / before - 1) > 0.02;
}

static json_t *flags_json(const struct sm_witnesses *w)
{
    int preempted = 0, migrated = 0, faults = 0, is_short = 0, drift = drifted(w->hz_before, w->hz_after);
    const double shortest = 1000 * sm_clock_timer().cost_ns;
    for (size_t i = 0; i < w->count; i++) {
        const struct sample *s = &w->samples[i];
        preempted |= s->involuntary > 0 || s->wall_ns > 1.05 * (double)s->cpu_ns;
        migrated |= s->moved > 0;
        faults |= s->faults > 0;
        is_short |= s->wall_ns < shortest;
        drift |= drifted(s->hz_before, s->hz_after);
    }
    json_t *flags = json_array();
    flag(flags, preempted, "preempted");
    flag(flags, migrated, "migrated");
    flag(flags, faults, "page_faults");
    flag(flags, drift, "clock_drift");
    flag(flags, w->steal_after_ms > w->steal_before_ms, "stolen");
    flag(flags, w->load > (double)sysconf(_SC_NPROCESSORS_ONLN), "busy_machine");
    flag(flags, is_short, "short_sample");
    return flags;
}

json_t *sm_witnesses_json(const struct sm_witnesses *w)
{
    json_t *cpu = json_array(), *switches = json_array(), *faults = json_array(), *moves = json_array();
    json_t *clocks = json_array();
    for (size_t i = 0; i < w->count; i++) {
        const struct sample *s = &w->samples[i];
        json_array_append_new(cpu, json_integer((json_int_t)s->cpu_ns));
        json_array_append_new(switches, json_integer(s->involuntary));
        json_array_append_new(faults, json_integer(s->faults));
        json_array_append_new(moves, s->moved < 0 ? json_null() : json_integer(s->moved));
        json_array_append_new(clocks,
                              json_pack("[o,o]", sm_record_number(s->hz_before), sm_record_number(s->hz_after)));
    }
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "cpu_ns", cpu, "involuntary_switches", switches,
                     "page_faults", faults, "migrations", moves, "steal_ms",
                     sm_record_number(w->steal_after_ms - w->steal_before_ms), "load_average",
                     sm_record_number(w->load), "core_hz", sm_record_number(sm_witnesses_core_hz(w)), "core_hz_before",
                     sm_record_number(w->hz_before), "core_hz_after", sm_record_number(w->hz_after), "core_hz_samples",
                     clocks, "flags", flags_json(w));
}
