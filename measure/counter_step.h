/* counter_step.h - the two steps below PAPI: the bare system call, and what software knows. */
#ifndef SM_COUNTER_STEP_H
#define SM_COUNTER_STEP_H

/* 0 when the name of a group file is one of ours. */
int sm_counter_bare_known(const char *name);
int sm_counter_software_known(const char *name);

/* A counting descriptor for the calling thread, or -1 with errno. */
int sm_counter_bare_open(const char *name);
/* The count so far, scaled up by the time it did not run; *share: the part of the time that it ran (0: it
 * never did). -1: it cannot be read. */
int sm_counter_bare_read(int fd, double *value, double *share);

/* Of the calling thread. -1: not visible here. */
int sm_counter_software_read(const char *name, double *value);

#endif
