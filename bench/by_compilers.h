/* by_compilers.h - the same cases once for each of several compilers: bench --compilers gcc,clang-14. */
#ifndef SM_BY_COMPILERS_H
#define SM_BY_COMPILERS_H

#include <stdio.h>

#include "bench.h"
#include "bench_table.h"
#include "sweep.h"

#define SM_COMPILERS_MOST 8

struct sm_by_compilers {
    size_t count;
    struct sm_by_compiler {
        const char *word; /* as it was typed */
        char name[64];    /* "clang 14.0.6" */
        const struct sm_kernels *kernels;
    } at[SM_COMPILERS_MOST];
};

/* Has the kernels built (dry: says in listing what would be), and replaces each case by one for each compiler, with the
 * family, workload and variant of that build: its answers are checked against its own reference. What a build lacks, as
 * the variants of a plug-in, is refused there. 0, or -1 and a sentence. `by` lives as long as the cases. */
int sm_by_compilers(struct sm_by_compilers *by, const struct sm_bench_builder *builder, const struct sm_strings *words,
                    bool dry, FILE *listing, FILE *progress, struct sm_bench_cases *cases, char *why, size_t why_bytes);

/* A row for each case, a column for each compiler that some record names, and the ratio to the first's time. Samples of
 * the same place were taken one after the other: their ratios are what the median and its spread are of. */
void sm_by_compilers_print(json_t *records, FILE *out);

/* The median ratio of the record's time to that of the first compiler at the same case; NAN: there is none. spread
 * (may be NULL) gets quartile to quartile in % of it. */
double sm_by_compilers_ratio(const json_t *records, const json_t *record, double *spread);

#endif
