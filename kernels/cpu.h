/* cpu.h - which instruction sets this process may use.
 *
 * A variant names its ISA in variants.def; SM_NEEDS_<isa> is the set of features that it asks for, and
 * cmake/families.cmake holds the compiler flags of the same name. A new ISA is a line in both. */
#ifndef SM_CPU_H
#define SM_CPU_H

#include <stddef.h>
#include <stdint.h>

enum sm_cpu_feature {
    SM_CPU_AVX2 = 1u << 0,       /* with FMA and F16C */
    SM_CPU_AVX512 = 1u << 1,     /* F, BW, DQ, VL */
    SM_CPU_AVX512VNNI = 1u << 2, /* vpdpbusd, vpdpwssd on 512 bits */
    SM_CPU_AMX = 1u << 3, /* tiles and their products of bytes, which the kernel lets this process use; with GFNI */
};

#define SM_NEEDS_any 0u
#define SM_NEEDS_avx2 ((uint32_t)SM_CPU_AVX2)
#define SM_NEEDS_avx512 ((uint32_t)SM_CPU_AVX2 | (uint32_t)SM_CPU_AVX512)
#define SM_NEEDS_avx512vnni ((uint32_t)SM_CPU_AVX2 | (uint32_t)SM_CPU_AVX512 | (uint32_t)SM_CPU_AVX512VNNI)
#define SM_NEEDS_amx (SM_NEEDS_avx512vnni | (uint32_t)SM_CPU_AMX)

/* What the CPU and the operating system offer, whatever the environment says. On a CPU with tiles the first call asks
 * Linux, once, to let this process use them: an alternate stack for signals must hold their state from then on
 * (AT_MINSIGSTKSZ, some 11 KiB), and one that does not makes Linux refuse. */
uint32_t sm_cpu_hardware(void);

/* The above, lowered by the environment variable SLOTMARK_CPU (a level of sm_cpu_level, "any" the lowest).
 * An unknown level lowers nothing here; sm_cpu_check names it. */
uint32_t sm_cpu_features(void);

/* NULL when SLOTMARK_CPU is unset, or a level that this CPU has; else a sentence saying what is wrong. */
const char *sm_cpu_check(void);

/* The levels, lowest first: "any", "avx2", "avx512", "avx512vnni", "amx". NULL past the end. */
const char *sm_cpu_level(size_t i, uint32_t *features);

/* The highest level that these features reach. */
const char *sm_cpu_level_name(uint32_t features);

#endif
