#include "stats.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double sm_quantile(const double *sorted, size_t count, double q)
{
    if (count == 0) return NAN;
    const double at = q * (double)(count - 1);
    const size_t i = (size_t)at;
    if (i + 1 >= count) return sorted[count - 1];
    return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

double sm_median(double *values, size_t count)
{
    if (count) qsort(values, count, sizeof *values, ascending);
    return sm_quantile(values, count, 0.5);
}

/* The chance that the median lies below the k-th smallest of n is P(B <= k-1), B binomial(n, 1/2); the
 * same above, so the pair covers 1 - 2 P(B <= k-1). Logarithms keep large n in range. */
size_t sm_median_rank(size_t n, double wanted, double *coverage)
{
    double term = (double)n * log(0.5); /* ln P(B = 0) */
    double below = exp(term);
    size_t k = 0;
    double covered = 0;
    while (k < n / 2 + n % 2 && 1 - 2 * below >= wanted) {
        k++;
        covered = 1 - 2 * below;
        term += log((double)(n - k + 1)) - log((double)k);
        below += exp(term);
    }
    if (coverage) *coverage = k ? covered : NAN;
    return k;
}

static void all_nan(struct sm_summary *s)
{
    *s = (struct sm_summary){0, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
}

int sm_summarise(const double *samples, size_t count, struct sm_summary *s)
{
    all_nan(s);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(samples[i])) return -1;
    double *sorted = count && count < SIZE_MAX / sizeof *sorted ? malloc(count * sizeof *sorted) : NULL;
    if (!sorted) return -1;
    memcpy(sorted, samples, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, ascending);

    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) sum += sorted[i];
    const double mean = sum / (double)count;
    for (size_t i = 0; i < count; i++) squares += (sorted[i] - mean) * (sorted[i] - mean);
    *s = (struct sm_summary){.count = count,
                             .least = sorted[0],
                             .most = sorted[count - 1],
                             .mean = mean,
                             .deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : NAN,
                             .median = sm_quantile(sorted, count, 0.5),
                             .q25 = sm_quantile(sorted, count, 0.25),
                             .q75 = sm_quantile(sorted, count, 0.75),
                             .p90 = sm_quantile(sorted, count, 0.90),
                             .p95 = sm_quantile(sorted, count, 0.95),
                             .p99 = sm_quantile(sorted, count, 0.99),
                             .low = NAN,
                             .high = NAN};
    const size_t k = sm_median_rank(count, 0.95, &s->coverage);
    if (k) {
        s->low = sorted[k - 1];
        s->high = sorted[count - k];
    }
    for (size_t i = 0; i < count; i++) sorted[i] = fabs(sorted[i] - s->median);
    s->mad = sm_median(sorted, count);
    free(sorted);
    return 0;
}
