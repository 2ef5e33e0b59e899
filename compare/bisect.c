#include "bisect.h"

#include <math.h>
#include <stdio.h>

enum { AGAIN = 2 }; /* comparisons of one commit before the likelier side is taken */

struct search {
    const struct sm_bisect *b;
    struct sm_bisect_result *result;
    char *why;
    size_t why_bytes;
};

/* Not searched to its end. */
static void leave(struct search *s, size_t good, size_t bad)
{
    if (good < bad && s->result->left_count <= SM_CULPRITS_MOST)
        s->result->left[s->result->left_count++] = (struct sm_bisect_range){good, bad};
}

/* The effect of `other` against `base`; identical code: 0, and an interval of nothing. */
static enum sm_bisect_answer measure(struct search *s, size_t base, size_t other, double limit, struct sm_paired *to)
{
    struct sm_comparison c;
    const enum sm_bisect_answer answer = s->b->compare(s->b->state, base, other, limit, &c, s->why, s->why_bytes);
    s->result->comparisons += answer != SM_BISECT_STOP;
    if (answer != SM_BISECT_OK) return answer;
    if (c.verdict == SM_VERDICT_IDENTICAL) {
        *to = (struct sm_paired){.effect = 0};
    } else if (!c.looks) {
        snprintf(s->why, s->why_bytes, "%s", c.reason[0] ? c.reason : "it could not be measured");
        return SM_BISECT_UNUSABLE;
    } else {
        *to = c.estimate;
    }
    if (s->b->step) s->b->step(s->b->state, other, &c, NULL);
    return SM_BISECT_OK;
}

/* Which side of half the effect a commit is on. */
static enum sm_bisect_answer judge(struct search *s, size_t good, size_t at, double effect, bool *bad)
{
    const double sign = effect > 0 ? 1 : -1, half = fabs(effect) / 2;
    double sum = 0;
    for (int k = 0; k < AGAIN; k++) {
        struct sm_paired e;
        const enum sm_bisect_answer answer = measure(s, good, at, half, &e);
        if (answer != SM_BISECT_OK) return answer;
        const double low = sign > 0 ? e.low : -e.high, high = sign > 0 ? e.high : -e.low;
        sum += sign * e.effect;
        *bad = sum / (k + 1) > half;
        if (high < half || low > half) break; /* else its launches could not tell: once more, and the likelier side */
    }
    return SM_BISECT_OK;
}

/* The first commit that can be judged strictly between two, from the middle outwards. *at == to: there is none. */
static enum sm_bisect_answer judge_near_middle(struct search *s, size_t base, size_t from, size_t to, double effect,
                                               size_t *at, bool *bad)
{
    const size_t middle = from + (to - from) / 2;
    for (size_t d = 0; d <= to - from; d++)
        for (int side = 0; side < (d ? 2 : 1); side++) {
            if (!side && d > middle) continue;
            *at = side ? middle + d : middle - d;
            if (*at <= from || *at >= to) continue;
            const enum sm_bisect_answer answer = judge(s, base, *at, effect, bad);
            if (answer != SM_BISECT_UNUSABLE) return answer;
            if (s->b->step) s->b->step(s->b->state, *at, NULL, s->why);
        }
    *at = to;
    return SM_BISECT_OK;
}

/* One culprit between two commits that differ by `effect`. */
static int narrow(struct search *s, size_t from, size_t to, double effect, struct sm_culprit *culprit)
{
    size_t good = from, bad = to;
    while (bad - good > 1) {
        bool is_bad = false;
        size_t at;
        if (judge_near_middle(s, from, good, bad, effect, &at, &is_bad) != SM_BISECT_OK) {
            leave(s, good, bad);
            return -1;
        }
        if (at == bad) break; /* nothing between them can be judged */
        if (is_bad)
            bad = at;
        else
            good = at;
    }
    struct sm_paired fresh;
    if (measure(s, good, bad, s->b->floor, &fresh) != SM_BISECT_OK) {
        leave(s, good, bad);
        return -1;
    }
    *culprit = (struct sm_culprit){good, bad, fresh.effect, effect};
    return 0;
}

/* All of a range's, in the order in which they are found. `effect` NAN: not known yet. */
static int search(struct search *s, size_t from, size_t to, double effect)
{
    struct sm_bisect_result *r = s->result;
    const double floor = s->b->floor;
    if (from >= to || r->count == SM_CULPRITS_MOST) return 0;
    if (isnan(effect)) {
        struct sm_paired whole;
        if (measure(s, from, to, floor, &whole) != SM_BISECT_OK) {
            leave(s, from, to);
            return -1;
        }
        if (from == 0 && to == s->b->count - 1) r->effect = whole.effect;
        if (whole.low <= floor && whole.high >= -floor) return 0;
        effect = whole.effect;
    }
    struct sm_culprit culprit;
    if (narrow(s, from, to, effect, &culprit)) return -1;
    r->culprit[r->count++] = culprit;
    if (culprit.effect / effect >= 0.5) return 0;
    if (search(s, from, culprit.good, NAN)) {
        leave(s, culprit.bad, to);
        return -1;
    }
    return search(s, culprit.bad, to, NAN);
}

int sm_bisect_search(const struct sm_bisect *bisect, struct sm_bisect_result *result, char *why, size_t why_bytes)
{
    struct search s = {bisect, result, why, why_bytes};
    *result = (struct sm_bisect_result){0};
    return search(&s, 0, bisect->count - 1, NAN);
}
