/* Why a stored comparison has its verdict: its looks worked out again, the floor, the number of kernels, in sentences.
 */
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "history_replay.h"
#include "history_sql.h"

struct explanation {
    const struct sm_stored *stored;
    FILE *out;
    bool anew; /* looks told of so far were of code placed anew */
};

static double percent(double log_ratio)
{
    return 100 * expm1(log_ratio);
}

static void tell_look(void *state, const struct sm_comparison *c)
{
    struct explanation *e = state;
    if (c->randomised && !e->anew)
        fprintf(e->out,
                "  A change as built may be one of placement: launches from here on have both builds linked anew, "
                "their code in another order each time.\n");
    e->anew = c->randomised;
    fprintf(e->out, "  After %2zu launches %s: %+.2f %%, interval [%+.2f, %+.2f] at %.2f %%, p %.2g.\n", c->launches,
            c->randomised ? "placed anew" : "as built", percent(c->estimate.effect), percent(c->estimate.low),
            percent(c->estimate.high), 100 * c->estimate.level, c->p[c->looks - 1]);
}

/* Where the launches lie: a mark or a number for how many in each column. */
static void draw_launches(const double *d, size_t n, const char *what, FILE *out)
{
    enum { COLUMNS = 48 };
    int count[COLUMNS] = {0};
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, d[i]);
        high = fmax(high, d[i]);
    }
    if (!n || !isfinite(low) || !isfinite(high)) return;
    for (size_t i = 0; i < n; i++) count[high > low ? (int)((COLUMNS - 0.01) * (d[i] - low) / (high - low)) : 0]++;
    fprintf(out, "  %s %+.2f %% |", what, percent(low));
    for (int i = 0; i < COLUMNS; i++) fputc(count[i] > 9 ? '#' : count[i] ? '0' + count[i] : ' ', out);
    fprintf(out, "| %+.2f %%\n", percent(high));
}

static void tell_verdict(const struct explanation *e, const struct sm_comparison *c, const char *verdict, double floor)
{
    const double tolerance = 100 * e->stored->options.tolerance;
    FILE *out = e->out;
    fprintf(out, "  Hence %s: ", verdict);
    if (!strcmp(verdict, "identical"))
        fprintf(out, "the object code is the same in both builds, and nothing was run.\n");
    else if (!strcmp(verdict, "added") || !strcmp(verdict, "removed"))
        fprintf(out, "only one of the builds has it.\n");
    else if (!strcmp(verdict, "failed") || !strcmp(verdict, "refused"))
        fprintf(out, "%s\n", c->reason[0] ? c->reason : "no reason is stored.");
    else if (!strcmp(verdict, "same"))
        fprintf(out,
                "the interval lies within the tolerance of %g %%, and no change beyond the floor of %.2f %% is "
                "proved.\n",
                tolerance, 100 * floor);
    else if (!strcmp(verdict, "slower") || !strcmp(verdict, "faster"))
        fprintf(out, "the whole interval lies beyond the tolerance of %g %%.\n", tolerance);
    else if (!strcmp(verdict, "slower<delta") || !strcmp(verdict, "faster<delta"))
        fprintf(out,
                "a change beyond the floor of %.2f %% is proved, and not that it is beyond the tolerance of %g %%.\n",
                100 * floor, tolerance);
    else if (!strcmp(verdict, "layout"))
        fprintf(out,
                "what was seen as built (%+.2f %%) is not proved with the code placed anew: it is a matter of where "
                "the code lies.\n",
                percent(c->as_built.effect));
    else
        fprintf(out,
                "neither a change nor its absence is proved; with these launches one of %.2f %% would have been "
                "seen.\n",
                100 * c->detectable);
}

static void tell_circumstances(const struct explanation *e, const struct sm_rounds_result *r)
{
    const struct sm_rounds_options *o = &e->stored->options;
    if (r->controls)
        fprintf(e->out,
                "%zu copies of the base were compared with itself: they differ by up to %.2f %%, %zu of them "
                "beyond the floor asked for. ",
                r->controls, 100 * r->control_worst, r->controls_beyond);
    else
        fprintf(e->out, "There was no control: nothing says how much the machine alone makes of nothing. ");
    fprintf(e->out, "Floor %.2f %% (%.2f %% was asked for), tolerance %g %%.\n", 100 * r->floor, 100 * o->floor,
            100 * o->tolerance);
    if (o->discovery < 1)
        fprintf(e->out,
                "%zu kernels were compared: a change is claimed only where its p over all looks passes a false "
                "discovery rate of %g %% over them, and its interval is widened for it.\n",
                e->stored->compared, 100 * o->discovery);
}

static void tell_comparison(struct explanation *e, const struct sm_comparison *c, const char *verdict, double floor)
{
    if (c->looks)
        fprintf(e->out, "  At the end %+.2f %%, interval [%+.2f, %+.2f] at %.2f %%, p over the looks %.2g.\n",
                percent(c->estimate.effect), percent(c->estimate.low), percent(c->estimate.high),
                100 * c->estimate.level, c->p_overall);
    draw_launches(c->as_built_d, c->as_built_launches, "as built:   ", e->out);
    draw_launches(c->d, c->launches, c->randomised ? "placed anew:" : "as built:   ", e->out);
    tell_verdict(e, c, verdict, floor);
}

static bool wanted(const char *glob, const char *kernel)
{
    char name[200];
    snprintf(name, sizeof name, "%s", kernel);
    char *shape = strrchr(name, '/');
    if (!glob || !fnmatch(glob, kernel, 0)) return true;
    if (shape) *shape = '\0';
    return !fnmatch(glob, name, 0);
}

/* Decides on a copy first, so that the floor is known; then each kernel is told from its first look on. */
static int explain(struct sm_history *h, const char *session, struct sm_stored *stored, const char *glob, FILE *out,
                   char *why, size_t why_bytes)
{
    struct explanation e = {stored, out, false};
    struct sm_rounds_result result = {0};
    struct sm_pairing *p = &stored->pairing;
    sqlite3_stmt *s;
    size_t told = 0;
    int bad = 0;
    if (sqlite3_prepare_v2(h->db, sm_stored_launches, -1, &s, NULL))
        return sm_history_refuse(h, "reading the history", why, why_bytes);
    for (size_t i = 0; i < p->count; i++) bad |= sm_stored_replay(s, session, &p->list[i], stored, NULL, NULL);
    if (!bad) {
        sm_rounds_decide(p, &stored->options, &result);
        tell_circumstances(&e, &result);
    }
    for (size_t i = 0; i < p->count && !bad; i++) {
        struct sm_comparison looked = {.ordinal = p->list[i].ordinal, .control = p->list[i].control};
        if (p->list[i].control || !wanted(glob, p->list[i].id)) continue;
        fprintf(out, "\n%s\n", p->list[i].id);
        e.anew = false;
        bad = sm_stored_replay(s, session, &looked, stored, tell_look, &e);
        tell_comparison(&e, &p->list[i], stored->verdict[i], result.floor);
        told++;
    }
    sqlite3_finalize(s);
    if (bad) snprintf(why, why_bytes, "reading the history: the session %s makes no sense", session);
    if (!bad && !told) snprintf(why, why_bytes, "the session %s has no kernel %s", session, glob ? glob : "");
    return bad || !told ? -1 : 0;
}

int sm_history_explain(struct sm_history *h, const char *session, const char *glob, FILE *out, char *why,
                       size_t why_bytes)
{
    struct sm_stored stored;
    int bad = sm_stored_read(h, session, &stored, why, why_bytes);
    if (!bad) bad = explain(h, session, &stored, glob, out, why, why_bytes);
    sm_stored_free(&stored);
    return bad;
}
