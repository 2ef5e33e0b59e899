#include "play_pmu.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILES = 4096, NS_OF_EXP = 100000000 };

struct play play = {.substitute = PLAY_REAL, .count_share = 1, .time_share = -1};
static uint64_t formats[FILES]; /* of the counters that are played: their read_format + 1 */
static struct {
    int count;
    uint64_t times;           /* bit i: member i counts time */
} members[FILES];             /* of the group that a counter leads */
static __thread int counting; /* of this thread, open now */
static __thread uint64_t exps;
static double (*libm_exp)(double);

int play_as(const char *word)
{
    static const struct {
        const char *word;
        struct play play;
    } plays[] = {{"usable", {0, 0, PLAY_BY_EVENT, 1, -1, 0, NULL}},
                 {"usable-bare", {0, ENOENT, PLAY_BY_EVENT, 1, -1, 0, NULL}},
                 {"one-slot", {0, ENOENT, PLAY_BY_EVENT, 1, -1, 1, NULL}},
                 {"multiplexed", {0, 0, PLAY_BY_EVENT, 1, 0.5, 0, NULL}},
                 {"busy", {0, 0, PLAY_BY_EVENT, 1, 0, 0, NULL}},
                 {"denied", {EACCES, 0, PLAY_REAL, 1, -1, 0, NULL}},
                 {"filtered", {ENOSYS, 0, PLAY_REAL, 1, -1, 0, NULL}},
                 {"absent", {ENOENT, 0, PLAY_REAL, 1, -1, 0, NULL}},
                 {"zero", {0, 0, PERF_COUNT_SW_DUMMY, 1, -1, 0, NULL}},
                 {"implausible", {0, 0, PLAY_BY_EVENT, 0.4, -1, 0, NULL}}};
    for (size_t i = 0; i < sizeof plays / sizeof *plays; i++) {
        if (strcmp(plays[i].word, word)) continue;
        play = plays[i].play;
        play.sys = getenv("SLOTMARK_PLAY_SYS");
        return 0;
    }
    return -1;
}

__attribute__((constructor)) static void begin(void)
{
    const char *word = getenv("SLOTMARK_PLAY");
    void *symbol = dlsym(RTLD_NEXT, "exp");
    memcpy(&libm_exp, &symbol, sizeof libm_exp);
    if (!word || !play_as(word)) return;
    fprintf(stderr, "SLOTMARK_PLAY: nobody plays '%s'\n", word);
    _exit(99);
}

/* The bare call, since the name `syscall` is taken. */
static long raw(long number, long a, long b, long c, long d, long e)
{
    long result;
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    result = x0;
#endif
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

/* Cycles and instructions by the kernel's names, and by the codes of the CPU that tests force on libpfm. */
static int is_time(const struct perf_event_attr *a)
{
    if (a->type == PERF_TYPE_HARDWARE)
        return a->config == PERF_COUNT_HW_CPU_CYCLES || a->config == PERF_COUNT_HW_INSTRUCTIONS;
    if (a->type == PERF_TYPE_RAW) return (a->config & 0xffff) == 0xc0 || (a->config & 0xffff) == 0x3c;
    return a->type > PERF_TYPE_MAX; /* a unit of the machine: energy grows with time */
}

static long open_event(const struct perf_event_attr *wanted, long pid, long cpu, long group, long flags)
{
    struct perf_event_attr attr = *wanted;
    const int hardware = attr.type != PERF_TYPE_SOFTWARE;
    if (hardware && (play.refuse_with || (play.refuse_papi && attr.read_format & PERF_FORMAT_GROUP))) {
        errno = play.refuse_with ? play.refuse_with : play.refuse_papi;
        return -1;
    }
    if (!hardware || play.substitute == PLAY_REAL) return raw(SYS_perf_event_open, (long)&attr, pid, cpu, group, flags);
    attr.config = play.substitute == PLAY_BY_EVENT
                      ? (is_time(wanted) ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_SW_PAGE_FAULTS)
                      : (__u64)play.substitute;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config1 = attr.config2 = 0;
    if (pid == -1) pid = 0, cpu = -1; /* the machine's share of this thread */
    const long fd = raw(SYS_perf_event_open, (long)&attr, pid, cpu, group, flags);
    if (fd >= 0 && fd < FILES) {
        const long leader = group < 0 ? fd : group;
        formats[fd] = attr.read_format + 1;
        counting++;
        members[fd].count = 0;
        members[fd].times = attr.config == PERF_COUNT_SW_TASK_CLOCK;
        if (members[leader].count < 64) members[leader].times |= members[fd].times << members[leader].count;
        members[leader].count++;
    }
    return fd;
}

long syscall(long number, ...)
{
    va_list list;
    va_start(list, number);
    const long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
    const long d = va_arg(list, long), e = va_arg(list, long);
    va_end(list);
    if (number != SYS_perf_event_open) return raw(number, a, b, c, d, e);
    const struct perf_event_attr *attr;
    memcpy(&attr, &a, sizeof attr);
    return open_event(attr, (int)b, (int)c, (int)d, e);
}

ssize_t read(int fd, void *buffer, size_t bytes)
{
    const ssize_t got = raw(SYS_read, fd, (long)buffer, (long)bytes, 0, 0);
    if (fd < 0 || fd >= FILES || !formats[fd] || got < (ssize_t)sizeof(uint64_t)) return got;
    const uint64_t format = formats[fd] - 1;
    uint64_t *at = buffer;
    const int group = (format & PERF_FORMAT_GROUP) != 0;
    const uint64_t count = group ? *at : 1;
    double share = play.time_share;
    if (play.slots && counting > play.slots) share = (double)play.slots / counting;
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING && share >= 0) at[2] = (uint64_t)((double)at[1] * share);
    size_t first = group ? 1 : 0;
    if (group && format & PERF_FORMAT_TOTAL_TIME_ENABLED) first++;
    if (group && format & PERF_FORMAT_TOTAL_TIME_RUNNING) first++;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t *value = at + first + i * (group && format & PERF_FORMAT_ID ? 2 : 1);
        if (i < 64 && members[fd].times >> i & 1) *value += NS_OF_EXP * exps;
        *value = (uint64_t)((double)*value * play.count_share * (share >= 0 ? share : 1));
    }
    return got;
}

double exp(double x)
{
    exps++;
    return libm_exp(x);
}

int close(int fd)
{
    if (fd >= 0 && fd < FILES && formats[fd]) {
        formats[fd] = 0;
        counting--;
    }
    return (int)raw(SYS_close, fd, 0, 0, 0, 0);
}

/* The kernel's lists of units, and control groups, come from the played folder, where there is one. */
static const char *elsewhere(const char *path, char *text, size_t bytes)
{
    if (!play.sys || (strncmp(path, "/sys/bus/event_source", 21) && strncmp(path, "/sys/class/powercap", 19) &&
                      strncmp(path, "/sys/fs/cgroup", 14)))
        return path;
    snprintf(text, bytes, "%s%s", play.sys, path);
    return text;
}

FILE *fopen(const char *path, const char *mode)
{
    FILE *(*next)(const char *, const char *);
    void *symbol = dlsym(RTLD_NEXT, "fopen");
    char text[1024];
    memcpy(&next, &symbol, sizeof next);
    return next(elsewhere(path, text, sizeof text), mode);
}

DIR *opendir(const char *path)
{
    DIR *(*next)(const char *);
    void *symbol = dlsym(RTLD_NEXT, "opendir");
    char text[1024];
    memcpy(&next, &symbol, sizeof next);
    return next(elsewhere(path, text, sizeof text));
}
