/* What the doctor recommends: each sentence says what is missing, and what brings it. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "build.h"
#include "doctor.h"

struct advice {
    char (*text)[320];
    size_t count;
};

static void say(struct advice *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct advice *a, const char *format, ...)
{
    if (a->count == SM_DOCTOR_ADVICE) return;
    va_list list;
    va_start(list, format);
    vsnprintf(a->text[a->count++], sizeof *a->text, format, list);
    va_end(list);
}

static size_t in_state(const struct sm_doctor *d, enum sm_counter_state state)
{
    size_t count = 0;
    for (size_t g = 0; g < d->group_count; g++)
        for (size_t i = 0; i < sm_counters_count(d->groups[g]); i++)
            count += sm_counters_at(d->groups[g], i)->state == state;
    return count;
}

static void about_counters(const struct sm_doctor *d, struct advice *a)
{
    if (in_state(d, SM_COUNTER_ABSENT) && !sm_counters_pmu_visible())
        say(a,
            "No PMU: instructions, cycles and misses stay blank. %s shows one. Until then rates are given in "
            "core_cycles_est, from a chain of multiplies.",
            sm_machine()->virtualised ? "Bare metal, or a guest whose host passes its PMU on (KVM: -cpu host,pmu=on),"
                                      : "A kernel with perf support");
    if (in_state(d, SM_COUNTER_DENIED))
        say(a, "Counters are denied: sysctl kernel.perf_event_paranoid=2 (or lower), or CAP_PERFMON, permits them.");
    if (in_state(d, SM_COUNTER_FILTERED))
        say(a, "perf_event_open is filtered: in a container, permit it in the seccomp profile (or --cap-add PERFMON).");
    if (in_state(d, SM_COUNTER_BUSY))
        say(a, "Counters are busy: stop other profilers; sysctl kernel.nmi_watchdog=0 frees one.");
    if (in_state(d, SM_COUNTER_ZERO) || in_state(d, SM_COUNTER_IMPLAUSIBLE))
        say(a,
            "A counter opens and counts wrong: the virtual PMU or its driver is at fault; its values are not shown.");
    if (strstr(d->papi, "off on this CPU"))
        say(a, "This PAPI does not know this CPU; slotmark asks the kernel itself instead. A newer PAPI adds presets.");
    if (*d->group_why) say(a, "A counter group was left out: %.250s", d->group_why);
}

static void about_clocks(const struct sm_doctor *d, struct advice *a)
{
    const json_t *governor = json_object_get(d->machine, "governor");
    if (json_is_string(governor) && strcmp(json_string_value(governor), "performance"))
        say(a, "The frequency governor is '%s': cpupower frequency-set -g performance steadies the clock.",
            json_string_value(governor));
    if (d->hz_most > 1.02 * d->hz_least)
        say(a, "The core clock moved by %.0f %% within 10 ms, or others used the CPU; samples will carry clock_drift.",
            100 * (d->hz_most / d->hz_least - 1));
    if (d->load > 0.3 * sm_machine()->threads)
        say(a, "The machine is busy (load %.1f on %d threads): wait until it is idle, or expect samples to be flagged.",
            d->load, sm_machine()->threads);
}

static void about_memory(const struct sm_doctor *d, struct advice *a)
{
    const struct sm_machine *m = sm_machine();
    if (m->virtualised && m->l3_bytes > 16 * m->l2_bytes * (size_t)(m->threads > 0 ? m->threads : 1))
        say(a,
            "The kernel reports %zu MiB of last cache for %d threads: probably all of the host's, shared with other "
            "guests. Trust the measured l3 and dram ceilings, not the size.",
            m->l3_bytes >> 20, m->threads);
    const char *huge = json_string_value(json_object_get(d->machine, "huge_pages"));
    if (huge && !strcmp(huge, "never"))
        say(a, "Transparent huge pages are off: echo madvise into /sys/kernel/mm/transparent_hugepage/enabled.");
}

static void about_build(struct advice *a)
{
    const struct sm_build *b = sm_build();
    if (strcmp(b->type, "Release")) say(a, "This is a %s build: measure with the release preset.", b->type);
    if (b->dirty == 1)
        say(a, "Built with changes that no commit holds: commit them, so that results name their source.");
    if (!b->commit) say(a, "Built outside a repository: results cannot name their commit.");
}

size_t sm_doctor_advice(const struct sm_doctor *d, char advice[][320])
{
    struct advice a = {advice, 0};
    about_counters(d, &a);
    about_clocks(d, &a);
    about_memory(d, &a);
    about_build(&a);
    return a.count;
}
