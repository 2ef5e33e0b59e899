/* count_tool.h - callgrind as a child process: how it is started, and what it wrote. */
#ifndef SM_COUNT_TOOL_H
#define SM_COUNT_TOOL_H

#include <stddef.h>
#include <stdint.h>

#include "rates.h"
#include "sweep.h"

/* One level of the simulated caches: bytes = sets x ways x line, sets and line powers of two. */
struct sm_count_cache {
    size_t bytes, ways, line;
};
struct sm_count_geometry {
    struct sm_count_cache i1, d1, ll;
};

/* The nearest cache, not larger, that callgrind can simulate; 0 for what is not known. */
struct sm_count_cache sm_count_cache_fit(size_t bytes, size_t ways, size_t line);

/* From the kernel's folder of caches ("/sys/devices/system/cpu/cpu0/cache"), and where it has none, the sizes of
 * machine.h; where these have none either, common ones. */
struct sm_count_geometry sm_count_geometry_read(const char *folder);

/* What one part of a call executes. */
struct sm_counted {
    uint64_t instructions, branches, reads, writes;
    uint64_t i1_misses, d1_misses, ll_misses; /* simulated */
};

/* Reads a file of callgrind. -1 with a sentence. */
int sm_counted_read(const char *path, struct sm_counted *counted, char *why, size_t why_bytes);

#define SM_COUNT_PATH_BYTES 4096
#define SM_COUNT_PLUGINS_MOST 32

struct sm_count_tool {
    char valgrind[SM_COUNT_PATH_BYTES], version[64];
    char program[SM_COUNT_PATH_BYTES];
    char folder[SM_COUNT_PATH_BYTES]; /* of the child's files, removed by close */
    char *command_line;               /* of this process; plugins points into it */
    char *plugins[SM_COUNT_PLUGINS_MOST + 1];
    size_t plugin_count;
    struct sm_count_geometry geometry;
};

/* -1 with a sentence: valgrind is not installed, or the program cannot be counted at all. */
int sm_count_tool_open(struct sm_count_tool *tool, char *why, size_t why_bytes);
void sm_count_tool_close(struct sm_count_tool *tool);

enum sm_count_outcome {
    SM_COUNTED,
    SM_COUNT_REFUSED,     /* valgrind cannot run it */
    SM_COUNT_FAILED,      /* and should have */
    SM_COUNT_INTERRUPTED, /* by SIGINT or SIGTERM */
};

/* Counts one call of the case, by thread: counted[0..threads). why unless SM_COUNTED. */
enum sm_count_outcome sm_count_tool_run(const struct sm_count_tool *tool, const struct sm_bench_case *c,
                                        struct sm_counted *counted, char *why, size_t why_bytes);

/* Exit code of a child that finds valgrind's CPU too small for the variant. */
#define SM_COUNT_EXIT_REFUSED 3

#endif
