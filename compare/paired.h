/* paired.h - an effect from paired launches, exact and free of distributions.
 *
 * d[l] is the statistic of launch l: the median over its pairs of ln(time of B / time of A). The estimate is the
 * Hodges-Lehmann one, the median of the Walsh averages (d[i] + d[j]) / 2, i <= j; its interval and its test come from
 * the signed-rank sum's null distribution (Wilcoxon 1945; Hollander and Wolfe, "Nonparametric Statistical Methods",
 * 3.1 to 3.3). They are exact for any distribution that is symmetric about the effect, and launches are symmetric when
 * nothing differs, because the order within each pair is drawn. */
#ifndef SM_PAIRED_H
#define SM_PAIRED_H

#include <stddef.h>

#define SM_PAIRED_MOST 256 /* launches */

/* P(T <= c) of the signed-rank sum T of n launches when nothing differs: exact up to 60, above that by the normal
 * approximation with a continuity correction. n <= SM_PAIRED_MOST. */
double sm_signed_rank_cdf(size_t n, double c);

struct sm_paired {
    double effect;    /* of ln(B / A) */
    double low, high; /* the interval at `level`, or -INFINITY and INFINITY where n cannot reach that level */
    double level;     /* 1 - alpha, as asked for */
    double spread;    /* 1.4826 MAD of d: the launches' own standard deviation, robust */
    size_t n;
};

/* 1 <= n <= SM_PAIRED_MOST and every d finite: 0; else -1. */
int sm_paired_estimate(const double *d, size_t n, double alpha, struct sm_paired *out);

/* The two-sided p-value of "the effect is `effect`": zeros are dropped, ties share their ranks (and are then judged by
 * the untied distribution, which errs on the side of caution). NAN for what sm_paired_estimate refuses. */
double sm_paired_p(const double *d, size_t n, double effect);

/* The effect that n launches of this spread would find with the given power at a two-sided alpha. */
double sm_paired_detectable(double spread, size_t n, double alpha, double power);

/* The standard normal distribution and its inverse (0 < p < 1). */
double sm_normal_cdf(double x);
double sm_normal_quantile(double p);

#endif
