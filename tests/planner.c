/* The planner against brute force: every set of sizes, every sequence of calls, priced by a recursion that knows
 * nothing of how the planner does it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "planner.h"

#define CASES 500
#define MOST_TURNS 8
#define MOST_SEQ 160

static char why[512];

static uint64_t state;

static uint64_t draw(void)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static size_t between(size_t least, size_t most)
{
    return least + (size_t)(draw() % (most - least + 1));
}

static double fraction(void)
{
    return (double)(draw() >> 11) * 0x1p-53;
}

/* What calls cost in a case: a knee and a slope, as machines have it, or anything at all. */
struct costs {
    bool any;
    uint64_t seed;
    double fixed, row, slot;
    double token; /* what a real one adds at a slot; 0: nothing */
};

static double ns_of(const void *context, enum sm_phase phase, size_t rows, size_t tokens, size_t max_seq, size_t past)
{
    const struct costs *c = context;
    assert_true(tokens >= 1 && tokens <= rows && past + rows <= max_seq);
    assert_true(phase == SM_PHASE_PREFILL || tokens == rows);
    if (c->any) {
        const uint64_t before = state;
        state =
            c->seed ^ (uint64_t)phase * 7919 ^ (uint64_t)rows * 104729 ^ (uint64_t)past * 1299709 ^ tokens * 15485863;
        const double ns = 1 + 99 * fraction();
        state = before;
        return ns;
    }
    const double busy = c->row * (double)rows * (1 + c->slot * (double)past) + c->token * (double)tokens;
    return (busy > c->fixed ? busy : c->fixed) * (phase == SM_PHASE_PREFILL ? 0.8 : 1);
}

static double token_of(const void *context, size_t max_seq, size_t at)
{
    const struct costs *c = context;
    assert_true(at < max_seq);
    return c->token * (1 + (double)at / (double)max_seq);
}

static double bytes_of(const void *context, enum sm_phase phase, size_t rows, size_t max_seq)
{
    (void)context;
    return (double)(rows * (phase == SM_PHASE_PREFILL ? rows : max_seq));
}

/* A few sizes of least to most, ascending. */
static size_t draw_sizes(size_t *sizes, size_t most_sizes, size_t least, size_t most)
{
    size_t count = 0;
    for (size_t i = 0, n = between(1, most_sizes); i < n; i++) {
        size_t at = 0;
        const size_t size = between(least, most);
        while (at < count && sizes[at] < size) at++;
        if (at < count && sizes[at] == size) continue;
        memmove(sizes + at + 1, sizes + at, (count - at) * sizeof *sizes);
        sizes[at] = size;
        count++;
    }
    return count;
}

struct fixture {
    struct costs costs;
    struct sm_planner_turn turns[MOST_TURNS];
    struct sm_planner_problem problem;
};

static void draw_case(struct fixture *f, uint64_t seed)
{
    struct sm_planner_problem *p = &f->problem;
    memset(f, 0, sizeof *f);
    state = seed * 0x2545f4914f6cdd1d + 1;
    f->costs = (struct costs){draw() % 4 == 0, draw(), 2 + 20 * fraction(), 1 + fraction(), 0.05 * fraction(), 0};
    if (draw() % 3) f->costs.token = (f->costs.any ? 5 : 0.7) * fraction();
    p->max_seq = between(6, draw() % 2 ? 40 : MOST_SEQ);
    p->turns = f->turns;
    p->turn_count = between(1, MOST_TURNS);
    for (size_t i = 0; i < p->turn_count; i++) {
        struct sm_planner_turn *t = &f->turns[i];
        t->past = draw() % 3 == 0 ? 0 : between(1, p->max_seq - 2);
        t->in = between(1, p->max_seq - 1 - t->past);
        t->out = between(0, p->max_seq - 1 - t->past - t->in);
        t->weight = (double)between(1, 9);
    }
    p->prefill_count = draw_sizes(p->prefill, 3, 1, p->max_seq);
    p->append_count = draw_sizes(p->append, 6, 2, p->max_seq / 2 > 2 ? p->max_seq / 2 : 2);
    if (draw() % 8 == 0) p->append_count = 0;
    p->most_append = between(0, 5);
    p->most_plans = between(2, 8);
    p->costs = (struct sm_planner_costs){ns_of, token_of, bytes_of, &f->costs};
    if (draw() % 3 == 0) p->most_bytes = (double)between(p->max_seq, 3 * p->max_seq * p->max_seq);
}

/* Of an append or a decode with `tokens` real rows, around a slot. */
static double around(const struct fixture *f, enum sm_phase phase, size_t rows, size_t tokens, size_t slot)
{
    const size_t max_seq = f->problem.max_seq, half = rows / 2, before = slot > half ? slot - half : 0;
    const size_t past = before + rows > max_seq ? max_seq - rows : before;
    const double token = token_of(&f->costs, max_seq, slot), full = ns_of(&f->costs, phase, rows, rows, max_seq, past);
    const double padded = full - (double)(rows - tokens) * token, least = (double)tokens * token;
    return padded > least ? padded : least;
}

/* Least cost of `left` tokens that end at `end`, with the buckets of a mask: tries every next call. */
static double brute_turn(const struct fixture *f, unsigned mask, size_t slot, size_t end, size_t left, double *known)
{
    const struct sm_planner_problem *p = &f->problem;
    if (!left) return 0;
    if (known[left] > 0) return known[left];
    const size_t past = end - left;
    double least = around(f, SM_PHASE_DECODE, 1, 1, slot) + brute_turn(f, mask, slot, end, left - 1, known);
    for (size_t i = 0; i < p->append_count; i++) {
        const size_t rows = p->append[i], now = rows < left ? rows : left;
        if (!(mask >> i & 1) || past + rows > p->max_seq) continue;
        const double ns =
            around(f, SM_PHASE_APPEND, rows, now, slot) + brute_turn(f, mask, slot, end, left - now, known);
        if (ns < least) least = ns;
    }
    return known[left] = least;
}

static double brute_append(const struct fixture *f, unsigned mask, size_t past, size_t tokens)
{
    double known[MOST_SEQ + 1] = {0};
    return brute_turn(f, mask, sm_planner_depth(f->problem.max_seq, past, tokens), past + tokens, tokens, known);
}

struct sized {
    double value, weight;
};

static int by_value(const void *a, const void *b)
{
    const double x = ((const struct sized *)a)->value, y = ((const struct sized *)b)->value;
    return (x > y) - (x < y);
}

/* Of costs[turn], the objective. */
static double brute_objective(const struct fixture *f, const double *costs, enum sm_planner_objective objective)
{
    const struct sm_planner_problem *p = &f->problem;
    double sum = 0, weight = 0, behind = 0;
    struct sized all[MOST_TURNS];
    for (size_t i = 0; i < p->turn_count; i++) {
        const struct sm_planner_turn *t = &p->turns[i];
        all[i] = (struct sized){costs[i], t->weight};
        weight += t->weight;
        sum += t->weight * costs[i];
        if (objective == SM_PLANNER_MEAN && t->out)
            sum += t->weight * (double)t->out *
                   ns_of(&f->costs, SM_PHASE_DECODE, 1, 1, p->max_seq, t->past + t->in + t->out / 2);
    }
    if (objective != SM_PLANNER_P95) return sum / weight;
    qsort(all, p->turn_count, sizeof *all, by_value);
    for (size_t i = 0; i < p->turn_count; i++)
        if ((behind += all[i].weight) >= 0.95 * weight - 1e-9) return all[i].value;
    return NAN;
}

static double brute_first(const struct fixture *f, unsigned append, unsigned prefill, size_t tokens)
{
    const struct sm_planner_problem *p = &f->problem;
    double least = INFINITY;
    for (size_t i = 0; i < p->prefill_count; i++) {
        if (!(prefill >> i & 1)) continue;
        const size_t rows = p->prefill[i];
        double ns = ns_of(&f->costs, SM_PHASE_PREFILL, rows, tokens < rows ? tokens : rows, p->max_seq, 0);
        if (tokens > rows) ns += brute_append(f, append, rows, tokens - rows);
        if (ns < least) least = ns;
    }
    return least;
}

static double brute_bytes(const struct sm_planner_problem *p, unsigned append, unsigned prefill)
{
    double bytes = bytes_of(NULL, SM_PHASE_DECODE, 1, p->max_seq);
    for (size_t i = 0; i < p->append_count; i++)
        if (append >> i & 1) bytes += bytes_of(NULL, SM_PHASE_APPEND, p->append[i], p->max_seq);
    for (size_t i = 0; i < p->prefill_count; i++)
        if (prefill >> i & 1) bytes += bytes_of(NULL, SM_PHASE_PREFILL, p->prefill[i], p->max_seq);
    return bytes;
}

/* By objective and number of plans; of the p95 also the least mean of the sets that have it. */
static void brute_force(const struct fixture *f, double best[3][SM_PLANNER_PLANS + 1],
                        double means[SM_PLANNER_PLANS + 1])
{
    const struct sm_planner_problem *p = &f->problem;
    double costs[MOST_TURNS];
    for (int o = 0; o < 3; o++)
        for (size_t n = 0; n <= SM_PLANNER_PLANS; n++) best[o][n] = means[n] = INFINITY;
    for (unsigned append = 0; append < 1U << p->append_count; append++)
        for (unsigned prefill = 1; prefill < 1U << p->prefill_count; prefill++) {
            const size_t a = (size_t)__builtin_popcount(append), m = (size_t)__builtin_popcount(prefill);
            if (a > p->most_append || a + m + 1 > p->most_plans) continue;
            if (p->most_bytes > 0 && brute_bytes(p, append, prefill) > p->most_bytes) continue;
            for (size_t i = 0; i < p->turn_count; i++)
                costs[i] = p->turns[i].past ? brute_append(f, append, p->turns[i].past, p->turns[i].in)
                                            : brute_first(f, append, prefill, p->turns[i].in);
            for (int o = 0; o < 3; o++) {
                const double value = brute_objective(f, costs, (enum sm_planner_objective)o);
                const double mean = brute_objective(f, costs, SM_PLANNER_TTFT);
                for (size_t n = a + m + 1; n <= p->most_plans; n++) {
                    const double before = best[o][n];
                    if (o == SM_PLANNER_P95 && value < before * (1 - 1e-9)) means[n] = INFINITY;
                    if (o == SM_PLANNER_P95 && !(value > before * (1 + 1e-9)) && mean < means[n]) means[n] = mean;
                    if (value < before) best[o][n] = value;
                }
            }
        }
}

/* The calls of a turn take all of it, in order, each where it fits, and cost what they were said to. */
static double walk_calls(const struct fixture *f, const struct sm_planner_set *set, enum sm_planner_rule rule,
                         const struct sm_planner_turn *turn)
{
    const struct sm_planner_problem *p = &f->problem;
    struct sm_chunk calls[MOST_SEQ];
    const size_t count = sm_planner_calls(p, set, rule, turn->past, turn->in, calls, MOST_SEQ);
    size_t past = turn->past, appended = turn->past;
    double ns = 0;
    assert_true(count >= 1 && count <= turn->in);
    for (size_t i = 0; i < count; i++) {
        const struct sm_chunk *c = &calls[i];
        assert_int_equal(c->past, past);
        assert_true(c->count >= 1 && c->count <= c->rows && past + c->rows <= p->max_seq);
        if (i + 1 < count) assert_int_equal(c->count, c->rows);
        assert_int_equal(c->phase == SM_PHASE_PREFILL, !turn->past && !i);
        if (c->phase == SM_PHASE_PREFILL) appended = c->count;
        const size_t slot = sm_planner_depth(p->max_seq, appended, turn->past + turn->in - appended);
        const double one = c->phase == SM_PHASE_PREFILL ? ns_of(&f->costs, c->phase, c->rows, c->count, p->max_seq, 0)
                                                        : around(f, c->phase, c->rows, c->count, slot);
        assert_true(fabs((double)c->ns - one) <= 1);
        ns += one;
        past += c->count;
    }
    assert_int_equal(past, turn->past + turn->in);
    return ns;
}

static void equals_brute_force(void **test_state)
{
    size_t differ = 0, none = 0;
    double means[SM_PLANNER_PLANS + 1];
    (void)test_state;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        struct fixture f;
        struct sm_planner_result result;
        double best[3][SM_PLANNER_PLANS + 1];
        draw_case(&f, seed);
        brute_force(&f, best, means);
        for (int o = 0; o < 3; o++) {
            f.problem.objective = (enum sm_planner_objective)o;
            if (sm_planner_search(&f.problem, &result, why, sizeof why)) fail_msg("case %d: %s", (int)seed, why);
            for (size_t n = 2; n <= f.problem.most_plans; n++) {
                const struct sm_planner_set *set = &result.best[n];
                struct sm_planner_price price;
                double costs[MOST_TURNS];
                assert_int_equal(!set->prefill_count, isinf(best[o][n]));
                none += !set->prefill_count;
                if (!set->prefill_count) continue;
                assert_true(set->prefill_count + set->append_count + 1 <= n);
                assert_int_equal(sm_planner_price(&f.problem, set, SM_PLANNER_BEST, &price, why, sizeof why), 0);
                const double value = sm_planner_value(&price, f.problem.objective);
                if (fabs(value - best[o][n]) > 1e-9 * best[o][n])
                    fail_msg("case %d, objective %d, %zu plans: %.12g, by brute force %.12g", (int)seed, o, n, value,
                             best[o][n]);
                if (o == SM_PLANNER_P95 && price.ttft > means[n] * (1 + 1e-9))
                    fail_msg("case %d, %zu plans: a mean of %.12g, by brute force %.12g at the same p95", (int)seed, n,
                             price.ttft, means[n]);
                for (size_t i = 0; i < f.problem.turn_count; i++)
                    costs[i] = walk_calls(&f, set, SM_PLANNER_BEST, &f.turns[i]);
                assert_true(fabs(brute_objective(&f, costs, f.problem.objective) - value) <= 1e-9 * value);
                differ += n > 2 && value < best[o][2];
            }
        }
    }
    assert_true(differ > 200 && none > 20); /* the cases ask something */
}

/* The other rule is that of bucket.h, and never better. */
static void smallest_that_fits(void **test_state)
{
    size_t worse = 0;
    (void)test_state;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        struct fixture f;
        struct sm_planner_result result;
        struct sm_planner_price best, usual;
        double costs[MOST_TURNS];
        draw_case(&f, seed);
        f.problem.most_bytes = 0;
        assert_int_equal(sm_planner_search(&f.problem, &result, why, sizeof why), 0);
        const struct sm_planner_set *set = &result.best[f.problem.most_plans];
        assert_int_equal(sm_planner_price(&f.problem, set, SM_PLANNER_BEST, &best, why, sizeof why), 0);
        assert_int_equal(sm_planner_price(&f.problem, set, SM_PLANNER_SMALLEST, &usual, why, sizeof why), 0);
        for (size_t i = 0; i < f.problem.turn_count; i++)
            costs[i] = walk_calls(&f, set, SM_PLANNER_SMALLEST, &f.turns[i]);
        assert_true(fabs(brute_objective(&f, costs, SM_PLANNER_TTFT) - usual.ttft) <= 1e-9 * usual.ttft);
        assert_true(best.ttft <= usual.ttft * (1 + 1e-12) && best.rows >= best.tokens && usual.rows >= usual.tokens);
        worse += best.ttft < usual.ttft * (1 - 1e-9);
    }
    assert_true(worse > 50);
}

/* By hand, with calls of max(10, rows) ns: 190 tokens are cheaper in three of 64 than in the 256 that holds them. */
static void by_hand(void **test_state)
{
    (void)test_state;
    struct fixture f = {.costs = {.fixed = 10, .row = 1}};
    const struct sm_planner_set set = {{512}, 1, {64, 256}, 2};
    struct sm_chunk calls[16];
    f.problem = (struct sm_planner_problem){.max_seq = 2048, .costs = {ns_of, token_of, bytes_of, &f.costs}};
    assert_int_equal(sm_planner_calls(&f.problem, &set, SM_PLANNER_BEST, 600, 190, calls, 16), 3);
    assert_int_equal(calls[2].rows, 64);
    assert_int_equal(calls[2].count, 62);
    assert_int_equal(sm_planner_calls(&f.problem, &set, SM_PLANNER_SMALLEST, 600, 190, calls, 16), 1);
    assert_int_equal(calls[0].rows, 256);
    assert_int_equal(sm_planner_calls(&f.problem, &set, SM_PLANNER_BEST, 0, 575, calls, 16), 2);
    assert_int_equal(calls[0].phase, SM_PHASE_PREFILL);
    assert_int_equal(calls[0].rows, 512);
    assert_int_equal(calls[1].count, 63);
    /* no room for padding: the last tokens are decodes */
    assert_int_equal(sm_planner_calls(&f.problem, &set, SM_PLANNER_BEST, 2040, 5, calls, 16), 5);
    assert_int_equal(calls[0].phase, SM_PHASE_DECODE);
}

static void refuses(void **test_state)
{
    (void)test_state;
    struct fixture f;
    struct sm_planner_result result;
    draw_case(&f, 3);
    f.turns[0].in = f.problem.max_seq;
    assert_int_equal(sm_planner_search(&f.problem, &result, why, sizeof why), -1);
    assert_non_null(strstr(why, "does not fit"));
    f.turns[0].in = SIZE_MAX - 2;
    assert_int_equal(sm_planner_search(&f.problem, &result, why, sizeof why), -1);
    draw_case(&f, 3);
    f.costs.any = false;
    f.costs.row = f.costs.fixed = NAN;
    assert_int_equal(sm_planner_search(&f.problem, &result, why, sizeof why), -1);
    assert_non_null(strstr(why, "there is no cost"));
}

/* Ten thousand turns of chats, on request: how long a search takes. */
static int timed(void)
{
    enum { TURNS = 10000 };
    static struct sm_planner_turn turns[TURNS];
    struct fixture f = {.costs = {.fixed = 20, .row = 1, .slot = 1e-4, .token = 0.1}};
    struct sm_planner_result result;
    struct timespec begin, end;
    for (size_t i = 0, past = 0; i < TURNS; i++) {
        const size_t in = (size_t)exp(3.5 + 1.2 * 1.7 * (fraction() + fraction() + fraction() - 1.5) * 1.15) + 10;
        const size_t out = between(1, 400);
        if (past + in + out > 2047 || fraction() < 0.3) past = 0;
        turns[i] = (struct sm_planner_turn){past, in < 1500 ? in : 1500, out, 1};
        past += turns[i].in + out;
    }
    f.problem = (struct sm_planner_problem){.turns = turns,
                                            .turn_count = TURNS,
                                            .max_seq = 2048,
                                            .prefill = {32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048},
                                            .prefill_count = 11,
                                            .append = {4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512},
                                            .append_count = 14,
                                            .most_append = 6,
                                            .most_plans = 8,
                                            .costs = {ns_of, token_of, bytes_of, &f.costs}};
    for (int o = 0; o < 3; o++) {
        f.problem.objective = (enum sm_planner_objective)o;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        if (sm_planner_search(&f.problem, &result, why, sizeof why)) return 2;
        clock_gettime(CLOCK_MONOTONIC, &end);
        const double s = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
        printf("objective %d: %zu sets of buckets in %.3f s\n", o, result.sets, s);
        if (s >= 1) return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "timed")) return timed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_brute_force),
        cmocka_unit_test(smallest_that_fits),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
