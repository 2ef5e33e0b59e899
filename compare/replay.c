#include "replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bisect.h"
#include "change_points.h"
#include "copies.h"
#include "random.h"
#include "rounds.h"
#include "trend.h"

enum {
    STEPS_MOST = 4,
    CHANGES_MOST = 64,
    MARGIN = 20, /* commits between two steps */
    MOVES = 20   /* one commit in so many moves the code of a kernel that it does not change */
};

double sm_replay_drawn(void *state)
{
    struct sm_random *random = state;
    const double d = 0.001 * (double)sm_random_normal(random);
    return sm_random_below(random, 25) ? d : 10 * d;
}

struct run {
    const struct sm_replay *replay;
    struct sm_random random;
};

static double place(struct run *r)
{
    return r->replay->placement * (double)sm_random_normal(&r->random);
}

/* One comparison of two builds to its verdict. They differ by `effect`, and by `placed` in where their code happens to
 * be: that is the same for every launch, until it is drawn anew for each. */
static void compare(struct run *r, double effect, double placed, const struct sm_rounds_options *o,
                    struct sm_comparison *c)
{
    struct sm_pairing pairing = {c, 1};
    struct sm_rounds_result result = {0};
    *c = (struct sm_comparison){.verdict = SM_VERDICT_OPEN, .randomised = o->anew};
    while (c->verdict == SM_VERDICT_OPEN) {
        const double offset = c->randomised ? place(r) : placed;
        c->d[c->launches] = r->replay->launch(r->replay->state) + effect + offset;
        c->ns[0][c->launches] = c->ns[1][c->launches] = 1;
        c->launches++;
        sm_rounds_settle(c, o, 1);
    }
    sm_rounds_decide(&pairing, o, &result);
}

/* As `record` judges; a confirmation wants the floor, at a smaller error. */
static struct sm_rounds_options options_of(double tolerance, double alpha)
{
    return (struct sm_rounds_options){.tolerance = tolerance,
                                      .floor = 0.0025,
                                      .alpha = alpha,
                                      .discovery = 1,
                                      .spending = SM_SPENDING_QUICK,
                                      .place = sm_copies_place}; /* asked only whether it is there */
}

/* Steps at commits that lie apart, of 0.5 to 5 % either way; every third series has none. */
static size_t plant(struct run *r, size_t series, size_t commits, double *truth, double *placed, size_t *at)
{
    static const double sizes[] = {0.005, 0.01, 0.02, 0.05};
    const size_t count = series % 3 == 2 ? 0 : STEPS_MOST;
    const size_t share = commits / STEPS_MOST;
    double level = 0, where = place(r);
    for (size_t k = 0; k < count; k++)
        at[k] = k * share + MARGIN / 2 + sm_random_below(&r->random, (uint32_t)(share - MARGIN));
    for (size_t i = 0, k = 0; i < commits; i++) {
        if (k < count && at[k] == i) {
            const double size = log1p(sizes[sm_random_below(&r->random, 4)]);
            level += sm_random_below(&r->random, 2) ? size : -size;
            k++;
        }
        if (!sm_random_below(&r->random, MOVES)) where = place(r);
        truth[i] = level;
        placed[i] = where;
    }
    return count;
}

static void judge_series(struct run *r, const double *truth, const double *placed, const double *z, size_t commits,
                         const size_t *planted, size_t planted_count, struct sm_replay_history *to)
{
    struct sm_rounds_options o = options_of(0.0025, 0.01);
    struct sm_trend_change change[CHANGES_MOST];
    const size_t count = sm_trend_nominate(z, commits, change, CHANGES_MOST);
    bool found[STEPS_MOST] = {false};
    o.anew = true;
    for (size_t k = 0; count != (size_t)-1 && k < count; k++) {
        const size_t before = change[k].before, after = change[k].after;
        struct sm_comparison c;
        size_t spanned = 0;
        if (fabs(change[k].step) < log1p(0.0025)) continue;
        for (size_t i = 0; i < planted_count; i++) spanned += planted[i] > before && planted[i] <= after;
        to->nominated++;
        to->nominated_falsely += !spanned;
        compare(r, truth[after] - truth[before], placed[after] - placed[before], &o, &c);
        if (sm_trend_judge(change[k].step, sm_verdict_word(c.verdict)) != SM_TREND_CONFIRMED) continue;
        to->confirmed++;
        to->confirmed_falsely += !spanned;
        for (size_t i = 0; i < planted_count; i++) found[i] |= planted[i] > before && planted[i] <= after;
    }
    for (size_t i = 0; i < planted_count; i++) to->found += found[i];
}

int sm_replay_history(const struct sm_replay *replay, size_t series, size_t commits, struct sm_replay_history *result)
{
    struct run r = {replay, {replay->seed}};
    const struct sm_rounds_options o = options_of(0.01, 0.05);
    double *truth = malloc((3 * commits + 1) * sizeof *truth), *z = truth + commits, *placed = z + commits;
    const bool bad = !truth || commits > SM_SERIES_MOST || commits < STEPS_MOST * 2 * MARGIN;
    *result = (struct sm_replay_history){.series = series, .commits = commits};
    for (size_t s = 0; s < series && !bad; s++) {
        size_t at[STEPS_MOST];
        const size_t count = plant(&r, s, commits, truth, placed, at);
        for (size_t i = 0; i < commits; i++) {
            struct sm_comparison c;
            compare(&r, truth[i], placed[i], &o, &c);
            z[i] = c.estimate.effect;
        }
        result->planted += count;
        judge_series(&r, truth, placed, z, commits, at, count, result);
    }
    free(truth);
    return bad ? -1 : 0;
}

struct line {
    struct run *run;
    double step;
    size_t planted;
    bool *unbuildable, *built;
    size_t builds;
};

static bool build(struct line *l, size_t at)
{
    l->builds += !l->built[at];
    l->built[at] = true;
    return !l->unbuildable[at];
}

static enum sm_bisect_answer compare_commits(void *state, size_t base, size_t other, double limit,
                                             struct sm_comparison *to, char *why, size_t why_bytes)
{
    struct line *l = state;
    struct sm_rounds_options o = options_of(expm1(limit), 0.01);
    (void)why;
    (void)why_bytes;
    o.floor = o.tolerance;
    o.anew = true;
    const bool good = build(l, base), bad = build(l, other);
    if (!good || !bad) return SM_BISECT_UNUSABLE;
    compare(l->run, ((other >= l->planted) - (base >= l->planted)) * l->step, place(l->run), &o, to);
    return SM_BISECT_OK;
}

static int ascending(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* What was found holds the step, and beside it only what does not build. */
static bool is_right(const struct line *l, const struct sm_bisect_result *r)
{
    if (r->count != 1 || l->planted <= r->culprit[0].good || l->planted > r->culprit[0].bad) return false;
    for (size_t i = r->culprit[0].good + 1; i < r->culprit[0].bad; i++)
        if (!l->unbuildable[i]) return false;
    return true;
}

int sm_replay_bisect(const struct sm_replay *replay, size_t searches, size_t commits, double step, double unbuildable,
                     struct sm_replay_bisect *result)
{
    struct run r = {replay, {replay->seed}};
    bool *flags = malloc(2 * commits);
    size_t *builds = malloc((searches + 1) * sizeof *builds);
    const bool bad = !flags || !builds || commits < 2;
    *result = (struct sm_replay_bisect){.searches = searches, .commits = commits};
    for (size_t s = 0; s < searches && !bad; s++) {
        struct line l = {.run = &r, .step = log1p(step), .unbuildable = flags, .built = flags + commits};
        struct sm_bisect_result found;
        char why[128];
        memset(flags, 0, 2 * commits);
        l.planted = 1 + sm_random_below(&r.random, (uint32_t)commits - 1);
        for (size_t i = 1; i + 1 < commits; i++)
            flags[i] = sm_random_below(&r.random, 1000000) < (uint32_t)(1e6 * unbuildable);
        const struct sm_bisect b = {commits, log1p(0.0025), compare_commits, NULL, &l};
        if (!sm_bisect_search(&b, &found, why, sizeof why)) result->right += is_right(&l, &found);
        builds[s] = l.builds;
    }
    if (!bad && searches) {
        qsort(builds, searches, sizeof *builds, ascending);
        result->builds_half = builds[searches / 2];
        result->builds_most = builds[searches - 1];
    }
    free(flags);
    free(builds);
    return bad ? -1 : 0;
}
