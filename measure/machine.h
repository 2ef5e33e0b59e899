/* machine.h - what is known about the machine; what this guest does not show stays unknown (null).
 *
 * Facts come from hwloc, the kernel's files and CPUID, never from PAPI or sysconf, which report the host's
 * caches in a guest. Even the kernel's cache directory may: it is shown as it stands, and ceilings.h says
 * what was really seen. */
#ifndef SM_MACHINE_H
#define SM_MACHINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* 0: unknown. */
struct sm_machine {
    int cores;                            /* physical, of those this process may use */
    int threads;                          /* hardware threads that this process may use */
    size_t l1d_bytes, l2_bytes, l3_bytes; /* of one instance */
    int l3_threads;                       /* allowed hardware threads that share one last-level cache */
    size_t line_bytes;
    size_t memory_bytes; /* or, where that is less, what control groups let this process have */
    bool virtualised;
};

/* Gathered at the first call; safe from any thread. */
const struct sm_machine *sm_machine(void);

/* The highest level this CPU reaches: "any", "avx2", "avx512", "avx512vnni", "amx": the last where the kernel lets this
 * process use tiles, for which the first call asks. */
const char *sm_machine_isa(void);

/* The "machine" object of a record, a new reference. */
json_t *sm_machine_json(void);

/* Where the workers of a team run: one hardware thread each, whole cores first. */
#define SM_PIN_MOST 1024
struct sm_pin {
    int count;
    int cpu[SM_PIN_MOST]; /* numbered as the operating system does */
};

/* Before the team starts. -1 with a sentence: more workers than hardware threads, or nothing is known. */
int sm_pin_plan(struct sm_pin *pin, int workers, char *why, size_t why_bytes);

/* Called by each worker, inside the parallel region: pins the calling thread to its place and reads back
 * that it holds. -1 with a sentence. */
int sm_pin_self(const struct sm_pin *pin, int worker, char *why, size_t why_bytes);

/* The calling thread keeps its place from now on, where it can: what cannot be pinned runs all the same. For the hooks
 * of sessions; costs next to nothing when it is there already. The pin must outlive its use. */
void sm_pin_keep(const struct sm_pin *pin, int worker);

/* The same for a whole team of OpenMP threads, which keep their places for the parallel regions that follow. -1 with a
 * sentence: one is not where it should be; they run all the same. */
int sm_pin_team(struct sm_pin *pin, int workers, char *why, size_t why_bytes);
void sm_unpin_team(int workers);

/* The CPUs of a team for a record, a new reference. */
json_t *sm_pin_json(const struct sm_pin *pin);

/* Lets the calling thread run wherever the process could when sm_machine was first called. */
int sm_unpin_self(char *why, size_t why_bytes);

#endif
