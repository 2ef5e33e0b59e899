/* count.h - `bench --count`: what one call of a kernel executes, to the instruction, on a machine without counters.
 *
 * Each case runs in a child process under valgrind's callgrind. Collection is toggled by the symbol of a jump of one
 * instruction, through which the kernel is entered (count_region.h), so that every kernel can be counted, those of
 * plug-ins and without symbols included, and nothing around it is. The answer is checked natively first, in this
 * process; under valgrind no number is judged, since it rounds differently.
 *
 *   hot    each thread calls its part twice before the call that counts: simulated caches hold what they can
 *   cold   then it reads an area as large as the last simulated level: operands come from memory, code does not
 *
 * The parts of a team's threads are counted one after another in one thread, since a kernel knows nothing of others:
 * each is alone on simulated caches of its own, and the sum is exact whatever OpenMP does while it waits. */
#ifndef SM_COUNT_H
#define SM_COUNT_H

#include "bench_table.h"
#include "cases.h"
#include "sweep.h"

/* What valgrind 3.19 can run. Variants that need more are refused by name. */
#define SM_COUNT_FEATURES SM_NEEDS_avx2

/* Counts the cases, appends records of kind "count" and prints their table. The exit code; 2: why says it. */
int sm_count_cases(const struct sm_cases *cases, const struct sm_case_options *options, enum sm_bench_format format,
                   char *why, size_t why_bytes);

/* About how long a case takes, in seconds. */
double sm_count_estimate(const struct sm_bench_case *c);

/* The child's side: `words` are what count_child.h says. Returns its exit code. */
int sm_count_child(char *const *words, size_t count);

#endif
