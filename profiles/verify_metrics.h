/* verify_metrics.h - how far one set of logits lies from another.
 *
 * PEIR, the peak error to interval ratio, has an order of arguments: here the interval is always the reference's,
 * max|reference - tested| / (max(reference) - min(reference)), 1 in place of an interval of nothing. Softmax and
 * divergence are computed in float64, the greatest logit subtracted first. */
#ifndef SM_VERIFY_METRICS_H
#define SM_VERIFY_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SM_TIE 0.001

struct sm_difference {
    bool finite;          /* all numbers of the tested side are; else the rest is NAN */
    double peir;          /* a ratio, not per cent */
    double mean, max;     /* of the absolute differences */
    double kl;            /* KL(reference || tested) over the vocabulary, in nats, the mean of the rows */
    double margin;        /* of the reference's greatest logit over its second, the least of the rows */
    double square, power; /* sums of squares: of the differences, of the reference */
    size_t rows, agree;   /* rows whose greatest logit is the same one */
    size_t ties;          /* rows that disagree, but the reference's margin is below SM_TIE of the interval */
    int32_t reference_argmax, tested_argmax; /* of the last row */
};

/* Of [rows][cols], all elements pooled. rows, cols >= 1. */
void sm_difference_measure(const float *reference, const float *tested, size_t rows, size_t cols,
                           struct sm_difference *d);

#endif
