/* calibrate.h - how good this machine's verdicts are: builds against themselves, and against themselves with planted
 * work. The goals are comparison: 4.2. */
#ifndef SM_CALIBRATE_H
#define SM_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>

/* Trials of one kind, and how they ended. */
struct sm_trials {
    size_t count, faster, slower, same, inconclusive, failed;
    size_t excludes_zero; /* intervals */
    size_t covers;        /* intervals that hold the truth */
    size_t quick_same;    /* proved the same within 12 launches */
};

/* The exact upper limit (95 %) of a share of which `hits` of `count` were seen (Clopper and Pearson 1934). */
double sm_upper_limit(size_t hits, size_t count);

int calibrate_main(int argc, char **argv);

#endif
