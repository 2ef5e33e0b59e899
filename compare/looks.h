/* looks.h - when to stop: looks at the launches so far, with an error that is kept over all of them.
 *
 * Looks after 8, 12, 16, 24, 32 and 40 launches. Each spends a part of alpha (Lan and DeMets 1983): `quick` by the
 * Pocock-type function alpha ln(1 + (e - 1) t), which stops early for large effects, `thorough` by the O'Brien-Fleming
 * type, which keeps more for the end. */
#ifndef SM_LOOKS_H
#define SM_LOOKS_H

#include <stdbool.h>
#include <stddef.h>

#include "paired.h"

#define SM_LOOKS 6
extern const size_t sm_look_launches[SM_LOOKS];

enum sm_spending { SM_SPENDING_QUICK, SM_SPENDING_THOROUGH };

/* The two-sided level at which look i tests, for an alpha of 0.05 or 0.01 in all; NAN otherwise. */
double sm_look_alpha(enum sm_spending spending, double alpha, size_t look);

/* The p-value over the looks so far: the least p[i] / weight[i], exact by the union bound however many looks were
 * made. p holds one value for each look made. */
double sm_look_p(const double *p, size_t looks);

/* What an interval says of the effect: nothing yet; beyond the tolerance; a change that is proved (beyond the floor)
 * and within the tolerance; or no proved change, and none beyond the tolerance. */
enum sm_finding { SM_OPEN, SM_SLOWER, SM_FASTER, SM_SLOWER_WITHIN, SM_FASTER_WITHIN, SM_SAME };

/* floor and tolerance in ln(B / A), both positive. */
enum sm_finding sm_look_finding(const struct sm_paired *estimate, double floor, double tolerance);

/* Benjamini and Hochberg 1995: marks the p-values that are rejected with a false discovery rate of q. Returns how many.
 */
size_t sm_discoveries(const double *p, size_t count, double q, bool *rejected);

#endif
