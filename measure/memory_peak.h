/* memory_peak.h - the most memory that this process held resident since a moment of its choosing.
 *
 * getrusage gives the peak since the process began, in which one piece of work hides behind a larger one before it.
 * Linux can start it afresh (proc(5), /proc/pid/clear_refs, 5). */
#ifndef SM_MEMORY_PEAK_H
#define SM_MEMORY_PEAK_H

#include <stdbool.h>
#include <stdint.h>

/* The peak is what is resident now. false: the kernel does not allow it, and the peak stays as it was. */
bool sm_memory_peak_restart(void);

/* Bytes; the pages of mapped files count. */
int64_t sm_memory_peak(void);

#endif
