#include "machine_facts.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

const char *sm_fact_line(const char *path, char *text, size_t bytes)
{
    FILE *f = fopen(path, "r");
    if (!f) return NULL;
    const char *line = fgets(text, (int)bytes, f);
    fclose(f);
    if (!line) return NULL;
    text[strcspn(text, "\n")] = 0;
    return *text ? text : NULL;
}

const char *sm_fact_cpuinfo(const char *key, char *text, size_t bytes)
{
    static char line[16384]; /* the list of flags is long; facts are gathered once, by one thread */
    const size_t n = strlen(key);
    const char *found = NULL;
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && !found && fgets(line, sizeof line, f)) {
        if (strncmp(line, key, n) || strspn(line + n, " \t:") == 0) continue;
        const char *value = strchr(line, ':');
        if (!value) continue;
        value += 1 + strspn(value + 1, " \t");
        snprintf(text, bytes, "%.*s", (int)strcspn(value, "\n"), value);
        found = *text ? text : NULL;
    }
    if (f) fclose(f);
    return found;
}

const char *sm_fact_chosen(const char *path, char *text, size_t bytes)
{
    char line[256];
    if (!sm_fact_line(path, line, sizeof line)) return NULL;
    const char *open = strchr(line, '['), *close = open ? strchr(open, ']') : NULL;
    if (!close) return NULL;
    snprintf(text, bytes, "%.*s", (int)(close - open - 1), open + 1);
    return text;
}

const char *sm_fact_hypervisor(bool *virtualised, char *text, size_t bytes)
{
    *virtualised = false;
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 31)) return NULL;
    *virtualised = true;
    unsigned signature[4] = {0};
    __cpuid(0x40000000, a, signature[0], signature[1], signature[2]);
    const char *raw = (const char *)signature;
    static const char *const names[][2] = {
        {"KVMKVMKVM", "KVM"}, {"VMwareVMware", "VMware"}, {"Microsoft Hv", "Hyper-V"}, {"XenVMMXenVMM", "Xen"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(raw, names[i][0])) return snprintf(text, bytes, "%s", names[i][1]), text;
    return snprintf(text, bytes, "%.12s", *raw ? raw : "unnamed"), text;
#else
    return sm_fact_line("/sys/hypervisor/type", text, bytes);
#endif
}

/* The least limit of a group and of those above it; where the folder shows only a part of them, as in a container, what
 * it shows. */
static size_t least_limit(const char *folder, char *group, const char *name, size_t least)
{
    for (;;) {
        char path[4096], text[64];
        const int n = snprintf(path, sizeof path, "%s%s/%s", folder, group, name);
        if (n > 0 && (size_t)n < sizeof path && sm_fact_line(path, text, sizeof text)) {
            const unsigned long long bytes = strtoull(text, NULL, 10); /* "max": 0 */
            if (bytes && bytes < least) least = (size_t)bytes;
        }
        char *slash = strrchr(group, '/');
        if (!slash) return least;
        *slash = 0;
    }
}

size_t sm_fact_memory_limit(const char *groups, const char *folder)
{
    char line[4096], mounted[4096];
    size_t least = SIZE_MAX;
    FILE *f = fopen(groups, "r");
    while (f && fgets(line, sizeof line, f)) {
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        group[strcspn(group, "\n")] = 0;
        if (!strcmp(controllers, ":")) least = least_limit(folder, group, "memory.max", least);
        if (strcmp(controllers, ":memory")) continue;
        snprintf(mounted, sizeof mounted, "%.4000s/memory", folder);
        least = least_limit(mounted, group, "memory.limit_in_bytes", least);
    }
    if (f) fclose(f);
    return least < SIZE_MAX / 4 ? least : 0; /* version 1 says "none" by a number beyond all memory */
}

const char *sm_fact_turbo(void)
{
    char text[16];
    if (sm_fact_line("/sys/devices/system/cpu/intel_pstate/no_turbo", text, sizeof text))
        return *text == '0' ? "on" : "off";
    if (sm_fact_line("/sys/devices/system/cpu/cpufreq/boost", text, sizeof text)) return *text == '0' ? "off" : "on";
    return NULL;
}

bool sm_fact_tiles(void)
{
#if defined(__x86_64__)
    enum { ASK = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM of asm/prctl.h, which older ones lack */
    static atomic_int known;               /* 0: not yet asked, 1: yes, 2: no; asking twice does no harm */
    unsigned a, b, c, d;
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer) return answer == 1;
    answer = 2;
    if (__get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE) && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
        (d >> 24 & 3) == 3) {
        __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0)); /* bits 17 and 18: the system saves tiles */
        if ((a >> 17 & 3) == 3 && !syscall(SYS_arch_prctl, ASK, TILE_DATA)) answer = 1;
    }
    atomic_store_explicit(&known, answer, memory_order_relaxed);
    return answer == 1;
#else
    return false;
#endif
}

json_t *sm_fact_features(void)
{
    static const char *const wanted[] = {
        "sse4_2",   "avx",      "f16c",        "fma",         "avx2",        "avx_vnni", "avx512f",  "avx512bw",
        "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16",
        "asimd",    "asimddp",  "asimdhp",     "i8mm",        "bf16",        "sve",      "sve2",
    };
    static char flags[16384];
    json_t *found = json_array();
    if (!sm_fact_cpuinfo("flags", flags, sizeof flags) && !sm_fact_cpuinfo("Features", flags, sizeof flags)) {
        json_decref(found);
        return json_null();
    }
    for (char *rest = flags, *word; (word = strtok_r(rest, " ", &rest));)
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            if (!strcmp(word, wanted[i])) json_array_append_new(found, json_string(word));
    return found;
}
