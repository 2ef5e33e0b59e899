#include "rounds.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "duet.h"
#include "progress.h"
#include "random.h"
#include "stop.h"

#define LAUNCH_LIMIT_S 60.0
#define CONTROLS_LEAST 2
#define CONTROLS_MOST 20

struct rounds {
    struct sm_pairing *pairing;
    const char *const *object;
    const struct sm_rounds_options *options;
    struct sm_rounds_result *result;
    struct sm_random random;
    struct sm_progress progress;
    uint64_t started;
    size_t *order, compared;
};

static double elapsed(const struct rounds *r)
{
    return 1e-9 * (double)(sm_clock_ns() - r->started);
}

static bool is_open(const struct sm_comparison *c)
{
    return c->verdict == SM_VERDICT_OPEN;
}

/* A tenth of what is measured. */
size_t sm_rounds_controls(const struct sm_rounds_options *options, size_t open)
{
    size_t wanted = (open + 9) / 10;
    if (wanted < CONTROLS_LEAST) wanted = CONTROLS_LEAST;
    if (wanted > CONTROLS_MOST) wanted = CONTROLS_MOST;
    if (wanted > open) wanted = open;
    return options->no_controls ? 0 : wanted;
}

/* They are drawn, as comparisons of A with a copy of A. */
static int add_controls(struct rounds *r)
{
    struct sm_pairing *p = r->pairing;
    size_t open = 0, taken = 0;
    for (size_t i = 0; i < p->count; i++) open += is_open(&p->list[i]);
    r->compared = open;
    const size_t wanted = sm_rounds_controls(r->options, open);
    const size_t count = p->count;
    struct sm_comparison *list = realloc(p->list, (count + wanted + 1) * sizeof *list);
    if (!list) return -1;
    p->list = list;
    for (size_t i = 0, left = open; i < count && taken < wanted; i++) {
        if (!is_open(&list[i])) continue;
        if (sm_random_below(&r->random, (uint32_t)left--) >= wanted - taken) continue;
        struct sm_comparison *c = &list[p->count++];
        *c = list[i];
        c->control = true;
        c->randomised = false; /* launches from before are not its own */
        c->launches = c->looks = c->as_built_launches = 0;
        memcpy(c->variant[1], c->variant[0], sizeof c->variant[1]);
        taken++;
    }
    return 0;
}

static void shuffle(struct rounds *r, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        const size_t k = sm_random_below(&r->random, (uint32_t)i), t = r->order[i - 1];
        r->order[i - 1] = r->order[k];
        r->order[k] = t;
    }
}

/* Both builds with their code placed anew. */
static int place(struct rounds *r, struct sm_duet_job *job)
{
    for (int arm = 0; arm < 2; arm++) {
        job->object[arm] = r->options->place(r->options->place_state, arm, sm_random_u64(&r->random));
        if (!job->object[arm]) return -1;
    }
    return 0;
}

static const char *plugin_of(const struct sm_rounds_options *o, int i)
{
    return o->plugin[i] ? o->plugin[i] : "";
}

static void launch(struct rounds *r, struct sm_comparison *c)
{
    const struct sm_rounds_options *o = r->options;
    struct sm_duet_job job = {.object = {r->object[0], r->object[c->control ? 2 : 1]},
                              .plugin = {plugin_of(o, 0), plugin_of(o, c->control ? 2 : 1)},
                              .family = c->family,
                              .variant = {c->variant[0], c->variant[1]},
                              .shape = c->shape,
                              .dims = c->dims,
                              .threads = o->threads,
                              .slice_s = o->slice_s,
                              .pairs = o->pairs,
                              .apart = o->apart,
                              .planted = c->planted};
    struct sm_duet_launch l;
    for (int attempt = 0; attempt < 3; attempt++) {
        job.seed = sm_random_u64(&r->random);
        if (c->randomised && place(r, &job)) {
            c->verdict = SM_VERDICT_FAILED;
            snprintf(c->reason, sizeof c->reason, "its build could not be linked again with its code placed anew");
            return;
        }
        sm_duet_run(&job, LAUNCH_LIMIT_S, &l);
        r->result->launches++;
        if (sm_stopped()) return;
        if (l.status != SM_DUET_OK) {
            c->verdict = l.status == SM_DUET_REFUSED ? SM_VERDICT_REFUSED : SM_VERDICT_FAILED;
            snprintf(c->reason, sizeof c->reason, "%s", l.why);
            return;
        }
        if (!l.migrated) break;
        c->dropped++; /* for a cause that has nothing to do with its time */
    }
    if (l.migrated) return;
    c->ns[0][c->launches] = l.ns[0];
    c->ns[1][c->launches] = l.ns[1];
    c->d[c->launches++] = l.d;
    if (o->launched) o->launched(o->launched_state, c);
    sm_rounds_settle(c, o, r->compared);
}

static void show(struct rounds *r, size_t round, size_t open)
{
    char text[96];
    const size_t most = 2 * sm_look_launches[SM_LOOKS - 1];
    snprintf(text, sizeof text, "round %zu, %zu kernels open", round + 1, open);
    /* most end early: what is left is guessed by the pace so far and a sixth of the launches to come */
    const double done = elapsed(r), pace = round ? done / (double)round : done;
    r->progress.total_s = done + pace * (double)(most - round) / 6;
    sm_progress_show(&r->progress, done, text);
}

/* One launch of everything that is open. False: nothing is, or time is up. */
static bool round_of_launches(struct rounds *r, size_t round)
{
    size_t open = 0;
    for (size_t i = 0; i < r->pairing->count; i++)
        if (is_open(&r->pairing->list[i])) r->order[open++] = i;
    shuffle(r, open);
    for (size_t i = 0; i < open; i++) {
        if (r->options->budget_s > 0 && elapsed(r) > r->options->budget_s) r->result->out_of_time = true;
        if (r->result->out_of_time || sm_stopped()) return false;
        show(r, round, open);
        launch(r, &r->pairing->list[r->order[i]]);
    }
    return open > 0;
}

int sm_rounds_run(struct sm_pairing *pairing, const char *const object[3], const struct sm_rounds_options *options,
                  struct sm_rounds_result *result, char *why, size_t why_bytes)
{
    struct rounds r = {.pairing = pairing,
                       .object = object,
                       .options = options,
                       .result = result,
                       .random = {options->seed},
                       .started = sm_clock_ns()};
    *result = (struct sm_rounds_result){0};
    if (!add_controls(&r)) r.order = malloc((pairing->count + 1) * sizeof *r.order);
    if (!r.order) {
        snprintf(why, why_bytes, "comparing: out of memory");
        return -1;
    }
    for (size_t i = 0; i < pairing->count; i++) {
        pairing->list[i].ordinal = i;
        pairing->list[i].randomised |= options->anew && options->place && !pairing->list[i].control;
    }
    for (size_t i = 0; i < pairing->count; i++) /* what launches from before have decided already */
        r.compared += !pairing->list[i].control && !is_open(&pairing->list[i]) && pairing->list[i].launches;
    result->compared = r.compared;
    sm_stop_catch();
    sm_progress_begin(&r.progress, options->progress, 0);
    for (size_t k = 0; round_of_launches(&r, k); k++) continue;
    sm_progress_clear(&r.progress);
    sm_stop_release();
    result->interrupted = sm_stopped();
    result->seconds = elapsed(&r);
    sm_rounds_decide(pairing, options, result);
    free(r.order);
    return 0;
}
