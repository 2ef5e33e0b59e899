/* change_points.h - where a series changed its level: candidates, which a comparison then confirms or not. */
#ifndef SM_CHANGE_POINTS_H
#define SM_CHANGE_POINTS_H

#include <stddef.h>

#define SM_SERIES_MOST 5000
#define SM_SEGMENT_LEAST 3

/* Splits z[0..n) into segments that each stay near their median, by the least sum of absolute deviations plus
 * kappa s ln(n) for each cut (dynamic programming, O(n^2 log n)); s is the series' noise by its successive differences,
 * made larger where they show autocorrelation (comparison: 2.11), and at least `noise`: builds of identical code are
 * all at 0, beside which anything else would be a change. Writes the first index of every segment but the first to
 * `cuts` and returns how many there are; no memory or too long a series: (size_t)-1. Values must be finite. */
size_t sm_change_points(const double *z, size_t n, double kappa, double noise, size_t *cuts, size_t most);

/* The median of z[begin..end). NAN: empty. */
double sm_level(const double *z, size_t begin, size_t end);

#endif
