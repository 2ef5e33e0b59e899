/* stats.h - summaries of raw samples. Nothing here assumes a normal distribution. */
#ifndef SM_STATS_H
#define SM_STATS_H

#include <stddef.h>

struct sm_summary {
    size_t count;
    double least, most, mean, deviation; /* deviation: sample standard deviation, NAN below 2 samples */
    double median, q25, q75, p90, p95, p99;
    double mad; /* median absolute deviation from the median, unscaled */
    /* A confidence interval of the median by order statistics (exact, distribution-free): the narrowest
     * symmetric pair of samples that covers it with at least 95 %. NAN below 6 samples. */
    double low, high;
    double coverage; /* what the pair really covers: 0.95 to 1 */
};

/* 0, or -1: no sample, a sample that is not finite, or no memory; *summary is then all NAN. */
int sm_summarise(const double *samples, size_t count, struct sm_summary *summary);

/* The q-quantile (0..1) of ascending values, with linear interpolation between neighbours (type 7);
 * NAN for none. */
double sm_quantile(const double *sorted, size_t count, double q);

/* Of values in any order; reorders them. NAN for none. */
double sm_median(double *values, size_t count);

/* The rank k (from 1) of the interval [k-th, (n+1-k)-th smallest] of the median with at least the wanted
 * coverage; 0: n is too small. *coverage, when given, gets what it really covers. */
size_t sm_median_rank(size_t n, double wanted, double *coverage);

#endif
