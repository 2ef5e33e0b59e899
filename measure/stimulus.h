/* stimulus.h - known work, to judge counters by: how often each counter must step for one unit of it. */
#ifndef SM_STIMULUS_H
#define SM_STIMULUS_H

#include <stddef.h>
#include <stdint.h>

struct sm_stimulus {
    const char *name;
    int (*run)(uint64_t units); /* 0, or -1: it cannot be done here */
    uint64_t units;             /* the smallest of three sizes: units, 2 units, 8 units */
    double least, most;         /* counts a unit */
};

/* NULL: no such work is known. */
const struct sm_stimulus *sm_stimulus_named(const char *name);

/* 3 instructions and 1 branch a unit, which the multiply's latency holds to 3 cycles. */
void sm_stimulus_loop(uint64_t units);

#endif
