/* captured.h - a command's main, run in this process with its output in a file. */
#ifndef SM_CAPTURED_H
#define SM_CAPTURED_H

/* Calls main with copies of texts (NULL-terminated, at most 15); standard output and error go to path, which is
 * emptied first. The exit code. Fails the test where that cannot be set up. */
int captured(int (*main)(int argc, char **argv), const char *const *texts, const char *path);

#endif
