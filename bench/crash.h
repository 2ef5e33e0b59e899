/* crash.h - a case that kills the process, ends it, or never returns: its record says so, and the run goes on without
 * it.
 *
 * Nothing is spent on it: no process for each case. While a case runs, the line that its record would be is at hand.
 * When SIGSEGV, SIGBUS, SIGILL, SIGFPE or SIGABRT comes, exit or _exit is called, or the case has run for longer than
 * its limit, that line is appended to the result file and a fresh process of the same command put in this one's place
 * (execve), which resumes that file; --resume leaves out what crashed. Time in which the process is stopped does not
 * count. The handler calls nothing but the kernel. Where the line cannot be written, the process dies as ever. A bare
 * system call exit_group, and SIGKILL, cannot be seen from within: they end the run. */
#ifndef SM_CRASH_H
#define SM_CRASH_H

#include "record.h"

#define SM_CRASHED_BY "crashed by "

/* From now on, with records appended to the file at path. Before any thread is pinned. */
void sm_crash_begin(const char *path);
/* And no longer. */
void sm_crash_end(void);

struct sm_crash_line;

/* What would be written of a case that is described in the record, whose code may run for so many seconds at a time.
 * NULL where nothing would be: not between begin and end, or no memory. */
struct sm_crash_line *sm_crash_line_create(struct sm_record *record, double seconds);
void sm_crash_line_destroy(struct sm_crash_line *line);

/* The case whose code runs now, from now on; NULL: none. */
void sm_crash_at(struct sm_crash_line *line);

/* Called by each thread that runs such code: what to stand on when it has used up its own stack. */
void sm_crash_stand(void);

/* A record of such a case. */
bool sm_crash_is(const json_t *record);

#endif
