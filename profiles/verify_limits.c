#include "verify_limits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Measured on SmolLM2-135M and on small random models, with room: what a recipe itself costs depends on the model, and
 * a fault moves logits by tens of per cent. 4 bits a channel, rounded to nearest, cost a small model very much. */
static const struct {
    const char *recipe; /* the first that a name begins with */
    struct verify_limits limits;
} standards[] = {
    {"w4c", {.peir = 75, .mean = NAN, .max = NAN, .kl = 1.5, .argmax = 25, .perplexity = 150}},
    {"w8c", {.peir = 25, .mean = NAN, .max = NAN, .kl = 0.15, .argmax = 60, .perplexity = 12}},
    {"", {.peir = 10, .mean = NAN, .max = NAN, .kl = 0.1, .argmax = 60, .perplexity = 10}},
};

static struct verify_limits of_float(enum sm_kv_type kv, bool exact)
{
    switch (kv) {
    case SM_KV_F32: return (struct verify_limits){exact ? 0.002 : 0.02, NAN, NAN, 1e-4, 100, 0.1};
    case SM_KV_F16: return (struct verify_limits){1, NAN, NAN, 1e-3, 90, 0.5};
    default: return (struct verify_limits){5, NAN, NAN, 0.05, 80, 3};
    }
}

struct verify_limits verify_limits_standard(const char *recipe, enum sm_kv_type kv, bool exact)
{
    size_t i = 0;
    if (!strcmp(recipe, "float")) return of_float(kv, exact);
    while (strncmp(recipe, standards[i].recipe, strlen(standards[i].recipe)) != 0) i++;
    return standards[i].limits;
}

void verify_summary_begin(struct verify_summary *s)
{
    *s = (struct verify_summary){.finite = true, .perplexity_rise = NAN};
}

void verify_summary_add(struct verify_summary *s, const struct sm_difference *d)
{
    const double before = (double)s->rows, rows = (double)d->rows;
    s->rows += d->rows;
    s->steps++;
    if (!d->finite) {
        if (s->finite) s->worst = s->steps - 1;
        s->finite = false;
        return;
    }
    s->agree += d->agree;
    s->ties += d->ties;
    if (d->peir > s->peir) {
        s->peir = d->peir;
        if (s->finite) s->worst = s->steps - 1;
    }
    s->max = fmax(s->max, d->max);
    s->mean = (s->mean * before + d->mean * rows) / (before + rows);
    s->kl = (s->kl * before + d->kl * rows) / (before + rows);
}

const char *verify_verdict(const struct verify_summary *s, const struct verify_limits *l, char *text, size_t bytes)
{
    const double share = 100 * (double)(s->agree + s->ties) / (double)(s->rows ? s->rows : 1);
    if (!s->finite)
        snprintf(text, bytes, "step %zu has logits that are not finite", s->worst + 1);
    else if (100 * s->peir > l->peir)
        snprintf(text, bytes, "the PEIR of step %zu is %.3g %%, more than %.3g %%", s->worst + 1, 100 * s->peir,
                 l->peir);
    else if (s->max > l->max)
        snprintf(text, bytes, "a logit is off by %.3g, more than %.3g", s->max, l->max);
    else if (s->mean > l->mean)
        snprintf(text, bytes, "logits are off by %.3g on average, more than %.3g", s->mean, l->mean);
    else if (s->kl > l->kl)
        snprintf(text, bytes, "the mean KL divergence is %.3g nats, more than %.3g", s->kl, l->kl);
    else if (share < l->argmax)
        snprintf(text, bytes, "the greatest logit agrees in %.3g %% of the rows, less than %.3g %%", share, l->argmax);
    else if (100 * s->perplexity_rise > l->perplexity)
        snprintf(text, bytes, "the perplexity rises by %.3g %%, more than %.3g %%", 100 * s->perplexity_rise,
                 l->perplexity);
    else
        return NULL;
    return text;
}
