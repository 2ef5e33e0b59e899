/* From launches to verdicts: no clock, no process, nothing drawn. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rounds.h"
#include "stats.h"

/* An interval that is shorter than this share of the tolerance and still holds a limit would take very many launches
 * more to leave it. */
#define NARROW 0.25

static bool beyond(const struct sm_paired *e, const struct sm_rounds_options *o)
{
    return e->low > log1p(o->floor) || e->high < -log1p(o->floor);
}

/* Whether a change is proved, at the level that a lone one among m needs to pass the correction for their number, and
 * still lies where `finding` says at that level (any finding of a change: SM_OPEN). */
static bool proved(const struct sm_comparison *c, const struct sm_rounds_options *o, size_t m, enum sm_finding finding)
{
    struct sm_paired wide = c->estimate;
    const double lone = o->discovery / (double)(m ? m : 1);
    if (!beyond(&wide, o)) return false;
    if (o->discovery >= 1) return true;
    if (c->p_overall > lone) return false;
    if (lone < 1 - c->estimate.level && sm_paired_estimate(c->d, c->launches, lone, &wide)) return false;
    if (!beyond(&wide, o)) return false;
    return finding == SM_OPEN || sm_look_finding(&wide, log1p(o->floor), log1p(o->tolerance)) == finding;
}

enum sm_finding sm_rounds_look(struct sm_comparison *c, const struct sm_rounds_options *o, size_t m)
{
    const double alpha = sm_look_alpha(o->spending, o->alpha, c->looks);
    if (c->looks == SM_LOOKS || sm_paired_estimate(c->d, c->launches, alpha, &c->estimate)) return SM_OPEN;
    c->p[c->looks++] = sm_paired_p(c->d, c->launches, 0);
    c->p_overall = sm_look_p(c->p, c->looks);
    const enum sm_finding finding = sm_look_finding(&c->estimate, log1p(o->floor), log1p(o->tolerance));
    const bool narrow = c->estimate.high - c->estimate.low < NARROW * log1p(o->tolerance);
    if (c->control) return finding;
    if (finding == SM_SAME) return fabs(c->estimate.effect) > log1p(o->floor) ? SM_OPEN : SM_SAME;
    if (finding != SM_OPEN) return proved(c, o, m, finding) ? finding : SM_OPEN;
    if (!narrow || !proved(c, o, m, SM_OPEN)) return SM_OPEN;
    return c->estimate.effect > 0 ? SM_SLOWER_WITHIN : SM_FASTER_WITHIN;
}

void sm_rounds_settle(struct sm_comparison *c, const struct sm_rounds_options *o, size_t m)
{
    if (c->looks == SM_LOOKS || c->launches != sm_look_launches[c->looks]) return;
    const enum sm_finding finding = sm_rounds_look(c, o, m);
    /* How large a change is, placement decides as well: that there is one is enough to have it measured anew. After the
     * last look no correction is waited for: others may be found, which loosens it (Benjamini and Hochberg). */
    const bool change = c->looks == SM_LOOKS ? beyond(&c->estimate, o) : proved(c, o, m, SM_OPEN);
    if (o->place && !c->control && !c->randomised && change)
        sm_rounds_randomise(c);
    else if (finding != SM_OPEN || c->looks == SM_LOOKS)
        c->verdict = SM_VERDICT_SAME;
}

void sm_rounds_randomise(struct sm_comparison *c)
{
    c->randomised = true;
    c->as_built = c->estimate;
    memcpy(c->as_built_d, c->d, c->launches * sizeof *c->d);
    c->as_built_launches = c->launches;
    c->launches = c->looks = 0;
}

static bool measured(const struct sm_comparison *c)
{
    return !c->control && (c->launches || c->randomised) &&
           (c->verdict == SM_VERDICT_OPEN || c->verdict == SM_VERDICT_SAME);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The floor: what was asked for, or what copies of A differ by from A. */
static void judge_controls(struct sm_pairing *p, const struct sm_rounds_options *o, struct sm_rounds_result *r)
{
    double *effects = malloc((p->count + 1) * sizeof *effects);
    r->floor = o->floor;
    r->control_worst = NAN;
    for (size_t i = 0; i < p->count; i++) {
        const struct sm_comparison *c = &p->list[i];
        if (!c->control || !c->looks) continue;
        const enum sm_finding f = sm_look_finding(&c->estimate, log1p(o->floor), log1p(o->tolerance));
        r->controls_beyond += f != SM_OPEN && f != SM_SAME;
        if (effects) effects[r->controls] = fabs(expm1(c->estimate.effect));
        r->controls++;
    }
    if (effects && r->controls) {
        qsort(effects, r->controls, sizeof *effects, ascending);
        r->control_worst = effects[r->controls - 1];
        const double high = sm_quantile(effects, r->controls, 0.95);
        if (high > r->floor) r->floor = high;
    }
    r->noisy = (double)r->controls_beyond > 0.05 * (double)r->controls;
    free(effects);
}

static enum sm_verdict verdict_of(enum sm_finding finding)
{
    switch (finding) {
    case SM_SLOWER: return SM_VERDICT_SLOWER;
    case SM_FASTER: return SM_VERDICT_FASTER;
    case SM_SLOWER_WITHIN: return SM_VERDICT_SLOWER_WITHIN;
    case SM_FASTER_WITHIN: return SM_VERDICT_FASTER_WITHIN;
    case SM_SAME: return SM_VERDICT_SAME;
    default: return SM_VERDICT_INCONCLUSIVE;
    }
}

static bool is_change(enum sm_verdict v)
{
    return v == SM_VERDICT_SLOWER || v == SM_VERDICT_FASTER || v == SM_VERDICT_SLOWER_WITHIN ||
           v == SM_VERDICT_FASTER_WITHIN;
}

/* What is claimed of a chosen few is claimed at the level that their number allows (Benjamini and Yekutieli 2005). */
static void widen(struct sm_comparison *c, double alpha)
{
    struct sm_paired wide;
    if (1 - c->estimate.level > alpha && !sm_paired_estimate(c->d, c->launches, alpha, &wide)) c->estimate = wide;
}

/* Stopped before the first look: what there is, and no interval. */
static void unproved(struct sm_comparison *c, const struct sm_rounds_options *o)
{
    if (sm_paired_estimate(c->d, c->launches, o->alpha, &c->estimate)) c->estimate.effect = c->estimate.spread = NAN;
    c->estimate.level = 1 - o->alpha;
    c->estimate.low = -INFINITY;
    c->estimate.high = INFINITY;
}

static void decide_all(struct sm_pairing *p, const struct sm_rounds_options *o, struct sm_rounds_result *r)
{
    double *values = malloc((p->count + 1) * sizeof *values);
    bool *found = calloc(p->count + 1, sizeof *found);
    size_t *of = malloc((p->count + 1) * sizeof *of), m = 0;
    for (size_t i = 0; values && found && of && i < p->count; i++) {
        struct sm_comparison *c = &p->list[i];
        if (c->verdict == SM_VERDICT_OPEN && !c->control && !c->launches && !c->randomised) { /* time was up */
            c->verdict = SM_VERDICT_INCONCLUSIVE;
            c->estimate = (struct sm_paired){.effect = NAN, .low = -INFINITY, .high = INFINITY, .spread = NAN};
            c->detectable = NAN;
        }
        if (!measured(c)) continue;
        of[m] = i;
        values[m++] = p->list[i].looks ? p->list[i].p_overall : NAN;
    }
    r->measured = m;
    const size_t chosen = m && o->discovery < 1 ? sm_discoveries(values, m, o->discovery, found) : m;
    for (size_t k = 0; k < m; k++) {
        struct sm_comparison *c = &p->list[of[k]];
        if (!c->looks) unproved(c, o);
        if (found[k] && m) widen(c, o->discovery * (double)chosen / (double)m);
        c->verdict = verdict_of(sm_look_finding(&c->estimate, log1p(r->floor), log1p(o->tolerance)));
        if (c->verdict == SM_VERDICT_INCONCLUSIVE) { /* a change is proved; that it is beyond the tolerance is not */
            if (c->estimate.low > log1p(r->floor)) c->verdict = SM_VERDICT_SLOWER_WITHIN;
            if (c->estimate.high < -log1p(r->floor)) c->verdict = SM_VERDICT_FASTER_WITHIN;
        }
        if (is_change(c->verdict) && o->discovery < 1 && !found[k]) c->verdict = SM_VERDICT_INCONCLUSIVE;
        if (c->as_built_launches && c->looks && !is_change(c->verdict)) c->verdict = SM_VERDICT_LAYOUT;
        if (!c->launches) continue;
        const double alpha = 1 - c->estimate.level;
        c->detectable = expm1(sm_paired_detectable(c->estimate.spread, c->launches, alpha, 0.8));
        if (c->detectable < r->floor) c->detectable = r->floor;
        if (c->launches < 3) c->detectable = NAN; /* their spread says nothing yet */
    }
    free(values);
    free(found);
    free(of);
}

/* The mean over kernels of each round that all of them took part in, then over rounds. */
static void judge_mean(struct sm_pairing *p, const struct sm_rounds_options *o, struct sm_rounds_result *r)
{
    double rounds[SM_LAUNCHES_MOST] = {0};
    size_t n = SM_LAUNCHES_MOST, m = 0;
    for (size_t i = 0; i < p->count; i++) {
        const struct sm_comparison *c = &p->list[i];
        if (c->control || !c->looks) continue;
        if (c->launches < n) n = c->launches;
        m++;
        for (size_t l = 0; l < c->launches; l++) rounds[l] += c->d[l];
    }
    if (!m) return;
    for (size_t l = 0; l < n; l++) rounds[l] /= (double)m;
    if (sm_paired_estimate(rounds, n, o->alpha, &r->mean)) r->mean.n = 0;
}

void sm_rounds_decide(struct sm_pairing *pairing, const struct sm_rounds_options *options,
                      struct sm_rounds_result *result)
{
    judge_controls(pairing, options, result);
    decide_all(pairing, options, result);
    judge_mean(pairing, options, result);
}
