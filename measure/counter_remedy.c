/* What would make a counter count, said to whoever can change it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters.h"
#include "machine.h"
#include "machine_facts.h"

static const char *of_absent(const struct sm_counter *c)
{
    if (c->machine)
        return sm_machine()->virtualised ? "bare metal: guests are shown no memory controllers and no energy"
                                         : "a kernel that drives this unit (modprobe intel_rapl_msr, amd_uncore, ...)";
    if (sm_counters_pmu_visible()) return "";
    return sm_machine()->virtualised ? "the host: give the guest a PMU (KVM: -cpu host,pmu=on), or bare metal"
                                     : "a kernel with perf support (CONFIG_PERF_EVENTS)";
}

static const char *of_denied(const struct sm_counter *c)
{
    char text[32];
    if (c->step == SM_COUNTER_SOFTWARE) return "root: the kernel's file is readable by root alone";
    if (c->machine) return "sysctl kernel.perf_event_paranoid=0 (or lower), or CAP_PERFMON";
    const char *level = sm_fact_line("/proc/sys/kernel/perf_event_paranoid", text, sizeof text);
    const long paranoid = level ? strtol(level, NULL, 10) : 3;
    return paranoid > 2    ? "sysctl kernel.perf_event_paranoid=2 (or lower), or CAP_PERFMON"
           : paranoid == 2 ? "sysctl kernel.perf_event_paranoid=1 (or lower), or CAP_PERFMON"
                           : "CAP_PERFMON, or the security module or container that refuses it";
}

const char *sm_counter_remedy(const struct sm_counter *c)
{
    switch (c->state) {
    case SM_COUNTER_ABSENT: return of_absent(c);
    case SM_COUNTER_DENIED: return of_denied(c);
    case SM_COUNTER_FILTERED: return "the container's seccomp profile: permit perf_event_open (--cap-add PERFMON)";
    case SM_COUNTER_BUSY:
    case SM_COUNTER_MULTIPLEXED: return "stop other profilers; sysctl kernel.nmi_watchdog=0 frees a counter";
    case SM_COUNTER_ZERO:
    case SM_COUNTER_IMPLAUSIBLE:
        return sm_machine()->virtualised ? "the host: its virtual PMU does not count; or bare metal"
                                         : "a newer kernel: its driver counts something else";
    case SM_COUNTER_UNMAPPED: return "a newer PAPI, or a name in the group file that this CPU has";
    case SM_COUNTER_UNVERIFIED: return "a known work for it, in the group file";
    case SM_COUNTER_USABLE: break;
    }
    return "";
}
