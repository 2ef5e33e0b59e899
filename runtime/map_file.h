/* map_file.h - a whole regular file, mapped read-only. */
#ifndef SM_MAP_FILE_H
#define SM_MAP_FILE_H

#include <stddef.h>

/* The bytes of a file that is regular and not empty, to be unmapped by the caller; or NULL and in `problem` what is
 * wrong with it. Never waits, whatever the path names. */
void *sm_map_file(const char *path, size_t *bytes, const char **problem);

#endif
