#include "verify_metrics.h"

#include <math.h>

struct row {
    size_t best;
    double greatest, second, log_sum; /* log of the sum of exp(x - greatest) */
};

static struct row row_of(const float *x, size_t cols)
{
    struct row r = {0, (double)x[0], -INFINITY, 0};
    for (size_t i = 1; i < cols; i++) {
        const double v = (double)x[i];
        if (v > r.greatest) {
            r.second = r.greatest;
            r.greatest = v;
            r.best = i;
        } else if (v > r.second) {
            r.second = v;
        }
    }
    double sum = 0;
    for (size_t i = 0; i < cols; i++) sum += exp((double)x[i] - r.greatest);
    r.log_sum = log(sum);
    return r;
}

/* The sum over the vocabulary of p (log p - log q); rounding may leave it a hair below nought. */
static double divergence(const float *reference, struct row p, const float *tested, struct row q, size_t cols)
{
    double sum = 0;
    for (size_t i = 0; i < cols; i++) {
        const double log_p = (double)reference[i] - p.greatest - p.log_sum;
        sum += exp(log_p) * (log_p - ((double)tested[i] - q.greatest - q.log_sum));
    }
    return sum > 0 ? sum : 0;
}

void sm_difference_measure(const float *reference, const float *tested, size_t rows, size_t cols,
                           struct sm_difference *d)
{
    double low = (double)reference[0], high = low, sum = 0;
    *d = (struct sm_difference){.finite = true, .rows = rows, .margin = INFINITY};
    for (size_t i = 0; i < rows * cols; i++) {
        const double r = (double)reference[i], off = fabs((double)tested[i] - r);
        if (!isfinite(off)) d->finite = false;
        low = fmin(low, r);
        high = fmax(high, r);
        d->max = fmax(d->max, off);
        d->square += off * off;
        d->power += r * r;
        sum += off;
    }
    if (!d->finite) {
        d->peir = d->mean = d->max = d->kl = d->margin = d->square = NAN;
        d->reference_argmax = d->tested_argmax = -1;
        return;
    }
    d->mean = sum / (double)(rows * cols);
    const double interval = high > low ? high - low : 1;
    d->peir = d->max / interval;
    for (size_t i = 0; i < rows; i++) {
        const struct row p = row_of(reference + i * cols, cols), q = row_of(tested + i * cols, cols);
        d->kl += divergence(reference + i * cols, p, tested + i * cols, q, cols) / (double)rows;
        const double margin = p.greatest - p.second;
        d->margin = fmin(d->margin, margin);
        d->ties += p.best != q.best && margin < SM_TIE * interval;
        d->agree += p.best == q.best;
        d->reference_argmax = (int32_t)p.best;
        d->tested_argmax = (int32_t)q.best;
    }
}
