/* bench.h - the command `slotmark bench`. */
#ifndef SM_BENCH_H
#define SM_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "abi.h"

/* Returns 0, 1 (a wrong answer), 2 (bad input) or 130 (interrupted). */
int bench_main(int argc, char **argv);

/* Kernels of this program's sources by other compilers: who builds them is wired by cli (compare/compilers.h). */
struct sm_bench_builder {
    int (*name)(const char *compiler, char *name, size_t bytes, bool *built, char *why, size_t why_bytes);
    const struct sm_kernels *(*kernels)(const char *compiler, FILE *progress, char *why, size_t why_bytes);
    const char *flags;
};
/* Before bench_main; the builder is kept. */
void sm_bench_build_by(const struct sm_bench_builder *builder);

#endif
