#include "free_memory.h"

#include <stdint.h>
#include <stdio.h>

/* MemAvailable, in bytes. */
static size_t machine_memory(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    unsigned long long kib = 0;
    int found = 0;
    while (file && !found && fgets(line, sizeof line, file)) found = sscanf(line, "MemAvailable: %llu kB", &kib) == 1;
    if (file) fclose(file);
    return found && kib < SIZE_MAX / 1024 ? (size_t)kib * 1024 : SIZE_MAX;
}

/* The limit of a control group (version 2, then 1); a word there means none. */
static size_t group_memory(void)
{
    static const char *const paths[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        FILE *file = fopen(paths[i], "r");
        unsigned long long bytes;
        const int found = file && fscanf(file, "%llu", &bytes) == 1;
        if (file) fclose(file);
        if (found) return (size_t)bytes;
    }
    return SIZE_MAX;
}

size_t sm_free_memory(void)
{
    const size_t machine = machine_memory(), group = group_memory();
    return machine < group ? machine : group;
}
