#include "costs_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "costs_measure.h"
#include "progress.h"

#define ID_BYTES 384
#define SHARE 8       /* of the budget: what no single round may exceed */
#define STEPS_AFTER 1 /* rounds */
#define SESSION_S 0.1 /* to make a session, roughly */
#define MARGIN 0.999  /* of the budget: sums in another order round otherwise */

static void id_of(const struct costs_todo *t, const struct costs_options *o, const struct sm_source *source, char *id)
{
    const struct costs_point *p = t->point;
    const int n = snprintf(id, ID_BYTES, "%s/%s/%s/max_seq=%zu,kv=%s/t%zu", source->name, o->recipe,
                           sm_cost_attention_name(p->attention), p->max_seq, sm_kv_name(p->kv), p->threads);
    if (n < 0 || n >= ID_BYTES) return;
    if (t->steps)
        snprintf(id + n, (size_t)(ID_BYTES - n), "/steps");
    else
        snprintf(id + n, (size_t)(ID_BYTES - n), "/%s,rows=%zu,past=%zu,tokens=%zu/r%zu", sm_phase_name(p->phase),
                 p->rows, p->past, p->tokens, t->round);
}

static uint64_t mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Points in the order of one round: order[count]. */
static void shuffle(size_t *order, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) order[i] = i;
    for (size_t i = count; i > 1; i--) {
        const size_t j = (size_t)(mixed(seed + i) % i), at = order[i - 1];
        order[i - 1] = order[j];
        order[j] = at;
    }
}

/* The steps of every session, each by its first point. */
static size_t add_steps(struct costs_todo *todo, const struct costs_grid *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->count; i++) {
        const struct costs_point *p = &g->at[i];
        if (!costs_steps_wanted(g, p)) continue;
        size_t k = 0;
        while (k < n && (todo[k].point->attention != p->attention || todo[k].point->kv != p->kv ||
                         todo[k].point->threads != p->threads || todo[k].point->max_seq != p->max_seq))
            k++;
        if (k == n) todo[n++] = (struct costs_todo){.point = p, .steps = true, .seconds = SESSION_S};
        todo[k].seconds += p->call_s * (p->call_s > COSTS_WARM_S ? COSTS_STEPS_LONG : COSTS_STEPS_CALLS);
    }
    return n;
}

/* Every case there can be, round by round. Returns how many; 0: no memory. */
static size_t enumerate(struct costs_plan *plan, const struct costs_grid *g, const struct costs_options *o)
{
    const size_t rounds = (size_t)o->rounds;
    size_t n = 0, *order = malloc(g->count * sizeof *order);
    plan->todo = calloc((rounds + 1) * g->count, sizeof *plan->todo);
    for (size_t r = 0; r < rounds && order && plan->todo; r++) {
        if (r == STEPS_AFTER) n += add_steps(plan->todo + n, g);
        shuffle(order, g->count, mixed((uint64_t)o->cases.seed + r));
        for (size_t i = 0; i < g->count; i++) {
            const struct costs_point *p = &g->at[order[i]];
            plan->todo[n++] = (struct costs_todo){.point = p, .round = r, .seconds = p->round_s};
        }
    }
    if (rounds == STEPS_AFTER && n) n += add_steps(plan->todo + n, g);
    free(order);
    return n;
}

static int by_seconds(const void *a, const void *b)
{
    const struct costs_todo *x = *(const struct costs_todo *const *)a, *y = *(const struct costs_todo *const *)b;
    if (x->seconds < y->seconds || x->seconds > y->seconds) return x->seconds < y->seconds ? -1 : 1;
    return x->point < y->point ? -1 : x->point > y->point;
}

struct spending {
    double left, most; /* seconds; of one case */
    size_t dropped, too_long;
};

/* Of the cases of one round, [count] in the order to run, takes what there is money for, the cheap ones first. */
static int take_round(struct costs_plan *plan, const struct sm_case *const *cases, size_t count, bool limited,
                      struct spending *s)
{
    struct costs_todo **cheap = malloc((count + 1) * sizeof *cheap);
    int failed = !cheap;
    for (size_t i = 0; i < count && !failed; i++) cheap[i] = cases[i]->payload;
    if (!failed) qsort(cheap, count, sizeof *cheap, by_seconds);
    for (size_t i = 0; i < count && !failed; i++) {
        const bool too_long = limited && cheap[i]->seconds > s->most;
        cheap[i]->taken = !limited || (!too_long && cheap[i]->seconds <= s->left);
        if (cheap[i]->taken) s->left -= cheap[i]->seconds;
        s->dropped += !cheap[i]->taken;
        s->too_long += too_long && cheap[i]->round == 0 && !cheap[i]->steps;
    }
    for (size_t i = 0; i < count && !failed; i++) {
        const struct costs_todo *t = cases[i]->payload;
        if (t->taken) failed = sm_cases_add(plan->cases, cases[i]->id, "costs", t->seconds, cases[i]->payload);
    }
    free(cheap);
    return failed;
}

static bool same_round(const struct sm_case *a, const struct sm_case *b)
{
    const struct costs_todo *x = a->payload, *y = b->payload;
    return x->steps == y->steps && (x->steps || x->round == y->round);
}

/* Under the budget, of what is left to do. */
static int take(struct costs_plan *plan, const struct sm_case_plan *left, const struct costs_options *o)
{
    const double budget = o->cases.budget;
    struct spending s = {.left = MARGIN * budget, .most = budget / SHARE};
    char text[32];
    for (size_t i = 0, end; i < left->count; i = end) {
        for (end = i + 1; end < left->count && same_round(left->cases[i], left->cases[end]);) end++;
        if (take_round(plan, left->cases + i, end - i, budget > 0, &s)) return -1;
    }
    FILE *out = o->cases.progress;
    if (!out) return 0;
    if (left->torn) fprintf(out, "%s: %zu line(s) cut short were passed over\n", o->cases.resume, left->torn);
    if (o->cases.resume) fprintf(out, "%s: %zu cases are finished already\n", o->cases.resume, left->finished);
    if (s.dropped)
        fprintf(out, "over the budget of %s: %zu cases of %zu left out, the dear ones and the last rounds first",
                sm_duration_text(budget, text, sizeof text), s.dropped, left->count);
    if (s.too_long) fprintf(out, "; %zu points take more than an eighth of it each", s.too_long);
    if (s.dropped) fprintf(out, "\n");
    return 0;
}

int costs_plan_make(struct costs_plan *plan, const struct costs_grid *grid, const struct costs_options *o,
                    const struct sm_source *source, char *why, size_t why_bytes)
{
    struct sm_cases *all = sm_cases_create();
    struct sm_case_plan left = {0};
    char id[ID_BYTES] = "";
    *plan = (struct costs_plan){.cases = sm_cases_create()};
    const size_t count = all && plan->cases ? enumerate(plan, grid, o) : 0;
    int failed = !count;
    for (size_t i = 0; i < count && !failed; i++) {
        id_of(&plan->todo[i], o, source, id);
        failed = sm_cases_add(all, id, "costs", plan->todo[i].seconds, &plan->todo[i]);
    }
    if (failed) snprintf(why, why_bytes, "there is no memory for the list of rounds");
    struct sm_case_options options = o->cases;
    options.budget = 0;
    options.order = SM_CASE_ORDER_STATED;
    if (!failed) failed = sm_cases_plan(all, &options, &left, why, why_bytes);
    if (!failed && take(plan, &left, o)) {
        snprintf(why, why_bytes, "there is no memory for the list of rounds");
        failed = 1;
    }
    if (!failed && !sm_cases_count(plan->cases) && left.count) {
        snprintf(why, why_bytes, "a budget of %g s pays for none of %zu calls; give more", o->cases.budget, left.count);
        failed = 1;
    }
    sm_case_plan_free(&left);
    sm_cases_destroy(all); /* its ids were copied */
    return failed ? -1 : 0;
}

void costs_plan_free(struct costs_plan *plan)
{
    sm_cases_destroy(plan->cases);
    free(plan->todo);
    *plan = (struct costs_plan){0};
}
