/* sweep.h - which cases to time: lines of text, changed by the command line, expanded to cases.
 *
 * A sweep is a text file, one line a rectangle of cases, # starts a comment:
 *
 *     FAMILY[,FAMILY...] AXIS=VALUES... [variant=CHOICE,...] [threads=VALUES] [shape=MODEL]
 *
 *   FAMILY   a name or a pattern (attention_*)
 *   VALUES   whole numbers: 1,2,8..256*2 (arguments.h), or @AXIS: the value of another axis (rows=@max_seq)
 *   CHOICE   best: the fastest by the list, for each format and each cache layout; levels: the best of each
 *            instruction set; all; a name or a pattern; best:PATTERN: the best that the pattern matches.
 *            Nothing given: best
 *   MODEL    a shape of profiles/shapes: the line is repeated for each of its matrices or attention geometries
 *
 * An axis that is not named has its standard value. A family without a line runs at its standard shape, so a new
 * family is timed from its first day. */
#ifndef SM_SWEEP_H
#define SM_SWEEP_H

#include <stdbool.h>
#include <stddef.h>

#include "arguments.h"
#include "registry.h"
#include "workload.h"

#define SM_BENCH_ID_BYTES 320

struct sm_bench_case {
    const struct sm_family *family;
    const struct sm_workload *workload;
    const struct sm_variant *variant;
    const char *compiler, *flags; /* "clang 14.0.6", whose build these are from; NULL: this program's own */
    struct sm_shape shape;
    size_t threads;
    bool cold;
    uint64_t seed;
    bool planned, done;         /* it is to be run; its record is written */
    const char *refused;        /* NULL, or why the combination has no meaning or cannot run here */
    char id[SM_BENCH_ID_BYTES]; /* family/variant/axis=value,.../t<threads>/hot; then /clang-14.0.6 */
};

struct sm_bench_cases {
    struct sm_bench_case **at;
    size_t count, capacity;
};

/* Values that replace those of every line whose family has the axis. */
struct sm_sweep_override {
    const char *axis; /* "max_seq"; "vocab" stands for the columns of softcap and argmax too */
    struct sm_list values;
};
#define SM_SWEEP_OVERRIDES_MOST 32

/* What the command line asks of a sweep. Everything empty: the sweep as it is. */
struct sm_sweep_choice {
    struct sm_strings families, groups, variants, layouts, kv;
    struct sm_sweep_override overrides[SM_SWEEP_OVERRIDES_MOST];
    size_t override_count;
    const char *shape_of; /* a model's shape for every line, or NULL */
    struct sm_list threads;
    bool hot, cold; /* both: each case in both states; neither: hot */
    uint64_t seed;
    uint32_t features;       /* what this CPU may run (cpu.h) */
    size_t hardware_threads; /* larger teams are refused; 0: not known */
};

/* Values for an axis, joining those it has already. -1: too many. */
int sm_sweep_override(struct sm_sweep_choice *choice, const char *axis, const struct sm_list *values, char *why,
                      size_t why_bytes);
/* "name=v1,v2[;name=...]", as --dim takes it. */
int sm_sweep_override_text(struct sm_sweep_choice *choice, const char *text, char *why, size_t why_bytes);

/* The cases of the file at `path`. 0, or -1 and a sentence. The caller frees cases either way. */
int sm_sweep_load(const char *path, const struct sm_sweep_choice *choice, struct sm_bench_cases *cases, char *why,
                  size_t why_bytes);
/* The same from text; `where` names it in errors. */
int sm_sweep_parse(const char *text, const char *where, const struct sm_sweep_choice *choice,
                   struct sm_bench_cases *cases, char *why, size_t why_bytes);
void sm_bench_cases_free(struct sm_bench_cases *cases);

/* For the two files that share the work. */
struct sm_sweep_line {
    const struct sm_family *family;
    struct sm_list values[SM_MAX_DIMS];
    int same[SM_MAX_DIMS];   /* the axis whose value this one has, or -1 */
    bool named[SM_MAX_DIMS]; /* by the line or the command line: a model's shape leaves it alone */
    struct sm_strings variants;
    struct sm_list threads;
    const char *shape;
};

/* Adds the line's cases, leaving out ids that are there already. */
int sm_sweep_expand(const struct sm_sweep_line *line, const struct sm_sweep_choice *choice,
                    struct sm_bench_cases *cases, char *why, size_t why_bytes);

#endif
