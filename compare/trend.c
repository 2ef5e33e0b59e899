#include "trend.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "change_points.h"

#define CHANGES_MOST 64
#define NOISE_LEAST 0.0005 /* ln: what a comparison resolves at best */

const char *sm_trend_word(enum sm_trend_state state)
{
    static const char *const words[SM_TREND_STATES] = {"candidate", "confirmed", "rejected", "undecided"};
    return (unsigned)state < SM_TREND_STATES ? words[state] : "?";
}

enum sm_trend_state sm_trend_judge(double step, const char *verdict)
{
    if (!strncmp(verdict, "slower", 6)) return step > 0 ? SM_TREND_CONFIRMED : SM_TREND_REJECTED;
    if (!strncmp(verdict, "faster", 6)) return step < 0 ? SM_TREND_CONFIRMED : SM_TREND_REJECTED;
    if (!strcmp(verdict, "same") || !strcmp(verdict, "identical") || !strcmp(verdict, "layout"))
        return SM_TREND_REJECTED;
    return SM_TREND_UNDECIDED;
}

struct reader {
    struct sm_trend *trend;
    struct sm_aliases aliases;
    const char *glob;
    size_t count, room;
    bool no_memory;
};

/* By family, family/variant, or the whole name. */
static bool wanted(const char *glob, const char *kernel)
{
    char name[200];
    if (!glob || !fnmatch(glob, kernel, 0)) return true;
    snprintf(name, sizeof name, "%s", kernel);
    for (char *slash; (slash = strrchr(name, '/'));) {
        *slash = '\0';
        if (!fnmatch(glob, name, 0)) return true;
    }
    return false;
}

static bool keep(void *state, const struct sm_history_point *point)
{
    struct reader *r = state;
    struct sm_history_point now = *point;
    sm_alias_kernel(&r->aliases, point->kernel, now.kernel, sizeof now.kernel);
    if (!wanted(r->glob, now.kernel)) return true;
    if (r->count == r->room) {
        const size_t room = r->room ? 2 * r->room : 256;
        struct sm_history_point *points = realloc(r->trend->points, room * sizeof *points);
        r->no_memory = !points;
        if (!points) return false;
        r->trend->points = points;
        r->room = room;
    }
    r->trend->points[r->count++] = now;
    return true;
}

static bool same_series(const struct sm_history_point *a, const struct sm_history_point *b)
{
    return a->threads == b->threads && !strcmp(a->kernel, b->kernel) && !strcmp(a->machine, b->machine);
}

/* Kernels by name, and the points of each as they were recorded: these have been read in that order. */
static int by_kernel(const void *a, const void *b)
{
    const struct sm_history_point *const *x = a, *const *y = b;
    const int names = strcmp((*x)->kernel, (*y)->kernel);
    const int machines = strcmp((*x)->machine, (*y)->machine);
    if (names || machines) return names ? names : machines;
    if ((*x)->threads != (*y)->threads) return (*x)->threads - (*y)->threads;
    return (*x > *y) - (*x < *y);
}

static int sort_points(struct reader *r)
{
    const struct sm_history_point **order = malloc((r->count + 1) * sizeof *order);
    struct sm_history_point *sorted = malloc((r->count + 1) * sizeof *sorted);
    if (order && sorted) {
        for (size_t i = 0; i < r->count; i++) order[i] = &r->trend->points[i];
        qsort(order, r->count, sizeof *order, by_kernel);
        for (size_t i = 0; i < r->count; i++) sorted[i] = *order[i];
        free(r->trend->points);
        r->trend->points = sorted;
        free(order);
        return 0;
    }
    free(order);
    free(sorted);
    return -1;
}

/* Adds an interval of its own to a point's: the halves as variances. */
static void shift(struct sm_history_point *p, double effect, double low, double high, double sign)
{
    const double down = sign > 0 ? effect - low : high - effect, up = sign > 0 ? high - effect : effect - low;
    const double below = hypot(p->effect - p->low, down), above = hypot(p->high - p->effect, up);
    p->effect += sign * effect;
    p->low = p->effect - below;
    p->high = p->effect + above;
}

/* Points of other anchors are chained to the series' own by what links the two, the newest link first. What cannot be
 * chained is left out. Returns how many points remain. */
static size_t chain(const char *anchor, struct sm_history_point *p, size_t n)
{
    size_t foreign = 0;
    for (size_t i = 0; i < n; i++) foreign += strcmp(p[i].anchor, anchor) != 0;
    for (bool again = foreign; again;) {
        again = false;
        for (size_t i = n; i-- > 0 && !again;) {
            /* a link: recorded against our anchor, and itself the anchor of others; or ours against another */
            const bool down = !strcmp(p[i].anchor, anchor), up = !down && !strcmp(p[i].build, anchor);
            if (!down && !up) continue;
            const char *other = down ? p[i].build : p[i].anchor;
            const struct sm_history_point link = p[i];
            for (size_t k = 0; k < n && strcmp(other, anchor); k++) {
                if (strcmp(p[k].anchor, other) || k == i) continue;
                shift(&p[k], link.effect, link.low, link.high, down ? 1 : -1);
                snprintf(p[k].anchor, sizeof p[k].anchor, "%s", anchor);
                again = true;
            }
            if (up && again) { /* the link itself is a point of the series: the other anchor */
                struct sm_history_point *self = &p[i];
                self->effect = -link.effect;
                self->low = -link.high;
                self->high = -link.low;
                snprintf(self->build, sizeof self->build, "%s", link.anchor);
                snprintf(self->anchor, sizeof self->anchor, "%s", anchor);
            }
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(p[i].anchor, anchor)) p[kept++] = p[i];
    return kept;
}

size_t sm_trend_nominate(const double *z, size_t n, struct sm_trend_change *changes, size_t most)
{
    size_t cuts[CHANGES_MOST];
    size_t count = sm_change_points(z, n, 1, NOISE_LEAST, cuts, CHANGES_MOST);
    if (count == (size_t)-1) return count;
    if (count > CHANGES_MOST) count = CHANGES_MOST;
    for (size_t k = 0; k < count && k < most; k++) {
        const size_t begin = k ? cuts[k - 1] : 0, end = k + 1 < count ? cuts[k + 1] : n;
        changes[k] = (struct sm_trend_change){
            .first = cuts[k],
            .before = cuts[k] - begin > SM_TREND_MARGIN ? cuts[k] - SM_TREND_MARGIN : begin,
            .after = end - cuts[k] > SM_TREND_MARGIN - 1 ? cuts[k] + SM_TREND_MARGIN - 1 : end - 1,
            .step = sm_level(z, cuts[k], end) - sm_level(z, begin, cuts[k])};
    }
    return count < most ? count : most;
}

static int find_changes(struct sm_trend_series *s)
{
    double *z = malloc((s->count + 1) * sizeof *z);
    s->changes = calloc(CHANGES_MOST, sizeof *s->changes);
    for (size_t i = 0; z && i < s->count; i++) z[i] = s->points[i].effect;
    const size_t count = z && s->changes ? sm_trend_nominate(z, s->count, s->changes, CHANGES_MOST) : (size_t)-1;
    free(z);
    if (count == (size_t)-1) return -1;
    s->change_count = count;
    return 0;
}

double sm_trend_level(const struct sm_trend_series *s, size_t level)
{
    const size_t begin = level ? s->changes[level - 1].first : 0,
                 end = level < s->change_count ? s->changes[level].first : s->count;
    double *z = malloc((end - begin + 1) * sizeof *z);
    if (!z) return NAN;
    for (size_t i = begin; i < end; i++) z[i - begin] = s->points[i].effect;
    const double median = sm_level(z, 0, end - begin);
    free(z);
    return median;
}

static int find_proofs(struct sm_trend *t, struct sm_history *h, char *why, size_t why_bytes)
{
    for (size_t i = 0; i < t->count; i++)
        for (size_t k = 0; k < t->series[i].change_count; k++) {
            const struct sm_trend_series *s = &t->series[i];
            struct sm_trend_change *c = &s->changes[k];
            const int found = sm_history_proof(h, s->kernel, s->machine, s->points[c->before].build,
                                               s->points[c->after].build, &c->proof, why, why_bytes);
            if (found < 0) return -1;
            if (found) c->state = sm_trend_judge(c->step, c->proof.verdict);
        }
    return 0;
}

/* Cuts the sorted points into series. 0 or -1: no memory. */
static int make_series(struct sm_trend *t, size_t count)
{
    size_t end;
    t->series = calloc(count + 1, sizeof *t->series);
    if (!t->series) return -1;
    for (size_t begin = 0; begin < count; begin = end) {
        for (end = begin + 1; end < count && same_series(&t->points[begin], &t->points[end]);) end++;
        struct sm_trend_series *s = &t->series[t->count];
        s->points = &t->points[begin];
        s->count = chain(t->anchor, s->points, end - begin);
        if (!s->count) continue;
        snprintf(s->kernel, sizeof s->kernel, "%s", s->points[0].kernel);
        snprintf(s->machine, sizeof s->machine, "%s", s->points[0].machine);
        s->threads = s->points[0].threads;
        if (s->count > SM_SERIES_MOST) {
            s->points += s->count - SM_SERIES_MOST;
            s->count = SM_SERIES_MOST;
            s->cut = true;
        }
        t->count++;
        if (find_changes(s)) return -1;
    }
    return 0;
}

int sm_trend_read(struct sm_trend *trend, struct sm_history *h, const char *anchor, const char *glob, double least,
                  char *why, size_t why_bytes)
{
    struct reader r = {.trend = trend, .glob = glob};
    *trend = (struct sm_trend){.least = least};
    const int unknown = sm_history_anchor_identity(h, anchor, trend->anchor, sizeof trend->anchor, why, why_bytes);
    if (unknown < 0) return -1;
    if (unknown) {
        snprintf(why, why_bytes, "nothing was recorded against %s", anchor);
        return -1;
    }
    if (sm_history_aliases(h, &r.aliases, why, why_bytes)) return -1;
    int bad = sm_history_points(h, keep, &r, why, why_bytes);
    sm_aliases_free(&r.aliases);
    if (bad) return bad;
    if (r.no_memory || sort_points(&r) || make_series(trend, r.count)) {
        snprintf(why, why_bytes, "reading the history: out of memory");
        return -1;
    }
    return find_proofs(trend, h, why, why_bytes);
}

void sm_trend_free(struct sm_trend *t)
{
    for (size_t i = 0; i < t->count; i++) free(t->series[i].changes);
    free(t->series);
    free(t->points);
    *t = (struct sm_trend){0};
}
