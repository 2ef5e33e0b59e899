#include "paired.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MOST 60
#define RANK_SUM_MOST (EXACT_MOST * (EXACT_MOST + 1) / 2)

double sm_normal_cdf(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

/* Newton's steps from a rough start; the distribution's own derivative makes them converge in a few. */
double sm_normal_quantile(double p)
{
    if (!(p > 0 && p < 1)) return NAN;
    if (p > 0.5) return -sm_normal_quantile(1 - p);
    const double t = sqrt(-2 * log(p));
    double x = -(t - (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + 0.04481 * t)));
    for (int i = 0; i < 6; i++) {
        const double density = 0.39894228040143267794 * exp(-x * x / 2);
        const double step = (sm_normal_cdf(x) - p) / density;
        x -= step / (1 + x * step / 2);
    }
    return x;
}

/* counts[w]: ways to reach the sum w with ranks 1..n, divided by 2^n. */
static void rank_sums(size_t n, double *share)
{
    memset(share, 0, (RANK_SUM_MOST + 1) * sizeof *share);
    share[0] = 1;
    size_t top = 0;
    for (size_t i = 1; i <= n; i++) {
        top += i;
        for (size_t w = top + 1; w-- > 0;) share[w] = 0.5 * (share[w] + (w >= i ? share[w - i] : 0));
    }
}

double sm_signed_rank_cdf(size_t n, double c)
{
    const double most = (double)n * (double)(n + 1) / 2;
    if (c < 0) return 0;
    if (c >= most) return 1;
    if (n > EXACT_MOST) {
        const double variance = (double)n * (double)(n + 1) * (double)(2 * n + 1) / 24;
        return sm_normal_cdf((floor(c) + 0.5 - most / 2) / sqrt(variance));
    }
    double share[RANK_SUM_MOST + 1], sum = 0;
    rank_sums(n, share);
    for (size_t w = 0; w <= (size_t)c; w++) sum += share[w];
    return sum < 1 ? sum : 1;
}

/* The largest c with P(T <= c) <= tail; -1: there is none. */
static long largest_within(size_t n, double tail)
{
    double share[RANK_SUM_MOST + 1], sum = 0;
    if (n > EXACT_MOST) {
        long c = -1;
        while (sm_signed_rank_cdf(n, (double)(c + 1)) <= tail) c++;
        return c;
    }
    rank_sums(n, share);
    long c = -1;
    while (c < (long)(n * (n + 1) / 2) && (sum += share[c + 1]) <= tail) c++;
    return c;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of_sorted(const double *x, size_t n)
{
    return n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

static int usable(const double *d, size_t n)
{
    if (n < 1 || n > SM_PAIRED_MOST) return 0;
    for (size_t i = 0; i < n; i++)
        if (!isfinite(d[i])) return 0;
    return 1;
}

static double spread_of(const double *d, size_t n)
{
    double x[SM_PAIRED_MOST];
    memcpy(x, d, n * sizeof *x);
    qsort(x, n, sizeof *x, ascending);
    const double middle = median_of_sorted(x, n);
    for (size_t i = 0; i < n; i++) x[i] = fabs(d[i] - middle);
    qsort(x, n, sizeof *x, ascending);
    return 1.4826 * median_of_sorted(x, n);
}

int sm_paired_estimate(const double *d, size_t n, double alpha, struct sm_paired *out)
{
    const size_t count = n * (n + 1) / 2;
    if (!usable(d, n) || !(alpha > 0 && alpha < 1)) return -1;
    double *walsh = malloc(count * sizeof *walsh);
    if (!walsh) return -1;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++) walsh[k++] = 0.5 * (d[i] + d[j]);
    qsort(walsh, count, sizeof *walsh, ascending);
    const long c = largest_within(n, alpha / 2);
    *out = (struct sm_paired){.effect = median_of_sorted(walsh, count),
                              .low = -INFINITY,
                              .high = INFINITY,
                              .level = 1 - alpha,
                              .spread = spread_of(d, n),
                              .n = n};
    if (c >= 0 && (size_t)c < count) {
        out->low = walsh[c];
        out->high = walsh[count - 1 - (size_t)c];
    }
    free(walsh);
    return 0;
}

struct ranked {
    double size;
    int positive;
};

static int by_size(const void *a, const void *b)
{
    return ascending(&((const struct ranked *)a)->size, &((const struct ranked *)b)->size);
}

double sm_paired_p(const double *d, size_t n, double effect)
{
    struct ranked x[SM_PAIRED_MOST];
    size_t m = 0;
    if (!usable(d, n)) return NAN;
    for (size_t i = 0; i < n; i++)
        if (d[i] != effect) x[m++] = (struct ranked){fabs(d[i] - effect), d[i] > effect};
    if (!m) return 1;
    qsort(x, m, sizeof *x, by_size);
    double positive = 0;
    for (size_t i = 0; i < m;) {
        size_t end = i + 1;
        while (end < m && x[end].size == x[i].size) end++;
        const double rank = (double)(i + 1 + end) / 2;
        for (; i < end; i++)
            if (x[i].positive) positive += rank;
    }
    const double other = (double)m * (double)(m + 1) / 2 - positive;
    const double p = 2 * sm_signed_rank_cdf(m, ceil(positive < other ? positive : other));
    return p < 1 ? p : 1;
}

double sm_paired_detectable(double spread, size_t n, double alpha, double power)
{
    /* 1.047 = pi / 3: the signed-rank test's loss against the mean for normal launches. */
    return (sm_normal_quantile(1 - alpha / 2) + sm_normal_quantile(power)) * spread * sqrt(1.047 / (double)n);
}
