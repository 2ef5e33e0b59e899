/* What one set costs, by either rule, and the calls that it makes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "planner_table.h"

double sm_planner_value(const struct sm_planner_price *price, enum sm_planner_objective objective)
{
    return objective == SM_PLANNER_MEAN ? price->mean : objective == SM_PLANNER_P95 ? price->p95 : price->ttft;
}

bool sm_planner_better(const struct sm_planner_price *price, const struct sm_planner_price *than,
                       enum sm_planner_objective objective)
{
    const double own = sm_planner_value(price, objective), other = sm_planner_value(than, objective);
    if (objective == SM_PLANNER_P95 && fabs(own - other) <= PLANNER_SAME * other) return price->ttft < than->ttft;
    return own < other;
}

/* The problem, with the set's sizes and no others. */
static struct sm_planner_problem only(const struct sm_planner_problem *problem, const struct sm_planner_set *set)
{
    struct sm_planner_problem p = *problem;
    p.prefill_count = set->prefill_count;
    p.append_count = set->append_count;
    for (size_t i = 0; i < set->prefill_count; i++) p.prefill[i] = set->prefill[i];
    for (size_t i = 0; i < set->append_count; i++) p.append[i] = set->append[i];
    return p;
}

static struct sm_buckets buckets_of(const size_t *rows, size_t count)
{
    struct sm_buckets b = {.count = count};
    for (size_t i = 0; i < count; i++) b.rows[i] = rows[i];
    return b;
}

struct pricing {
    struct sm_planner_problem problem;
    struct planner_table table;
    enum sm_planner_rule rule;
    double *exact;
    struct planner_costs costs; /* rows are always asked for: exact alone is filled in */
};

/* The calls that bucket.h chooses, at the depth of the turn. */
static double smallest_cost(const struct pricing *r, const struct planner_entry *e, double *rows)
{
    const struct sm_planner_problem *p = &r->problem;
    const struct sm_buckets buckets = buckets_of(p->append, p->append_count);
    size_t tokens = e->tokens, past = p->max_seq - e->tokens - e->room; /* where room is cut, all buckets fit anyway */
    double ns = (double)tokens * r->table.token_ns[e->depth];
    *rows = 0;
    while (tokens) {
        const struct sm_bucket_choice c = sm_bucket_choose(&buckets, tokens, past, p->max_seq, SM_WHEN_FULL_SMALLER);
        size_t i = 0;
        while (!c.decode && p->append[i] != c.rows) i++;
        ns += c.decode ? r->table.decode_ns[e->depth] : r->table.append_ns[e->depth][i];
        *rows += (double)c.rows;
        past += c.count;
        tokens -= c.count;
    }
    return ns;
}

static double append_cost(const struct pricing *r, const struct planner_entry *e, double *rows)
{
    if (r->rule == SM_PLANNER_SMALLEST) return smallest_cost(r, e, rows);
    return planner_cost(&r->table, &r->costs, e, rows);
}

/* Of a first turn: the best of the sizes, or the smallest that holds it. */
static double first_cost(const struct pricing *r, size_t turn, size_t *size, double *rows)
{
    const struct sm_planner_problem *p = &r->problem;
    const struct planner_table *t = &r->table;
    const struct sm_buckets buckets = buckets_of(p->prefill, p->prefill_count);
    const size_t holding = sm_bucket_holding(&buckets, t->first[turn].tokens);
    double least = INFINITY;
    for (size_t s = 0; s < p->prefill_count; s++) {
        const struct planner_entry *rest = &t->rest[s * t->first_count + turn];
        double more = 0, ns = t->prefill_ns[s * t->first_count + turn];
        if (r->rule == SM_PLANNER_SMALLEST && p->prefill[s] != holding) continue;
        if (rest->tokens) ns += append_cost(r, rest, &more);
        if (ns >= least) continue;
        least = ns;
        *size = s;
        *rows = (double)p->prefill[s] + more;
    }
    return least;
}

static int prepare(struct pricing *r, const struct sm_planner_problem *problem, const struct sm_planner_set *set,
                   enum sm_planner_rule rule, char *why, size_t why_bytes)
{
    *r = (struct pricing){.problem = only(problem, set), .rule = rule};
    if (planner_table_create(&r->table, &r->problem, true, why, why_bytes)) return -1;
    const size_t total = r->table.offset[SM_PLANNER_DEPTHS] + 1;
    r->exact = malloc(total * sizeof *r->exact);
    if (!r->exact) {
        snprintf(why, why_bytes, "there is no memory for the costs of a set");
        return -1;
    }
    planner_start(&r->table, r->exact);
    for (size_t i = 0; i < set->append_count; i++) planner_add(&r->table, r->exact, i);
    r->costs.least = r->exact;
    r->costs.largest = set->append_count ? set->append[set->append_count - 1] : 1;
    return 0;
}

static void finish(struct pricing *r)
{
    planner_table_free(&r->table);
    free(r->exact);
}

static double all_bytes(const struct planner_table *t)
{
    double bytes = t->decode_bytes;
    for (size_t i = 0; i < t->problem->prefill_count; i++) bytes += t->prefill_bytes[i];
    for (size_t i = 0; i < t->problem->append_count; i++) bytes += t->append_bytes[i];
    return bytes;
}

int sm_planner_price(const struct sm_planner_problem *problem, const struct sm_planner_set *set,
                     enum sm_planner_rule rule, struct sm_planner_price *price, char *why, size_t why_bytes)
{
    struct pricing r;
    struct planner_sample *samples = malloc((problem->turn_count + 1) * sizeof *samples);
    int failed = prepare(&r, problem, set, rule, why, why_bytes);
    if (!failed && !samples) {
        snprintf(why, why_bytes, "there is no memory for %zu turns", problem->turn_count);
        failed = -1;
    }
    const struct planner_table *t = &r.table;
    double sum = 0, tokens = 0, all_rows = 0, rows = 0;
    size_t count = 0;
    for (size_t i = 0; !failed && i < t->later_count; i++) {
        const struct planner_entry *e = &t->later[i];
        samples[count++] = (struct planner_sample){append_cost(&r, e, &rows), e->weight};
        tokens += e->weight * (double)e->tokens;
        all_rows += e->weight * rows;
    }
    for (size_t i = 0; !failed && i < t->first_count; i++) {
        size_t size = 0;
        samples[count++] = (struct planner_sample){first_cost(&r, i, &size, &rows), t->first[i].weight};
        tokens += t->first[i].weight * (double)t->first[i].tokens;
        all_rows += t->first[i].weight * rows;
    }
    for (size_t i = 0; i < count; i++) sum += samples[i].weight * samples[i].value;
    if (!failed)
        *price = (struct sm_planner_price){.mean = (sum + r.table.decode_sum) / r.table.weight,
                                           .ttft = sum / r.table.weight,
                                           .p95 = planner_p95(samples, count, r.table.weight),
                                           .bytes = all_bytes(&r.table),
                                           .tokens = tokens,
                                           .rows = all_rows};
    finish(&r);
    free(samples);
    return failed;
}

struct list {
    struct sm_chunk *calls;
    size_t most, count, past;
};

static void add_call(struct list *l, enum sm_phase phase, size_t rows, size_t count, double ns)
{
    if (l->count < l->most)
        l->calls[l->count] = (struct sm_chunk){phase, rows, count, l->past, (uint64_t)llrint(ns), false};
    l->count++;
    l->past += count;
}

/* A call of one of the sizes, or behind them a decode, at the price that it has at that depth. */
static void add_append(struct list *l, const struct pricing *r, size_t depth, size_t size, size_t count)
{
    const struct planner_table *t = &r->table;
    const double tokens = (double)count * t->token_ns[depth];
    if (size < r->problem.append_count)
        add_call(l, SM_PHASE_APPEND, r->problem.append[size], count, tokens + t->append_ns[depth][size]);
    else
        add_call(l, SM_PHASE_DECODE, 1, 1, tokens + t->decode_ns[depth]);
}

/* Which sizes make up the least cost, the largest first. */
static void best_calls(const struct pricing *r, const struct planner_entry *e, struct list *l)
{
    const struct sm_planner_problem *p = &r->problem;
    const double *exact = r->exact + r->table.offset[e->depth];
    size_t left = e->tokens, used[SM_PLANNER_SIZES] = {0}, decodes = 0;
    double rows;
    (void)append_cost(r, e, &rows);
    for (size_t at = (size_t)rows; at;) {
        size_t size = p->append_count; /* a decode */
        double least = r->table.decode_ns[e->depth] + exact[at - 1];
        for (size_t i = 0; i < p->append_count; i++) {
            if (p->append[i] > at || r->table.append_ns[e->depth][i] + exact[at - p->append[i]] >= least) continue;
            least = r->table.append_ns[e->depth][i] + exact[at - p->append[i]];
            size = i;
        }
        if (size < p->append_count) used[size]++;
        decodes += size == p->append_count;
        at -= size < p->append_count ? p->append[size] : 1;
    }
    for (size_t i = p->append_count; i-- > 0;)
        for (; used[i]; used[i]--) {
            const size_t count = left < p->append[i] ? left : p->append[i];
            add_append(l, r, e->depth, i, count);
            left -= count;
        }
    for (; decodes; decodes--) add_append(l, r, e->depth, p->append_count, 1);
}

static void smallest_calls(const struct pricing *r, const struct planner_entry *e, struct list *l)
{
    const struct sm_planner_problem *p = &r->problem;
    const struct sm_buckets buckets = buckets_of(p->append, p->append_count);
    for (size_t tokens = e->tokens; tokens;) {
        const struct sm_bucket_choice c = sm_bucket_choose(&buckets, tokens, l->past, p->max_seq, SM_WHEN_FULL_SMALLER);
        size_t i = c.decode ? p->append_count : 0;
        while (i < p->append_count && p->append[i] != c.rows) i++;
        add_append(l, r, e->depth, i, c.count);
        tokens -= c.count;
    }
}

size_t sm_planner_calls(const struct sm_planner_problem *problem, const struct sm_planner_set *set,
                        enum sm_planner_rule rule, size_t past, size_t tokens, struct sm_chunk *calls, size_t most)
{
    char why[256];
    const struct sm_planner_turn turn = {.past = past, .in = tokens, .weight = 1};
    struct sm_planner_problem one = *problem;
    struct pricing r;
    struct list l = {.calls = calls, .most = most, .past = past};
    one.turns = &turn;
    one.turn_count = 1;
    if (!prepare(&r, &one, set, rule, why, sizeof why)) {
        struct planner_entry e = {.depth = planner_depth_of(one.max_seq, past, tokens), .tokens = tokens};
        if (!past) {
            double rows;
            size_t size = 0;
            (void)first_cost(&r, 0, &size, &rows);
            const size_t now = tokens < set->prefill[size] ? tokens : set->prefill[size];
            add_call(&l, SM_PHASE_PREFILL, set->prefill[size], now, r.table.prefill_ns[size]);
            e.tokens = tokens - now;
            e.depth = planner_depth_of(one.max_seq, now, e.tokens);
        }
        e.room = one.max_seq - past - tokens;
        if (e.tokens && rule == SM_PLANNER_BEST)
            best_calls(&r, &e, &l);
        else if (e.tokens)
            smallest_calls(&r, &e, &l);
    }
    finish(&r);
    return l.count;
}
