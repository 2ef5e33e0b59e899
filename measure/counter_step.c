#include "counter_step.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "machine_facts.h"

#define CACHE_READ_MISS(cache) ((cache) | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

static const struct event {
    const char *name;
    uint32_t type;
    uint64_t config;
    int with_kernel; /* it happens in kernel mode only */
} events[] = {
    {"hardware:cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0},
    {"hardware:instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0},
    {"hardware:ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, 0},
    {"hardware:branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0},
    {"hardware:branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 0},
    {"hardware:cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, 0},
    {"hardware:cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 0},
    {"cache:l1d-read-miss", PERF_TYPE_HW_CACHE, CACHE_READ_MISS(PERF_COUNT_HW_CACHE_L1D), 0},
    {"cache:llc-read-miss", PERF_TYPE_HW_CACHE, CACHE_READ_MISS(PERF_COUNT_HW_CACHE_LL), 0},
    {"cache:dtlb-read-miss", PERF_TYPE_HW_CACHE, CACHE_READ_MISS(PERF_COUNT_HW_CACHE_DTLB), 0},
    {"cache:itlb-read-miss", PERF_TYPE_HW_CACHE, CACHE_READ_MISS(PERF_COUNT_HW_CACHE_ITLB), 0},
    {"software:page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0},
    {"software:context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1},
    {"software:migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, 1},
    {"software:task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 0},
};

static const struct event *event_named(const char *name)
{
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (!strcmp(events[i].name, name)) return &events[i];
    return NULL;
}

bool sm_counter_of_machine(const char *name)
{
    return !strncmp(name, "pmu:", 4) || !strncmp(name, "powercap:", 9);
}

int sm_counter_bare_known(const char *name)
{
    return event_named(name) || (!strncmp(name, "pmu:", 4) && strchr(name, '/')) ? 0 : -1;
}

int sm_counter_bare_open(const char *name, struct sm_counter_bare *bare)
{
    *bare = (struct sm_counter_bare){.scale = 1};
    if (sm_counter_of_machine(name)) return sm_counter_pmu_open(name, bare);
    const struct event *e = event_named(name);
    if (!e) {
        errno = ENOENT;
        return -1;
    }
    struct perf_event_attr attr = {.size = sizeof attr, .type = e->type, .config = e->config};
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attr.exclude_kernel = !e->with_kernel; /* else an unprivileged EACCES hides whether the event exists */
    attr.exclude_hv = 1;
    bare->fd[0] = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    bare->count = bare->fd[0] >= 0;
    return bare->count ? 0 : -1;
}

int sm_counter_bare_read(const struct sm_counter_bare *bare, struct sm_counter_value *value)
{
    *value = (struct sm_counter_value){0};
    for (int i = 0; i < bare->count; i++) {
        uint64_t got[3]; /* value, time enabled, time running */
        if (read(bare->fd[i], got, sizeof got) != sizeof got) return -1;
        value->count += (double)got[0] * bare->scale;
        value->enabled += (double)got[1];
        value->running += (double)got[2];
    }
    return 0;
}

void sm_counter_bare_close(struct sm_counter_bare *bare)
{
    for (int i = 0; i < bare->count; i++) close(bare->fd[i]);
    bare->count = 0;
}

static int read_migrations(double *value)
{
    char line[256];
    int result = -1;
    FILE *f = fopen("/proc/thread-self/sched", "r");
    while (f && result && fgets(line, sizeof line, f))
        if (strstr(line, "nr_migrations") && strchr(line, ':')) {
            *value = strtod(strchr(line, ':') + 1, NULL);
            result = 0;
        }
    if (f) fclose(f);
    return result;
}

/* Joules of all packages since some moment. A wrap gives a negative difference, which is no count. */
static int read_powercap(double *value)
{
    static const char folder[] = "/sys/class/powercap";
    char path[512], line[64];
    int found = -1;
    DIR *d = opendir(folder);
    *value = 0;
    for (const struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s/name", folder, e->d_name);
        if (!sm_fact_line(path, line, sizeof line) || strncmp(line, "package", 7)) continue;
        snprintf(path, sizeof path, "%s/%s/energy_uj", folder, e->d_name);
        if (!sm_fact_line(path, line, sizeof line)) { /* a part of the machine would be a wrong number */
            found = -1;
            break;
        }
        *value += 1e-6 * strtod(line, NULL);
        found = 0;
    }
    const int error = errno;
    if (d) closedir(d);
    errno = error;
    return found;
}

int sm_counter_software_known(const char *name)
{
    for (const char *const *known = (const char *const[]){"rusage:faults", "rusage:switches", "proc:migrations",
                                                          "clock:thread-cpu", "powercap:packages", NULL};
         *known; known++)
        if (!strcmp(*known, name)) return 0;
    return -1;
}

int sm_counter_software_read(const char *name, double *value)
{
    struct rusage u;
    if (!strcmp(name, "powercap:packages")) return read_powercap(value);
    if (!strcmp(name, "proc:migrations")) return read_migrations(value);
    if (!strcmp(name, "clock:thread-cpu")) return *value = (double)sm_clock_thread_cpu_ns(), 0;
    if (getrusage(RUSAGE_THREAD, &u)) return -1;
    *value = !strcmp(name, "rusage:faults") ? (double)(u.ru_minflt + u.ru_majflt) : (double)(u.ru_nvcsw + u.ru_nivcsw);
    return 0;
}
