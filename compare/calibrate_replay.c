/* Trials on launches that nobody runs, judged by the very functions that judge measured ones: no clock, no process. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate.h"
#include "copies.h"
#include "random.h"

/* History: series x commits, and searches for one changed commit. */
enum { SERIES = 4, COMMITS = 1000, SEARCHES = 60, SEARCHED = 1024 };
enum { SAME = 600, PLANT = 300, PLACED = 300, SUITES = 60, SUITE = 200, SUITE_CONTROLS = 20, POOL_LEAST = 10 };

#define PLACEMENT 0.003 /* the deviation of what a placement of the code adds, ln */

/* Launches of builds against themselves, one stretch for each trial: what follows in a stretch followed in time. */
struct pool {
    double (*launches)[SM_LAUNCHES_MOST];
    size_t *length, count, room;
};

struct replay {
    struct pool pool[SM_CLASSES];
    bool drawn; /* there are no pools */
    struct sm_random random;
    struct sm_rounds_options options;
    struct sm_calibration *to;
};

static int keep(struct pool *p, const double *d, size_t n)
{
    if (p->count == p->room) {
        const size_t room = p->room ? 2 * p->room : 64;
        double(*launches)[SM_LAUNCHES_MOST] = realloc(p->launches, room * sizeof *launches);
        if (launches) p->launches = launches;
        size_t *length = realloc(p->length, room * sizeof *length);
        if (length) p->length = length;
        if (!launches || !length) return -1;
        p->room = room;
    }
    memcpy(p->launches[p->count], d, n * sizeof *d);
    p->length[p->count++] = n;
    return 0;
}

static int keep_trial(void *state, const struct sm_trial *t)
{
    struct replay *r = state;
    if (t->planted || t->placed || !t->comparison.launches) return 0;
    return keep(&r->pool[t->class], t->comparison.d, t->comparison.launches);
}

/* Where the next launch comes from. */
struct source {
    const struct pool *pool; /* count 0: drawn */
    double scale;
    size_t stretch, at;
};

/* How much wider launches of a class spread than those of kernels in caches. */
static double scale_of(enum sm_class class)
{
    static const double scale[SM_CLASSES] = {1, 3, 12};
    return scale[class];
}

/* From a pool the next of a stretch, then another stretch; drawn ones are those of a machine with neighbours. */
static double next_launch(struct replay *r, struct source *s)
{
    const struct pool *p = s->pool;
    if (!p->count) return s->scale * sm_replay_drawn(&r->random);
    if (!s->at || s->at == p->length[s->stretch]) {
        s->stretch = sm_random_below(&r->random, (uint32_t)p->count);
        s->at = 0;
    }
    return p->launches[s->stretch][s->at++];
}

/* One comparison to its verdict, the effect added. A fixed placement adds the same amount to every launch, one that is
 * drawn anew another to each. */
static void run(struct replay *r, enum sm_class class, double effect, double placement, struct sm_comparison *k,
                size_t m)
{
    struct source source = {&r->pool[class], scale_of(class), 0, 0};
    const double fixed = placement * (double)sm_random_normal(&r->random);
    while (k->verdict == SM_VERDICT_OPEN) {
        const double anew = placement / 3 * (double)sm_random_normal(&r->random);
        k->d[k->launches] = next_launch(r, &source) + effect + (k->randomised ? anew : fixed);
        k->ns[0][k->launches] = k->ns[1][k->launches] = 1;
        k->launches++;
        sm_rounds_settle(k, &r->options, m);
    }
}

static bool is_there(const struct replay *r, enum sm_class class)
{
    return r->drawn || r->pool[class].count >= POOL_LEAST;
}

static int run_trials(struct replay *r, enum sm_class class, size_t planted, bool placed, size_t count)
{
    if (!is_there(r, class)) return 0;
    r->options.place = placed ? sm_copies_place : NULL; /* asked only whether it is there */
    for (size_t i = 0; i < count; i++) {
        struct sm_trial t = {.class = class, .planted = planted, .placed = placed, .seconds = NAN};
        struct sm_pairing pairing = {&t.comparison, 1};
        struct sm_rounds_result result = {0};
        run(r, class, log1p(sm_planted[planted]), placed ? 3 * PLACEMENT : 0, &t.comparison, 1);
        sm_rounds_decide(&pairing, &r->options, &result);
        if (sm_calibration_add(r->to, &t)) return -1;
    }
    return 0;
}

/* Runs of 200 kernels where nothing changed, with their controls and the correction for their number. */
static int run_suites(struct replay *r)
{
    struct sm_comparison *list = malloc((SUITE + SUITE_CONTROLS) * sizeof *list);
    if (!list) return -1;
    r->options.place = NULL;
    for (size_t i = 0; i < SUITES && is_there(r, SM_IN_CACHES); i++) {
        struct sm_pairing pairing = {list, SUITE + SUITE_CONTROLS};
        struct sm_rounds_result result = {0};
        memset(list, 0, pairing.count * sizeof *list);
        for (size_t k = 0; k < pairing.count; k++) {
            list[k].control = k >= SUITE;
            run(r, SM_IN_CACHES, 0, 0, &list[k], SUITE);
        }
        sm_rounds_decide(&pairing, &r->options, &result);
        for (size_t k = 0; k < SUITE; k++)
            r->to->suite_alarms += list[k].verdict == SM_VERDICT_SLOWER ||
                                   list[k].verdict == SM_VERDICT_SLOWER_WITHIN ||
                                   list[k].verdict == SM_VERDICT_FASTER || list[k].verdict == SM_VERDICT_FASTER_WITHIN;
        r->to->suites++;
    }
    free(list);
    return 0;
}

struct stream {
    struct replay *replay;
    struct source source;
};

static double stream_launch(void *state)
{
    struct stream *s = state;
    return next_launch(s->replay, &s->source);
}

/* A thousand commits, on the launches of kernels in caches. */
static int run_history(struct replay *r)
{
    struct stream stream = {r, {&r->pool[SM_IN_CACHES], scale_of(SM_IN_CACHES), 0, 0}};
    const struct sm_replay replay = {
        .launch = stream_launch, .state = &stream, .seed = sm_random_u64(&r->random), .placement = PLACEMENT};
    if (!is_there(r, SM_IN_CACHES)) return 0;
    return sm_replay_history(&replay, SERIES, COMMITS, &r->to->history) ||
           sm_replay_bisect(&replay, SEARCHES, SEARCHED, 0.01, 0.05, &r->to->bisect);
}

int sm_calibrate_replay(const char *path, uint64_t seed, bool trials, struct sm_calibration *to, char *why,
                        size_t why_bytes)
{
    struct replay r = {.drawn = !path, .random = {seed}, .options = sm_calibrate_options(), .to = to};
    int bad = path ? sm_trials_read(path, keep_trial, &r, NULL, why, why_bytes) : 0;
    if (!path) snprintf(why, why_bytes, "replaying launches: out of memory");
    if (!bad && trials && !is_there(&r, SM_IN_CACHES)) {
        snprintf(why, why_bytes, "reading %s: it has fewer than %d trials of builds against themselves", path,
                 POOL_LEAST);
        bad = -1;
    }
    for (int k = 0; trials && k < SM_CLASSES && !bad; k++) {
        bad = run_trials(&r, (enum sm_class)k, 0, false, SAME);
        for (size_t p = 1; p < SM_PLANTED && !bad; p++) bad = run_trials(&r, (enum sm_class)k, p, false, PLANT);
    }
    if (!bad && trials) bad = run_trials(&r, SM_IN_CACHES, 0, true, PLACED);
    if (!bad) bad = run_suites(&r) || run_history(&r) ? -1 : 0;
    for (int k = 0; k < SM_CLASSES; k++) {
        free(r.pool[k].launches);
        free(r.pool[k].length);
    }
    return bad;
}
