/* command.h - other programs (git, cmake, tar, cc): run to their end, their words kept. Not for the arms. */
#ifndef SM_COMPARE_COMMAND_H
#define SM_COMPARE_COMMAND_H

#include <stddef.h>

/* Runs argv[0], found on PATH; what it prints goes to the end of the file `log` (NULL: nowhere). `extra` is one more
 * "NAME=value" of its environment, or NULL. Its exit code; 127 when it cannot be started, 128 + signal when killed. */
int sm_command_run(const char *const *argv, const char *log, const char *extra);

/* The same, and its first line of output, without the newline, into `line`. */
int sm_command_line(const char *const *argv, const char *extra, char *line, size_t bytes);

/* `from | to`, both run by argv. The exit code of the first that failed. */
int sm_command_pipe(const char *const *from, const char *const *to, const char *log);

#endif
