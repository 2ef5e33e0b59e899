/* counter_step.h - the two steps below PAPI: the bare system call, and what software knows. */
#ifndef SM_COUNTER_STEP_H
#define SM_COUNTER_STEP_H

#include <stdbool.h>

#include "counters.h"

/* 0 when the name of a group file is one of ours. */
int sm_counter_bare_known(const char *name);
int sm_counter_software_known(const char *name);

/* Whether such a counter counts the machine, not the thread that opened it. */
bool sm_counter_of_machine(const char *name);

/* The descriptors whose sum is one counter: one of a thread, or one for each unit of the machine. */
struct sm_counter_bare {
    int count;
    int fd[64];
    double scale; /* to the unit of the counter */
};

/* Counting for the calling thread (or the machine). 0, or -1 with errno. */
int sm_counter_bare_open(const char *name, struct sm_counter_bare *bare);
/* -1: it cannot be read. */
int sm_counter_bare_read(const struct sm_counter_bare *bare, struct sm_counter_value *value);
void sm_counter_bare_close(struct sm_counter_bare *bare);

/* "pmu:UNITS/EVENT" opens EVENT of each unit of that kind which the kernel shows: counter_pmu.c. */
int sm_counter_pmu_open(const char *name, struct sm_counter_bare *bare);

/* Of the calling thread. -1: not visible here. */
int sm_counter_software_read(const char *name, double *value);

#endif
