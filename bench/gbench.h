/* gbench.h - Google Benchmark from C: one benchmark at a time, every repetition's raw time, no surprises.
 *
 *     struct sm_gbench_flags flags;             what a user may say in Google Benchmark's own words
 *     sm_gbench_flags_parse(&flags, ...)        unknown flag, bad value, bad expression: -1 and a sentence
 *     g = sm_gbench_open(&(struct sm_gbench_options){.json_path = "x.json"}, why, sizeof why)
 *     sm_gbench_run(g, &benchmark, &reporter, why, sizeof why)      once a benchmark
 *     sm_gbench_close(g, ...)                   ends the JSON file
 *
 * A benchmark is a body that the library calls several times (warm-up, search for the number of iterations, each
 * repetition); it times a region:
 *
 *     size_t n = sm_gbench_begin(state);        the clock runs
 *     for (size_t i = 0; i < n; i++) work();
 *     sm_gbench_end(state);                     the clock stops
 *
 * The region is one batch: the count reported is the count executed, and an iteration costs what the loop costs.
 * Time is always real or manual. The library's default, CPU time of the main thread, makes a team of two look
 * nearly twice as fast as it is, so a benchmark that names neither is refused.
 *
 * Functions return 0, or -1 with one sentence in why (always terminated). Nothing is printed, no C++ exception
 * escapes, and the library's own ways out (exit on a bad value, return 0 for no match) are closed by checking first.
 * Not thread-safe: one session at a time, all calls but the work inside a region from one thread. */
#ifndef SM_GBENCH_H
#define SM_GBENCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sm_gbench;       /* a session, with its JSON file */
struct sm_gbench_state; /* one call of a body */

typedef void sm_gbench_body(struct sm_gbench_state *state, void *user);

enum sm_gbench_time {
    SM_GBENCH_TIME_UNSET = 0, /* refused */
    SM_GBENCH_TIME_REAL,      /* wall time between begin and end */
    SM_GBENCH_TIME_MANUAL     /* what the body says with sm_gbench_manual_time */
};

struct sm_gbench_benchmark {
    const char *name; /* stable: no option becomes part of it */
    sm_gbench_body *body;
    void *user; /* handed to body */
    enum sm_gbench_time time;
    double min_time;    /* seconds a repetition lasts at least; 0 only with iterations */
    double warm_up;     /* seconds of running before anything counts; the shim sees to it that they happen */
    size_t iterations;  /* exactly so many a repetition instead of min_time; without warm-up. 0: min_time decides */
    size_t repetitions; /* at least 1 */
};

/* One repetition as measured. Strings live until the callback returns. */
struct sm_gbench_sample {
    const char *name;
    const char *label;  /* "" when none was set */
    const char *error;  /* NULL, or what sm_gbench_skip said: the numbers below mean nothing then */
    size_t repetition;  /* from 0 */
    size_t iterations;  /* executed in the region */
    double seconds;     /* of the whole region, wall or manual */
    double cpu_seconds; /* of the main thread, for a look at preemption; never a rate's denominator */
};

struct sm_gbench_reporter {
    void *user;
    void (*sample)(void *user, const struct sm_gbench_sample *sample); /* every repetition, none left out */
};

struct sm_gbench_options {
    const char *program;        /* argv[0] for the JSON's context; copied. NULL: "slotmark" */
    const char *json_path;      /* Google Benchmark's own JSON; must not exist yet. NULL: none */
    const char *const *context; /* "key=value" strings for the JSON's context */
    size_t context_count;
};

/* What the words after `--` may say. Times are 0 and repetitions 0 when not given. */
struct sm_gbench_flags {
    const char *filter; /* POSIX extended expression on the benchmark's name; a leading '-' inverts. NULL: all */
    const char *out;    /* file for the JSON; NULL: not given */
    double min_time, warm_up;
    size_t repetitions;
    int list; /* names only, run nothing */
    const char *context[16];
    size_t context_count;
};

/* Reads `count` words such as "--benchmark_filter=x". Seconds may carry an "s", whatever the library's version
 * thinks of it. Flags that would hide samples, change the clock or silently do nothing are refused. */
int sm_gbench_flags_parse(struct sm_gbench_flags *flags, char *const *words, size_t count, char *why, size_t why_bytes);

/* 1: filter matches name; 0: it does not; -1: it is no expression (why). NULL matches all. */
int sm_gbench_matches(const char *filter, const char *name, char *why, size_t why_bytes);

/* Removes every BENCHMARK_... variable, each of which would be a flag that nobody typed, and lists them as
 * "NAME=value" in text, separated by spaces ("" when there were none). Returns how many. Call first in main. */
size_t sm_gbench_clear_environment(char *text, size_t text_bytes);

/* NULL: failed, see why. */
struct sm_gbench *sm_gbench_open(const struct sm_gbench_options *options, char *why, size_t why_bytes);

/* Runs one benchmark to its end. -1: it was refused, or reported no repetition. A body that skips is no failure of
 * the run: its sample carries the error. */
int sm_gbench_run(struct sm_gbench *g, const struct sm_gbench_benchmark *benchmark,
                  const struct sm_gbench_reporter *reporter, char *why, size_t why_bytes);

/* Completes the JSON and frees g. -1 when the file could not be written in full. NULL is allowed. */
int sm_gbench_close(struct sm_gbench *g, char *why, size_t why_bytes);

/* For bodies. begin: starts the clock and returns the iterations to execute, 0 after a skip. end: stops it. */
size_t sm_gbench_begin(struct sm_gbench_state *state);
void sm_gbench_end(struct sm_gbench_state *state);

/* Total seconds of the region, between begin and end or after it; for SM_GBENCH_TIME_MANUAL. */
void sm_gbench_manual_time(struct sm_gbench_state *state, double seconds);

/* The sample is an error with this reason. The body returns soon after; end may or may not follow. */
void sm_gbench_skip(struct sm_gbench_state *state, const char *reason);

/* A number for the JSON, under "sm_<name>" so that it meets none of the library's keys. Flags may be or-ed. */
enum sm_gbench_counter {
    SM_GBENCH_PLAIN = 0,
    SM_GBENCH_RATE = 1,           /* divided by seconds */
    SM_GBENCH_PER_ITERATION = 2,  /* divided by iterations */
    SM_GBENCH_EACH_ITERATION = 4, /* value is that of one iteration: multiplied by iterations */
    SM_GBENCH_INVERT = 8,         /* one over it, last of all */
    SM_GBENCH_1024 = 16           /* prefixes are powers of 1024 */
};
void sm_gbench_counter(struct sm_gbench_state *state, const char *name, double value, unsigned flags);

/* Makes the compiler believe that *p is read and that all memory may have changed. */
static inline void sm_gbench_use(const void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

#ifdef __cplusplus
}
#endif

#endif
