#include "cpu.h"

#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const struct {
    const char *name;
    uint32_t features;
} levels[] = {
    {"any", SM_NEEDS_any},
    {"avx2", SM_NEEDS_avx2},
    {"avx512", SM_NEEDS_avx512},
    {"avx512vnni", SM_NEEDS_avx512vnni},
};

uint32_t sm_cpu_hardware(void)
{
#if defined(SM_EMULATED)
    return SM_NEEDS_avx512vnni; /* tests: every variant runs through an emulating header */
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
    default: return "SLOTMARK_CPU is not one of any, avx2, avx512, avx512vnni";
    }
}

const char *sm_cpu_level_name(uint32_t features)
{
    const char *best = levels[0].name;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if ((levels[i].features & ~features) == 0) best = levels[i].name;
    return best;
}
