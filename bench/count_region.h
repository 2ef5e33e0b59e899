/* count_region.h - the jump through which a kernel is entered while it is counted.
 *
 * The part lies on the stack and stays where it is, so that the kernel finds its arguments as if it had been called:
 * the region costs exactly one instruction, a jump, and no memory access. */
#ifndef SM_COUNT_REGION_H
#define SM_COUNT_REGION_H

#include "callgrind.h"
#include "registry.h"

#define SM_COUNT_SYMBOL "sm_count_region"
#define SM_COUNT_REGION_INSTRUCTIONS 1
#define SM_COUNT_REGION_BRANCHES 1

typedef void sm_count_entry(const void *args, struct sm_part part, sm_kernel_fn *fn);

/* The same jump twice, in one line of the instruction cache: the first warms, the second is collected. */
sm_count_entry sm_count_warm, sm_count_region;

#endif
