/* The search: every set of append buckets, and for each every set of prefill sizes that may still win. */
#include "planner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner_table.h"

#define LEVELS (SM_PLANNER_PLANS + 1)
#define WORTH_A_BOUND 4 /* candidates: of fewer, all sets are looked at sooner */

struct search {
    const struct sm_planner_problem *problem;
    struct planner_table table;
    double *exact[LEVELS];   /* by how many buckets are chosen */
    double *padded, *window; /* of the buckets chosen */
    double *all;             /* as exact, with all that may still be chosen */
    double *later;           /* [later_count]: what each costs with them */
    double *with;            /* [prefill_count][first_count]: what each first turn costs with them and that size */
    double *least[LEVELS];   /* [first_count], by how many prefill sizes are chosen; [0]: with all of them */
    size_t append[LEVELS], append_count, prefill[LEVELS];
    double later_sum;
    struct planner_sample *samples;
    double value[LEVELS]; /* of result->best, in sums over all turns for means */
    double sum[LEVELS];   /* of its turns until their first token */
    struct sm_planner_result *result;
};

static bool by_mean(const struct search *s)
{
    return s->problem->objective != SM_PLANNER_P95;
}

/* The weight of the turns that cost `limit` or more, the first ones as in `least`. */
static double weight_over(const struct search *s, const double *least, double limit)
{
    double over = 0;
    for (size_t i = 0; i < s->table.later_count; i++)
        if (s->later[i] >= limit) over += s->table.later[i].weight;
    for (size_t i = 0; i < s->table.first_count; i++)
        if (least[i] >= limit) over += s->table.first[i].weight;
    return over;
}

static double sum_first(const struct search *s, const double *least)
{
    double sum = 0;
    for (size_t i = 0; i < s->table.first_count; i++) sum += s->table.first[i].weight * least[i];
    return sum;
}

/* Whether first turns of these costs, with the later ones, may be better than the best set of `plans` plans: so they
 * are by their mean; by their p95, keep looks at the value itself. Costs that are nowhere more may where these may. */
static bool better(const struct search *s, const double *least, size_t plans)
{
    const double best = s->value[plans], most = 0.05 * s->table.weight * (1 + 1e-9);
    if (by_mean(s)) return s->later_sum + sum_first(s, least) < best;
    if (isinf(best) || weight_over(s, least, best * (1 - PLANNER_SAME)) <= most) return true;
    return weight_over(s, least, best * (1 + PLANNER_SAME)) <= most &&
           s->later_sum + sum_first(s, least) < s->sum[plans];
}

static double value_of(struct search *s, const double *least)
{
    const struct planner_table *t = &s->table;
    size_t count = 0;
    if (by_mean(s)) return s->later_sum + sum_first(s, least);
    for (size_t i = 0; i < t->later_count; i++)
        s->samples[count++] = (struct planner_sample){s->later[i], t->later[i].weight};
    for (size_t i = 0; i < t->first_count; i++)
        s->samples[count++] = (struct planner_sample){least[i], t->first[i].weight};
    return planner_p95(s->samples, count, t->weight);
}

/* What was found, with first turns of these costs, is the best for more plans too, where that is worse. */
static void keep(struct search *s, size_t prefill_count, const double *least)
{
    const struct sm_planner_problem *p = s->problem;
    const double value = value_of(s, least), sum = s->later_sum + sum_first(s, least);
    struct sm_planner_set set = {.prefill_count = prefill_count, .append_count = s->append_count};
    for (size_t i = 0; i < prefill_count; i++) set.prefill[i] = p->prefill[s->prefill[i]];
    for (size_t i = 0; i < s->append_count; i++) set.append[i] = p->append[s->append[i]];
    for (size_t n = prefill_count + s->append_count + 1; n <= p->most_plans; n++) {
        const bool same = !by_mean(s) && fabs(value - s->value[n]) <= PLANNER_SAME * s->value[n];
        if (same ? sum >= s->sum[n] : value >= s->value[n]) continue;
        s->value[n] = value;
        s->sum[n] = sum;
        s->result->best[n] = set;
    }
}

static bool too_large(const struct search *s, double bytes)
{
    return s->problem->most_bytes > 0 && !(bytes <= s->problem->most_bytes);
}

/* Sets with the first `count` of s->prefill and more from `next` on; at most `most` in all. */
static void walk_prefill(struct search *s, size_t count, size_t next, size_t most, double bytes)
{
    const struct planner_table *t = &s->table;
    const size_t turns = t->first_count;
    for (size_t i = next; i < s->problem->prefill_count; i++) {
        const double with_it = bytes + t->prefill_bytes[i];
        const double *with = s->with + i * turns;
        double *least = s->least[count + 1];
        if (too_large(s, with_it)) continue;
        s->prefill[count] = i;
        if (!count) {
            memcpy(least, with, turns * sizeof *least);
        } else {
            const double *before = s->least[count];
            for (size_t k = 0; k < turns; k++) least[k] = with[k] < before[k] ? with[k] : before[k];
        }
        if (better(s, least, s->append_count + count + 2)) keep(s, count + 1, least);
        if (count + 1 < most) walk_prefill(s, count + 1, i + 1, most, with_it);
    }
}

/* What each turn costs with these buckets, and the first ones with each prefill size and with all. */
static void cost_turns(struct search *s, const double *exact, size_t largest)
{
    const struct planner_table *t = &s->table;
    const struct planner_costs costs = {exact, s->padded, s->window, largest};
    planner_pad(t, exact, s->padded, s->window);
    s->later_sum = 0;
    for (size_t i = 0; i < t->later_count; i++) {
        s->later[i] = planner_cost(t, &costs, &t->later[i], NULL);
        s->later_sum += t->later[i].weight * s->later[i];
    }
    for (size_t i = 0; i < t->first_count; i++) s->least[0][i] = INFINITY;
    for (size_t p = 0; p < s->problem->prefill_count; p++)
        for (size_t i = 0; i < t->first_count; i++) {
            const struct planner_entry *rest = &t->rest[p * t->first_count + i];
            double *with = &s->with[p * t->first_count + i];
            *with = t->prefill_ns[p * t->first_count + i] + (rest->tokens ? planner_cost(t, &costs, rest, NULL) : 0);
            if (*with < s->least[0][i]) s->least[0][i] = *with;
        }
}

/* The most plans, up to `plans`, for which the turns as cost_turns left them, with all prefill sizes, beat what is
 * known. A set with these buckets or fewer and some of the sizes cannot where they do not. What is known is less for
 * more plans, so that below that number all may. */
static size_t hopeful(const struct search *s, size_t plans)
{
    while (plans && !better(s, s->least[0], plans)) plans--;
    return plans;
}

/* The buckets chosen, with every set of prefill sizes that may win. */
static void look(struct search *s, size_t plans, double bytes)
{
    const size_t count = s->append_count;
    s->result->sets++;
    cost_turns(s, s->exact[count], count ? s->problem->append[s->append[count - 1]] : 1);
    plans = hopeful(s, plans);
    if (plans >= count + 2) walk_prefill(s, 0, 0, plans - 1 - count, bytes);
}

/* The most plans for which the buckets chosen, and any from `next` on, may win. */
static size_t bound(struct search *s, size_t next, size_t plans)
{
    const struct sm_planner_problem *p = s->problem;
    memcpy(s->all, s->exact[s->append_count], s->table.offset[SM_PLANNER_DEPTHS] * sizeof(double));
    for (size_t i = next; i < p->append_count; i++) planner_add(&s->table, s->all, i);
    cost_turns(s, s->all, p->append[p->append_count - 1]);
    return hopeful(s, plans);
}

static void choose(struct search *s, size_t candidate)
{
    const size_t count = s->append_count++;
    memcpy(s->exact[count + 1], s->exact[count], s->table.offset[SM_PLANNER_DEPTHS] * sizeof(double));
    planner_add(&s->table, s->exact[count + 1], candidate);
    s->append[count] = candidate;
}

static void walk_append(struct search *s, size_t next, size_t plans, double bytes)
{
    const struct sm_planner_problem *p = s->problem;
    const size_t count = s->append_count;
    look(s, plans, bytes);
    if (count >= p->most_append) return;
    for (size_t i = next; i < p->append_count; i++) {
        const double with_it = bytes + s->table.append_bytes[i];
        const bool many = p->append_count - i >= WORTH_A_BOUND && count + 2 <= p->most_append;
        if (many) plans = bound(s, i, plans);
        if (plans < count + 3) return;
        if (too_large(s, with_it)) continue;
        choose(s, i);
        walk_append(s, i + 1, plans, with_it);
        s->append_count = count;
    }
}

/* A good set of each number of buckets, so that the bounds cut much from the start: one bucket more at a time, the best
 * beside those that are there. Only what look keeps comes of it. */
static void walk_greedy(struct search *s)
{
    const struct sm_planner_problem *p = s->problem;
    bool in[SM_PLANNER_SIZES] = {false};
    for (size_t n = 1; n <= p->most_append && n <= p->append_count && n + 2 <= p->most_plans; n++) {
        size_t best = 0;
        double least = INFINITY;
        for (size_t i = 0; i < p->append_count; i++) {
            double bytes = s->table.decode_bytes;
            if (in[i]) continue;
            s->append_count = 0;
            for (size_t k = 0; k < p->append_count; k++)
                if (in[k] || k == i) {
                    choose(s, k);
                    bytes += s->table.append_bytes[k];
                }
            if (too_large(s, bytes)) continue;
            look(s, p->most_plans, bytes);
            const double value = value_of(s, s->least[0]);
            if (value < least) {
                least = value;
                best = i;
            }
        }
        if (isinf(least)) break;
        in[best] = true;
    }
    s->append_count = 0;
}

static int allocate(struct search *s)
{
    const struct planner_table *t = &s->table;
    const size_t total = t->offset[SM_PLANNER_DEPTHS] + 1, turns = t->first_count + 1;
    for (size_t i = 0; i < LEVELS && i <= s->problem->most_append; i++)
        if (!(s->exact[i] = malloc(total * sizeof(double)))) return -1;
    for (size_t i = 0; i < LEVELS; i++)
        if (!(s->least[i] = malloc(turns * sizeof(double)))) return -1;
    s->padded = malloc(total * sizeof(double));
    s->window = malloc(total * sizeof(double));
    s->all = malloc(total * sizeof(double));
    s->later = malloc((t->later_count + 1) * sizeof(double));
    s->with = malloc((s->problem->prefill_count * t->first_count + 1) * sizeof(double));
    s->samples = malloc((t->later_count + t->first_count + 1) * sizeof *s->samples);
    return s->padded && s->window && s->all && s->later && s->with && s->samples ? 0 : -1;
}

static void destroy(struct search *s)
{
    for (size_t i = 0; i < LEVELS; i++) {
        free(s->exact[i]);
        free(s->least[i]);
    }
    free(s->padded);
    free(s->window);
    free(s->all);
    free(s->later);
    free(s->with);
    free(s->samples);
    planner_table_free(&s->table);
    free(s);
}

int sm_planner_search(const struct sm_planner_problem *problem, struct sm_planner_result *result, char *why,
                      size_t why_bytes)
{
    struct search *s = calloc(1, sizeof *s);
    int failed = -1;
    *result = (struct sm_planner_result){.sets = 0};
    if (!s) {
        snprintf(why, why_bytes, "there is no memory to search");
        return -1;
    }
    s->problem = problem;
    s->result = result;
    for (size_t n = 0; n < LEVELS; n++) s->value[n] = s->sum[n] = INFINITY;
    if (!planner_table_create(&s->table, problem, false, why, why_bytes)) {
        if (allocate(s)) {
            snprintf(why, why_bytes, "there is no memory to search for %zu turns", problem->turn_count);
        } else {
            planner_start(&s->table, s->exact[0]);
            walk_greedy(s);
            walk_append(s, 0, problem->most_plans, s->table.decode_bytes);
            failed = 0;
        }
    }
    destroy(s);
    return failed;
}
