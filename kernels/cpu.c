#include "cpu.h"

#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

static const struct {
    const char *name;
    uint32_t features;
} levels[] = {
    {"any", SM_NEEDS_any}, {"avx2", SM_NEEDS_avx2}, {"avx512", SM_NEEDS_avx512}, {"avx512vnni", SM_NEEDS_avx512vnni},
    {"amx", SM_NEEDS_amx},
};

#if defined(__x86_64__) && !defined(SM_EMULATED)
/* Tiles: the CPU has them and their products of bytes, the system saves them (bits 17 and 18 of XCR0), and it lets
 * this process use them: all its threads, its forks too, until it becomes another program. */
static int tiles_allowed(void)
{
    enum { ASK = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM of asm/prctl.h, which older ones lack */
    static atomic_int known;               /* 0: not yet asked, 1: yes, 2: no; asking twice does no harm */
    unsigned a, b, c, d;
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer) return answer == 1;
    answer = 2;
    if (__get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE) && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
        (d >> 24 & 3) == 3) {
        __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
        if ((a >> 17 & 3) == 3 && !syscall(SYS_arch_prctl, ASK, TILE_DATA)) answer = 1;
    }
    atomic_store_explicit(&known, answer, memory_order_relaxed);
    return answer == 1;
}
#endif

uint32_t sm_cpu_hardware(void)
{
#if defined(SM_EMULATED)
    return SM_NEEDS_amx; /* tests: every variant runs through an emulating header */
#elif defined(__x86_64__)
    uint32_t f = 0;
    unsigned a, b, c = 0, d;
    __builtin_cpu_init();
    const int f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C); /* clang 14's builtin does not know it */
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && f16c) f |= SM_CPU_AVX2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        f |= SM_CPU_AVX512;
    if (__builtin_cpu_supports("avx512vnni")) f |= SM_CPU_AVX512VNNI;
    if (__builtin_cpu_supports("gfni") && tiles_allowed()) f |= SM_CPU_AMX;
    return f;
#else
    return 0;
#endif
}

const char *sm_cpu_level(size_t i, uint32_t *features)
{
    if (i >= sizeof levels / sizeof *levels) return NULL;
    if (features) *features = levels[i].features;
    return levels[i].name;
}

static int level_wanted(uint32_t *features)
{
    const char *name = getenv("SLOTMARK_CPU");
    if (!name || !*name) return 0;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (!strcmp(name, levels[i].name)) {
            *features = levels[i].features;
            return 1;
        }
    return -1;
}

uint32_t sm_cpu_features(void)
{
    uint32_t wanted;
    return level_wanted(&wanted) == 1 ? sm_cpu_hardware() & wanted : sm_cpu_hardware();
}

const char *sm_cpu_check(void)
{
    uint32_t wanted = 0;
    switch (level_wanted(&wanted)) {
    case 0: return NULL;
    case 1:
        return (wanted & ~sm_cpu_hardware()) == 0 ? NULL : "SLOTMARK_CPU asks for a level that this CPU does not have";
    default: return "SLOTMARK_CPU is not one of any, avx2, avx512, avx512vnni, amx";
    }
}

const char *sm_cpu_level_name(uint32_t features)
{
    const char *best = levels[0].name;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if ((levels[i].features & ~features) == 0) best = levels[i].name;
    return best;
}
