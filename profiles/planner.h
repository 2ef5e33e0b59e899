/* planner.h - which static shapes to build for given turns: the prefill sizes and append buckets of least time. Pure:
 * it knows what a call costs from the caller, and no model.
 *
 * How a turn is taken in. The first turn of a session begins with one prefill of S rows, the others with nothing. What
 * a prefill leaves over, and all of a later turn, goes in by calls of append buckets and single decodes, each call but
 * the last one full (static-contract: 1.7). At P valid slots a call of Q rows needs P + Q <= K. Which calls, is the
 * best there are: not the smallest bucket that holds the tokens, which bucket.h chooses.
 *
 * A prefill is asked for with its real tokens. The other calls of a turn are priced at its depth: the middle of the
 * tokens that they take in (after a prefill: that it leaves over), rounded to the middle of one of SM_PLANNER_DEPTHS
 * equal parts of max_seq; each call as if its own middle were there. Costs that rise evenly with depth lose nothing at
 * the middle, and the rounding is right on the average. The tokens generated are decodes at the middle of their own.
 *
 * At a depth a call of q rows, r of them real, costs a r + c(q), where a is what a real token adds in the place of a
 * padded one (token_ns), and c(q) + a q what the call costs when full, or c(q) = 0 where that were less. That a is the
 * same for all sizes is so where attention skips what is hidden: a real row then sees as many slots in any call (where
 * threads share a call by its rows a is nought: those with padding wait for the others).
 *
 * With that, the best calls are those of least sum, in any order. T tokens cost a T whatever takes them in; the rest is
 * of rows. Let E(t) be the least of c over buckets and decodes with exactly t rows in all: E(0) = 0, E(t) = min over
 * sizes q of c(q) + E(t - q), a knapsack to which a size is added in time linear in t. T tokens at P slots cost a T +
 * min over u of E(T + u), 0 <= u <= K - (P + T). For: of a sequence with T + u rows, all full but the last, the last
 * one starts at P + T + u - Q and needs P + T + u <= K, the others end before it. The other way round, of the sums
 * T + u that are least the smallest leaves no size of at most u out (without it, T + u - q >= T rows would cost no
 * more), so u is less than each of its sizes, and any of them may stand last with u rows of padding. Where K leaves
 * room for the largest bucket's padding, u has no limit.
 *
 * The search is branch and bound: all sets of append buckets that the limits allow, a size at a time, and for each of
 * them the sets of prefill sizes. It leaves out what cannot win: no set of prefill sizes takes less than all sizes
 * together, and no set of buckets less than with all the others that may still be added. What it finds is the least of
 * all sets, for each number of plans and for every objective; nothing in it is a heuristic, and what is rounded is the
 * depth alone. */
#ifndef SM_PLANNER_H
#define SM_PLANNER_H

#include "run.h"

#define SM_PLANNER_DEPTHS 16
#define SM_PLANNER_SIZES 32 /* candidates of a phase, at most */
#define SM_PLANNER_PLANS 16 /* that a set may have, at most: prefill, append and one decode */

struct sm_planner_costs {
    /* Of one call; past: valid slots before it, at most max_seq - rows; appends and decodes: all rows real. Above 0. */
    double (*ns)(const void *context, enum sm_phase phase, size_t rows, size_t tokens, size_t max_seq, size_t past);
    /* By which an append is dearer for each token in the place of a padded row, around slot `at`. Nought or more.
     * NULL: by nothing. */
    double (*token_ns)(const void *context, size_t max_seq, size_t at);
    /* Of the plan's arena. NULL: not known; there can be no limit then. */
    double (*bytes)(const void *context, enum sm_phase phase, size_t rows, size_t max_seq);
    const void *context;
};

/* Turns of these lengths, in and out, behind so many valid slots. */
struct sm_planner_turn {
    size_t past; /* 0: the first of a session */
    size_t in, out;
    double weight; /* how many */
};

/* All of the time until a turn's first token (mean and p95: the least value that 95 % of the turns do not exceed; of
 * sets with the same p95 the one of the least mean), or its mean with the tokens generated after it. With one max_seq
 * the first and the last have the same best set. */
enum sm_planner_objective { SM_PLANNER_MEAN, SM_PLANNER_P95, SM_PLANNER_TTFT };

struct sm_planner_problem {
    const struct sm_planner_turn *turns;
    size_t turn_count;
    size_t max_seq;
    size_t prefill[SM_PLANNER_SIZES], prefill_count; /* candidates, ascending, 1 to max_seq */
    size_t append[SM_PLANNER_SIZES], append_count;   /* the same, 2 to max_seq: 1 is a decode */
    size_t most_append;                              /* append buckets */
    size_t most_plans;                               /* 2 (prefill, decode) to SM_PLANNER_PLANS */
    double most_bytes;                               /* arenas of all plans; 0: no limit */
    enum sm_planner_objective objective;
    struct sm_planner_costs costs;
};

struct sm_planner_set {
    size_t prefill[SM_PLANNER_PLANS], prefill_count; /* ascending */
    size_t append[SM_PLANNER_PLANS], append_count;
};

/* Times in ns. */
struct sm_planner_price {
    double mean, ttft, p95;
    double bytes;        /* arenas of all plans, NAN: not known */
    double tokens, rows; /* that all turns take in, and of the calls that take them: the rest is padding */
};

/* By number of plans: the best set with at most so many. prefill_count 0: there is none. */
struct sm_planner_result {
    struct sm_planner_set best[SM_PLANNER_PLANS + 1];
    size_t sets; /* of append buckets that were looked at */
};

/* 0, or -1 and a sentence: no memory, a turn that does not fit, a cost that is none. No set within most_bytes is no
 * error. */
int sm_planner_search(const struct sm_planner_problem *problem, struct sm_planner_result *result, char *why,
                      size_t why_bytes);

/* How a set's calls are chosen. */
enum sm_planner_rule {
    SM_PLANNER_BEST,    /* the calls of least cost */
    SM_PLANNER_SMALLEST /* the smallest that holds the tokens, the largest when none does: sm_bucket_choose */
};

/* What a set costs. 0, or -1 and a sentence. */
int sm_planner_price(const struct sm_planner_problem *problem, const struct sm_planner_set *set,
                     enum sm_planner_rule rule, struct sm_planner_price *price, char *why, size_t why_bytes);

/* The value that a search makes least. */
double sm_planner_value(const struct sm_planner_price *price, enum sm_planner_objective objective);

/* Whether a price is better than another: its value is less; p95: or the same, as far as rounding can tell, and the
 * mean until the first token is less. */
bool sm_planner_better(const struct sm_planner_price *price, const struct sm_planner_price *than,
                       enum sm_planner_objective objective);

/* The calls that take in a turn: phases, rows, counts, pasts, and as ns what each is priced at; of a first turn a
 * prefill comes first. Returns how many there are, at most `tokens`, of which `most` are written; 0: no memory. */
size_t sm_planner_calls(const struct sm_planner_problem *problem, const struct sm_planner_set *set,
                        enum sm_planner_rule rule, size_t past, size_t tokens, struct sm_chunk *calls, size_t most);

/* The depth at which the calls that take `tokens` behind `past` slots are priced. */
size_t sm_planner_depth(size_t max_seq, size_t past, size_t tokens);

#endif
