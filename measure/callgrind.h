/* callgrind.h - valgrind's callgrind as a child process: how it is started, and what it wrote.
 *
 * The child is this program again, with its plug-ins and other words. What is collected begins and ends at functions
 * that its caller names; nothing of the user's reaches it: its environment holds what OpenMP needs to wait without
 * spinning, and what `keep` names. Caches have the geometry that Linux shows. */
#ifndef SM_CALLGRIND_H
#define SM_CALLGRIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "record.h"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SM_CALLGRIND_POSSIBLE 1
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef SM_CALLGRIND_POSSIBLE
#endif
#endif
#endif

/* One level of the simulated caches: bytes = sets x ways x line, sets and line powers of two. */
struct sm_callgrind_cache {
    size_t bytes, ways, line;
};
struct sm_callgrind_geometry {
    struct sm_callgrind_cache i1, d1, ll;
};

/* The nearest cache, not larger, that callgrind can simulate; 0 for what is not known. */
struct sm_callgrind_cache sm_callgrind_cache_fit(size_t bytes, size_t ways, size_t line);

/* From the kernel's folder of caches ("/sys/devices/system/cpu/cpu0/cache"), and where it has none, the sizes of
 * machine.h; where these have none either, common ones. */
struct sm_callgrind_geometry sm_callgrind_geometry_read(const char *folder);

struct sm_callgrind_counts {
    uint64_t instructions, branches, reads, writes; /* branches: conditional and indirect */
    uint64_t i1_misses, d1_misses, ll_misses;       /* simulated */
};

/* The totals of a file of callgrind. -1 with a sentence: it is none, or nothing was collected. */
int sm_callgrind_read(const char *path, struct sm_callgrind_counts *counts, char *why, size_t why_bytes);

/* What the functions PREFIX0, PREFIX1, ... below `count` called, everything below them included, and not what they
 * did themselves. -1 with a sentence: the file is none of callgrind's. */
int sm_callgrind_read_callees(const char *path, const char *prefix, struct sm_callgrind_counts *counts, size_t count,
                              char *why, size_t why_bytes);

#define SM_CALLGRIND_PATH_BYTES 4096
#define SM_CALLGRIND_PLUGINS_MOST 32

struct sm_callgrind {
    char valgrind[SM_CALLGRIND_PATH_BYTES], version[64];
    char program[SM_CALLGRIND_PATH_BYTES];
    char folder[SM_CALLGRIND_PATH_BYTES]; /* of the child's files, removed by close */
    char *command_line;                   /* of this process; plugins points into it */
    char *plugins[SM_CALLGRIND_PLUGINS_MOST + 1];
    size_t plugin_count;
    struct sm_callgrind_geometry geometry;
};

/* -1 with a sentence: valgrind is not installed, or the program cannot be counted at all. */
int sm_callgrind_open(struct sm_callgrind *tool, char *why, size_t why_bytes);
void sm_callgrind_close(struct sm_callgrind *tool);

enum sm_callgrind_outcome {
    SM_CALLGRIND_DONE,
    SM_CALLGRIND_REFUSED,     /* valgrind cannot run it */
    SM_CALLGRIND_FAILED,      /* and should have */
    SM_CALLGRIND_INTERRUPTED, /* by SIGINT or SIGTERM */
};

/* What the child does. */
struct sm_callgrind_child {
    char *const *words; /* the program's, after its plug-ins */
    size_t word_count;
    const char *toggle;      /* the function that is collected; may end in * */
    const char *dump_after;  /* a file is written when this one returns */
    const char *said;        /* the line that the child ends its output with when all went well */
    const char *const *keep; /* variables of the environment that it gets too, NULL-ended; NULL: none */
    bool one_thread;         /* OpenMP gives it no team */
};

/* Runs it. why unless SM_CALLGRIND_DONE; *pid names its files. */
enum sm_callgrind_outcome sm_callgrind_run(const struct sm_callgrind *tool, const struct sm_callgrind_child *child,
                                           pid_t *pid, char *why, size_t why_bytes);

/* The i-th file that it wrote, from 1. */
void sm_callgrind_file(const struct sm_callgrind *tool, pid_t pid, size_t i, char *path, size_t bytes);

void sm_callgrind_add(struct sm_callgrind_counts *sum, const struct sm_callgrind_counts *more);

/* Into "counters": the mean of so many calls. And as an object, a member for each counter. */
void sm_callgrind_record(struct sm_record *record, const struct sm_callgrind_counts *counts, uint64_t calls,
                         const char *scope);
json_t *sm_callgrind_json(const struct sm_callgrind_counts *counts, uint64_t calls);
/* Into "callgrind": version and simulated caches. */
void sm_callgrind_record_tool(struct sm_record *record, const struct sm_callgrind *tool);

/* Exit code of a child that finds valgrind's CPU too small for what it was told. */
#define SM_CALLGRIND_EXIT_REFUSED 3

#endif
