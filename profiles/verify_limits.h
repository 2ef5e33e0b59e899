/* verify_limits.h - the limits of a verdict, and the verdict. */
#ifndef SM_VERIFY_LIMITS_H
#define SM_VERIFY_LIMITS_H

#include "run.h"
#include "verify_metrics.h"

/* NAN: no limit. The first three hold for every step; kl for their mean; argmax for the share of the rows. */
struct verify_limits {
    double peir;       /* per cent */
    double mean, max;  /* of the logits' absolute differences */
    double kl;         /* nats */
    double argmax;     /* per cent, at least */
    double perplexity; /* per cent by which it may rise over the reference\'s */
};

/* What a recipe may cost with such a cache; `exact`: the reference has the same weights and was computed elsewhere in
 * float32. */
struct verify_limits verify_limits_standard(const char *recipe, enum sm_kv_type kv, bool exact);

/* A summary of steps. */
struct verify_summary {
    size_t steps, rows, agree, ties;
    double peir, mean, max, kl; /* peir as a ratio, the worst; mean and kl means; max the greatest */
    size_t worst;               /* the step of that PEIR */
    bool finite;
    double perplexity_rise; /* a ratio less one; NAN: there was no text */
};

void verify_summary_begin(struct verify_summary *s);
void verify_summary_add(struct verify_summary *s, const struct sm_difference *d);

/* NULL within the limits, else which one is exceeded, by what and where: a sentence in `text`. */
const char *verify_verdict(const struct verify_summary *s, const struct verify_limits *limits, char *text,
                           size_t bytes);

#endif
