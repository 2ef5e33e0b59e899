/* machine_facts.h - single facts, for machine.c. Text facts go to a buffer; NULL: not visible here. */
#ifndef SM_MACHINE_FACTS_H
#define SM_MACHINE_FACTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The first line of a file, without its end; NULL when there is none. */
const char *sm_fact_line(const char *path, char *text, size_t bytes);
/* The value of "key : value" in /proc/cpuinfo, of the first CPU. */
const char *sm_fact_cpuinfo(const char *key, char *text, size_t bytes);
/* The word in [brackets] of a kernel setting. */
const char *sm_fact_chosen(const char *path, char *text, size_t bytes);
/* "KVM", "VMware", ...; *virtualised: the CPU says that it is a guest's. */
const char *sm_fact_hypervisor(bool *virtualised, char *text, size_t bytes);
/* "on" or "off"; NULL: this guest does not show it. */
const char *sm_fact_turbo(void);
/* Bytes of memory that the control groups of a process let it have, the least on the way up: groups is a file as
 * /proc/self/cgroup, folder where they are mounted (versions 1 and 2). 0: no limit, or none to be seen. */
size_t sm_fact_memory_limit(const char *groups, const char *folder);
/* The CPU has tiles and their products of bytes, and Linux lets this process use them, for which it is asked. */
bool sm_fact_tiles(void);
/* The instruction sets of interest to kernels, an array of the kernel's names. */
json_t *sm_fact_features(void);

#endif
