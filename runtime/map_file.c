#include "map_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void *sm_map_file(const char *path, size_t *bytes, const char **problem)
{
    struct stat facts;
    void *map = MAP_FAILED;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for its writer */
    *problem = NULL;
    if (fd >= 0 && !fstat(fd, &facts)) {
        *bytes = (size_t)facts.st_size;
        if (S_ISDIR(facts.st_mode))
            *problem = "it is a directory";
        else if (!S_ISREG(facts.st_mode))
            *problem = "it is not a regular file";
        else if (facts.st_size <= 0)
            *problem = "it is empty";
        else
            map = mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (map == MAP_FAILED && !*problem) *problem = strerror(errno);
    if (fd >= 0) close(fd);
    return map == MAP_FAILED ? NULL : map;
}
