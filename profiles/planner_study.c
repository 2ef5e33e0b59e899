#include "planner_study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"

const char *const planner_objectives[] = {"mean", "p95", "ttft", NULL};

static const size_t standard_append[] = {2, 4, 8, 12, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256, 384, 512};
static const size_t standard_prefill[] = {16,  32,  48,  64,   96,   128,  192,  256,  320,  384,  512,
                                          640, 768, 896, 1024, 1280, 1536, 1792, 2048, 3072, 4096, 8192};

/* The curve alone and never a single point's own number, so that times rise with sizes. */
double planner_study_ns(const void *context, enum sm_phase phase, size_t rows, size_t tokens, size_t max_seq,
                        size_t past)
{
    char why[256];
    struct sm_cost cost;
    struct sm_cost_call call = {.phase = phase, .rows = rows, .max_seq = max_seq, .past = past, .tokens = tokens};
    if (past > max_seq - 2) call.past = max_seq - 2;
    if (call.tokens > max_seq - 1 - call.past) call.tokens = max_seq - 1 - call.past;
    return sm_cost_predict(context, &call, &cost, why, sizeof why) ? NAN : cost.ns;
}

static double token_ns(const void *context, size_t max_seq, size_t at)
{
    const double ns = sm_cost_token_ns(context, at);
    (void)max_seq;
    return isnan(ns) ? 0 : ns; /* without appends nothing is padded */
}

static double arena_of(const void *context, enum sm_phase phase, size_t rows, size_t max_seq)
{
    char why[256];
    double bytes;
    bool exact;
    return sm_cost_arena(context, phase, rows, max_seq, &bytes, &exact, why, sizeof why) ? NAN : bytes;
}

static bool can_ask(const struct planner_study *s, enum sm_phase phase, size_t rows, size_t max_seq)
{
    return rows <= max_seq && isfinite(planner_study_ns(s->series, phase, rows, rows, max_seq, 0));
}

static void sort_in(size_t *sizes, size_t *count, size_t size)
{
    size_t at = 0;
    while (at < *count && sizes[at] < size) at++;
    if ((at < *count && sizes[at] == size) || *count == SM_PLANNER_SIZES) return;
    memmove(sizes + at + 1, sizes + at, (*count - at) * sizeof *sizes);
    sizes[at] = size;
    ++*count;
}

void planner_study_missing(const struct planner_study *s, enum sm_phase phase, size_t rows, size_t max_seq, char *why,
                           size_t why_bytes)
{
    const struct sm_cost_fit *f = &s->series->phase[phase].time;
    char range[64] = "none was measured";
    if (f->knots) snprintf(range, sizeof range, "%.0f to %.0f rows were measured", f->knot[0], f->knot[f->knots - 1]);
    snprintf(why, why_bytes,
             "the costs have no %s of %zu rows at max_seq %zu (%s); add it with: %s --max-seq %zu --%s %zu",
             sm_phase_name(phase), rows, max_seq, range, s->measure, max_seq,
             phase == SM_PHASE_APPEND ? "buckets" : "prefill-buckets", rows);
}

/* The candidates of a phase: those given, or what is standard and was measured. */
static int candidates(const struct planner_study *s, const struct sm_list *given, enum sm_phase phase, size_t max_seq,
                      size_t *sizes, size_t *count, char *why, size_t why_bytes)
{
    const bool append = phase == SM_PHASE_APPEND;
    const size_t *standard = append ? standard_append : standard_prefill;
    const size_t standards =
        append ? sizeof standard_append / sizeof *standard : sizeof standard_prefill / sizeof *standard;
    *count = 0;
    for (size_t i = 0; i < given->count; i++) {
        const size_t rows = (size_t)given->value[i];
        if (rows > max_seq) continue;
        if (!can_ask(s, phase, rows, max_seq)) {
            planner_study_missing(s, phase, rows, max_seq, why, why_bytes);
            return -1;
        }
        sort_in(sizes, count, rows);
    }
    if (given->count) return 0;
    for (size_t i = 0; i < standards; i++)
        if (can_ask(s, phase, standard[i], max_seq)) sort_in(sizes, count, standard[i]);
    if (!append && can_ask(s, phase, max_seq, max_seq)) sort_in(sizes, count, max_seq);
    return 0;
}

static int set_problem(struct planner_study *s, size_t max_seq, struct sm_planner_problem *p, double *cache, char *why,
                       size_t why_bytes)
{
    bool exact;
    *p = (struct sm_planner_problem){.turns = s->turns->turn,
                                     .turn_count = s->turns->count,
                                     .max_seq = max_seq,
                                     .most_append = s->most_append,
                                     .most_plans = s->most_plans,
                                     .objective = s->objective,
                                     .costs = {planner_study_ns, token_ns, arena_of, s->series}};
    if (candidates(s, &s->append, SM_PHASE_APPEND, max_seq, p->append, &p->append_count, why, why_bytes) ||
        candidates(s, &s->prefill, SM_PHASE_PREFILL, max_seq, p->prefill, &p->prefill_count, why, why_bytes))
        return -1;
    if (sm_cost_cache(s->series, max_seq, cache, &exact, why, why_bytes)) *cache = NAN;
    if (s->memory > 0) p->most_bytes = s->memory - *cache;
    return 0;
}

/* max_seq that were measured with a cache, ascending. */
static void measured_max_seq(struct planner_study *s)
{
    for (size_t i = 0; i < s->series->count; i++) {
        const struct sm_cost_measured *m = &s->series->measured[i];
        size_t at = 0;
        if (m->phase == SM_PHASE_PREFILL || s->max_seq.count == SM_LIST_MOST) continue;
        while (at < s->max_seq.count && (size_t)s->max_seq.value[at] < m->max_seq) at++;
        if (at < s->max_seq.count && (size_t)s->max_seq.value[at] == m->max_seq) continue;
        memmove(s->max_seq.value + at + 1, s->max_seq.value + at, (s->max_seq.count - at) * sizeof *s->max_seq.value);
        s->max_seq.value[at] = (int64_t)m->max_seq;
        s->max_seq.count++;
    }
}

static int search_one(struct planner_study *s, size_t i, char *why, size_t why_bytes)
{
    struct sm_planner_problem p;
    struct sm_planner_result result;
    struct sm_planner_price price;
    double cache;
    const size_t max_seq = (size_t)s->max_seq.value[i];
    s->value[i] = NAN;
    if (s->turns->longest > max_seq - 1) return 0;
    if (set_problem(s, max_seq, &p, &cache, why, why_bytes)) return -1;
    s->unmeasured[i] = !p.prefill_count;
    if (s->unmeasured[i]) return 0;
    if (s->memory > 0 && !(p.most_bytes > 0)) return 0;
    if (sm_planner_search(&p, &result, why, why_bytes)) return -1;
    s->sets += result.sets;
    const struct sm_planner_set *best = &result.best[p.most_plans];
    if (!best->prefill_count) return 0;
    if (sm_planner_price(&p, best, SM_PLANNER_BEST, &price, why, why_bytes)) return -1;
    s->value[i] = sm_planner_value(&price, s->objective);
    if (s->planned.name && !sm_planner_better(&price, &s->planned.price, s->objective)) return 0;
    s->problem = p;
    s->result = result;
    s->cache_bytes = cache;
    s->planned = (struct planner_choice){.name = "planned", .set = *best, .price = price};
    return 0;
}

static int price_curve(struct planner_study *s, char *why, size_t why_bytes)
{
    for (size_t n = 2; n <= s->most_plans; n++)
        if (s->result.best[n].prefill_count &&
            sm_planner_price(&s->problem, &s->result.best[n], SM_PLANNER_BEST, &s->curve[n], why, why_bytes))
            return -1;
    return 0;
}

static void price_usual(struct planner_study *s, struct planner_choice *c)
{
    if (sm_planner_price(&s->problem, &c->set, c->rule, &c->price, c->why, sizeof c->why)) {
        const double none = NAN;
        c->price = (struct sm_planner_price){none, none, none, none, none, none};
    }
}

/* Powers of two from `first` on, `count` of them, as far as they were measured and fit. */
static size_t powers(const struct planner_study *s, enum sm_phase phase, size_t first, size_t count, size_t *sizes)
{
    size_t made = 0;
    for (size_t rows = first; made < count && can_ask(s, phase, rows, s->problem.max_seq); rows *= 2)
        sizes[made++] = rows;
    return made;
}

/* Every run of append sizes with every run of prefill sizes: which of them would be chosen is a favour to them. */
static void find_powers(struct planner_study *s, struct planner_choice *best)
{
    const struct sm_planner_set *planned = &s->planned.set;
    double least = INFINITY;
    for (size_t a = 2; a <= s->problem.max_seq; a *= 2)
        for (size_t p = 2; p <= s->problem.max_seq; p *= 2) {
            struct planner_choice c = {.name = best->name, .rule = SM_PLANNER_SMALLEST};
            c.set.append_count = powers(s, SM_PHASE_APPEND, a, planned->append_count, c.set.append);
            c.set.prefill_count = powers(s, SM_PHASE_PREFILL, p, planned->prefill_count, c.set.prefill);
            if (c.set.append_count < planned->append_count || c.set.prefill_count < planned->prefill_count) continue;
            price_usual(s, &c);
            const double value = sm_planner_value(&c.price, s->objective);
            if (c.why[0] || value >= least) continue;
            least = value;
            *best = c;
        }
    if (isinf(least))
        snprintf(best->why, sizeof best->why, "fewer powers of two were measured than %zu prefill and %zu append sizes",
                 planned->prefill_count, planned->append_count);
}

/* The power of two that holds the longest turn, as far as it was measured and fits; first turns or later ones. */
static size_t holds_all(const struct planner_study *s, enum sm_phase phase)
{
    size_t rows = 2, k = s->problem.max_seq;
    while (rows * 2 <= k && !can_ask(s, phase, rows, k)) rows *= 2;
    for (size_t i = 0; i < s->turns->count; i++)
        while ((s->turns->turn[i].past == 0) == (phase == SM_PHASE_PREFILL) && rows < s->turns->turn[i].in &&
               can_ask(s, phase, 2 * rows, k))
            rows *= 2;
    return rows;
}

/* Powers of two that end there. */
static size_t powers_to(const struct planner_study *s, enum sm_phase phase, size_t count, size_t *sizes)
{
    size_t first = holds_all(s, phase);
    for (size_t i = 1; i < count && can_ask(s, phase, first / 2, s->problem.max_seq); i++) first /= 2;
    return powers(s, phase, first, count, sizes);
}

static void price_usuals(struct planner_study *s)
{
    const size_t k = s->problem.max_seq;
    struct planner_choice *u = s->usual;
    struct sm_planner_set *p = &u[PLANNER_USUAL_POWERS].set;
    u[PLANNER_USUAL_POWERS] = (struct planner_choice){.name = "powers of two", .rule = SM_PLANNER_SMALLEST};
    p->append_count = powers_to(s, SM_PHASE_APPEND, s->planned.set.append_count, p->append);
    p->prefill_count = powers_to(s, SM_PHASE_PREFILL, s->planned.set.prefill_count, p->prefill);
    u[PLANNER_USUAL_BEST_POWERS] = (struct planner_choice){.name = "best powers of two"};
    find_powers(s, &u[PLANNER_USUAL_BEST_POWERS]);
    u[PLANNER_USUAL_POWERS_CALLS] = u[PLANNER_USUAL_BEST_POWERS];
    u[PLANNER_USUAL_POWERS_CALLS].name = "with the best calls";
    u[PLANNER_USUAL_POWERS_CALLS].rule = SM_PLANNER_BEST;
    u[PLANNER_USUAL_FOUR] = (struct planner_choice){.name = "8,16,32,64",
                                                    .set = {{k / 4, k / 2, k - k / 4, k}, 4, {8, 16, 32, 64}, 4},
                                                    .rule = SM_PLANNER_SMALLEST};
    u[PLANNER_USUAL_ONE] = (struct planner_choice){
        .name = "one big bucket", .set = {{k}, 1, {holds_all(s, SM_PHASE_APPEND)}, 1}, .rule = SM_PLANNER_SMALLEST};
    u[PLANNER_USUAL_NONE] =
        (struct planner_choice){.name = "one prefill, decodes", .set = {{k}, 1, {0}, 0}, .rule = SM_PLANNER_SMALLEST};
    for (size_t i = 0; i < PLANNER_USUALS; i++)
        if (!u[i].why[0]) price_usual(s, &u[i]);
}

static void say_nothing_fits(const struct planner_study *s, char *why, size_t why_bytes)
{
    size_t most = 1;
    for (size_t i = 0; i < s->max_seq.count; i++) {
        const size_t max_seq = (size_t)s->max_seq.value[i];
        if (max_seq > most) most = max_seq;
        if (!s->unmeasured[i]) continue;
        planner_study_missing(s, SM_PHASE_PREFILL, max_seq, max_seq, why, why_bytes);
        return;
    }
    if (s->turns->longest > most - 1)
        snprintf(why, why_bytes,
                 "the longest session has %zu tokens, and none of the max_seq has so many past slots: "
                 "give a greater --max-seq, or shorter sessions",
                 s->turns->longest);
    else
        snprintf(why, why_bytes,
                 "no set of plans fits --memory: the cache and the arenas of a single prefill and a "
                 "decode need more");
}

int planner_study_run(struct planner_study *s, char *why, size_t why_bytes)
{
    const uint64_t begin = sm_clock_ns();
    if (!s->max_seq.count) measured_max_seq(s);
    for (size_t i = 0; i < s->max_seq.count; i++)
        if (search_one(s, i, why, why_bytes)) return -1;
    if (!s->planned.name) {
        say_nothing_fits(s, why, why_bytes);
        return -1;
    }
    if (price_curve(s, why, why_bytes)) return -1;
    s->seconds = 1e-9 * (double)(sm_clock_ns() - begin);
    price_usuals(s);
    return 0;
}
