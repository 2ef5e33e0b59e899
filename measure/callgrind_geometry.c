/* The caches that callgrind simulates: those that the kernel shows, as near as a simulation of powers of two comes. */
#include <stdio.h>
#include <string.h>

#include "callgrind.h"
#include "machine.h"

#define WAYS_MOST 64
#define BYTES_MOST ((size_t)1 << 30)

static size_t power_below(size_t n)
{
    size_t power = 1;
    while (power <= n / 2) power *= 2;
    return power;
}

struct sm_callgrind_cache sm_callgrind_cache_fit(size_t bytes, size_t ways, size_t line)
{
    struct sm_callgrind_cache cache = {0};
    if (!bytes) return cache;
    if (bytes > BYTES_MOST) bytes = BYTES_MOST;
    cache.line = line < 16 || line > 4096 ? 64 : power_below(line);
    if (ways < 1 || ways > WAYS_MOST) ways = 8;
    const size_t lines = bytes / cache.line;
    if (lines < 2 * ways) return (struct sm_callgrind_cache){0};
    /* where the number of sets is no power of two: fewer, and more ways, until nothing is left over */
    size_t sets = power_below(lines / ways);
    while (lines % sets && lines / sets <= WAYS_MOST / 2) sets /= 2;
    cache.ways = lines / sets;
    cache.bytes = sets * cache.ways * cache.line;
    return cache;
}

static size_t read_number(const char *folder, int index, const char *name)
{
    char path[4096], unit = 0;
    unsigned long value = 0;
    snprintf(path, sizeof path, "%s/index%d/%s", folder, index, name);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    const int got = fscanf(f, "%9lu%c", &value, &unit);
    fclose(f);
    if (got < 1) return 0;
    return (size_t)value * (unit == 'K' ? 1024 : unit == 'M' ? 1024 * 1024 : 1);
}

static char read_type(const char *folder, int index)
{
    char path[4096], type = 0;
    snprintf(path, sizeof path, "%s/index%d/type", folder, index);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    if (fscanf(f, "%c", &type) != 1) type = 0;
    fclose(f);
    return type;
}

struct sm_callgrind_geometry sm_callgrind_geometry_read(const char *folder)
{
    struct sm_callgrind_geometry g = {0};
    const struct sm_machine *m = sm_machine();
    size_t last = 0;
    for (int i = 0; i < 16; i++) {
        const size_t level = read_number(folder, i, "level");
        const char type = read_type(folder, i); /* Data, Instruction, Unified */
        if (!level || !type) continue;
        const struct sm_callgrind_cache cache =
            sm_callgrind_cache_fit(read_number(folder, i, "size"), read_number(folder, i, "ways_of_associativity"),
                                   read_number(folder, i, "coherency_line_size"));
        if (level == 1 && type != 'I') g.d1 = cache;
        if (level == 1 && type != 'D') g.i1 = cache;
        if (level > 1 && level > last && type != 'I' && cache.bytes) {
            g.ll = cache;
            last = level;
        }
    }
    if (!g.d1.bytes) g.d1 = sm_callgrind_cache_fit(m->l1d_bytes ? m->l1d_bytes : 32768, 8, m->line_bytes);
    if (!g.i1.bytes) g.i1 = sm_callgrind_cache_fit(32768, 8, g.d1.line);
    if (!g.ll.bytes)
        g.ll = sm_callgrind_cache_fit(m->l3_bytes   ? m->l3_bytes
                                      : m->l2_bytes ? m->l2_bytes
                                                    : 8u << 20,
                                      16, m->line_bytes);
    return g;
}
