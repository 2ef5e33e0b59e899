/* Units that count for the whole machine: memory controllers, energy. The kernel describes each in a folder: its type,
 * the CPUs to open it on (cpumask), which bits of the request hold which term (format/), and its events by name
 * (events/, with a scale for those in units of their own). UNITS is the folder's name, a `*` at its end standing for
 * anything; EVENT a name of events/, or terms: event=0x0a,rdwrmask=1. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "counter_step.h"
#include "machine_facts.h"

#define DEVICES "/sys/bus/event_source/devices"

static const char *fact(const char *unit, const char *file, char *text, size_t bytes)
{
    char path[768];
    snprintf(path, sizeof path, DEVICES "/%s/%s", unit, file);
    return sm_fact_line(path, text, bytes);
}

/* Puts a term's value into the bits that its format names: "config:0-7,32-35". 0, or -1: that cannot be. */
static int put_term(const char *unit, const char *term, uint64_t value, struct perf_event_attr *attr)
{
    char file[160], format[128], *rest;
    snprintf(file, sizeof file, "format/%s", term);
    if (!fact(unit, file, format, sizeof format)) return -1;
    char *bits = strchr(format, ':');
    if (!bits) return -1;
    *bits++ = 0;
    __u64 *config = !strcmp(format, "config")    ? &attr->config
                    : !strcmp(format, "config1") ? &attr->config1
                    : !strcmp(format, "config2") ? &attr->config2
                                                 : NULL;
    for (char *range = strtok_r(bits, ",", &rest); config && range; range = strtok_r(NULL, ",", &rest)) {
        const char *dash = strchr(range, '-');
        const unsigned long low = strtoul(range, NULL, 10), high = dash ? strtoul(dash + 1, NULL, 10) : low;
        if (low > 63 || high > 63 || high < low) return -1;
        for (unsigned long bit = low; bit <= high; bit++, value >>= 1) *config |= (value & 1) << bit;
    }
    return config && value == 0 ? 0 : -1;
}

static int put_event(const char *unit, const char *event, struct perf_event_attr *attr, double *scale)
{
    char file[160], terms[256], text[64], *rest;
    if (strchr(event, '=')) {
        snprintf(terms, sizeof terms, "%s", event);
    } else {
        snprintf(file, sizeof file, "events/%s", event);
        if (!fact(unit, file, terms, sizeof terms)) return -1;
        snprintf(file, sizeof file, "events/%s.scale", event);
        if (fact(unit, file, text, sizeof text)) *scale = strtod(text, NULL);
    }
    for (char *term = strtok_r(terms, ",", &rest); term; term = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(term, '=');
        if (equals) *equals++ = 0;
        if (put_term(unit, term, equals ? strtoull(equals, NULL, 0) : 1, attr)) return -1;
    }
    return 0;
}

/* One descriptor for each CPU of the unit's list: "0" or "0,32" or "0-3". 0, or an errno. */
static int open_unit(const char *unit, const char *event, struct sm_counter_bare *bare)
{
    char text[256];
    struct perf_event_attr attr = {.size = sizeof attr};
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    if (!fact(unit, "type", text, sizeof text)) return ENOENT;
    attr.type = (__u32)strtoul(text, NULL, 10);
    if (put_event(unit, event, &attr, &bare->scale)) return ENOENT;
    if (!fact(unit, "cpumask", text, sizeof text)) return ENOENT;
    for (char *at = text; isdigit((unsigned char)*at);) {
        const long low = strtol(at, &at, 10), high = *at == '-' ? strtol(at + 1, &at, 10) : low;
        for (long cpu = low; cpu <= high; cpu++) {
            if (bare->count == (int)(sizeof bare->fd / sizeof *bare->fd)) return EMFILE;
            const long fd = syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
            if (fd < 0) return errno;
            bare->fd[bare->count++] = (int)fd;
        }
        at += *at == ',';
    }
    return 0;
}

int sm_counter_pmu_open(const char *name, struct sm_counter_bare *bare)
{
    const char *units = name + strlen("pmu:"), *slash = strchr(units, '/');
    const size_t length = (size_t)(slash - units);
    const int any = length && units[length - 1] == '*';
    DIR *d = opendir(DEVICES);
    int error = ENOENT, units_open = 0;
    for (const struct dirent *e; d && (e = readdir(d));) {
        if (strncmp(e->d_name, units, length - (size_t)any) || (!any && e->d_name[length])) continue;
        const int failed = open_unit(e->d_name, slash + 1, bare);
        if (!failed) units_open++;
        if (failed && failed != ENOENT) { /* a part of the machine would be a wrong number */
            error = failed;
            units_open = 0;
            break;
        }
    }
    if (d) closedir(d);
    if (units_open && bare->count) return 0;
    sm_counter_bare_close(bare);
    errno = error;
    return -1;
}
