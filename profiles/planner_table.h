/* planner_table.h - what the search and the pricing of sets share: turns put together, costs by depth, the least cost
 * of exactly so many rows. Private to planner.h, which says why this is right. */
#ifndef SM_PLANNER_TABLE_H
#define SM_PLANNER_TABLE_H

#include "planner.h"

/* Tokens that go in at a depth, where the cache has `room` columns for padding behind them. */
struct planner_entry {
    size_t depth, tokens, room;
    double weight;
};

struct planner_first {
    size_t tokens, room;
    double weight;
};

struct planner_table {
    const struct sm_planner_problem *problem;
    /* by depth: what a token adds, and a call's rows beside that (planner.h: a, c) */
    double token_ns[SM_PLANNER_DEPTHS], append_ns[SM_PLANNER_DEPTHS][SM_PLANNER_SIZES], decode_ns[SM_PLANNER_DEPTHS];
    double prefill_bytes[SM_PLANNER_SIZES], append_bytes[SM_PLANNER_SIZES], decode_bytes;
    size_t offset[SM_PLANNER_DEPTHS + 1]; /* of a depth in the arrays of least costs */
    struct planner_entry *later;          /* each once */
    size_t later_count;
    struct planner_first *first;
    size_t first_count;
    double *prefill_ns;            /* [prefill_count][first_count]: of each size with what it takes of each */
    struct planner_entry *rest;    /* the same: what it leaves over; tokens 0: nothing */
    bool tight[SM_PLANNER_DEPTHS]; /* a turn there has less room than the largest size's padding may need, or rows are
                                      asked for */
    double weight, decode_sum;     /* of all turns; ns of the tokens that they generate */
};

/* with_rows: planner_cost will be asked for rows. 0, or -1 and a sentence. To be freed whatever comes back. */
int planner_table_create(struct planner_table *table, const struct sm_planner_problem *problem, bool with_rows,
                         char *why, size_t why_bytes);
void planner_table_free(struct planner_table *table);

/* Least costs of t rows without their tokens, for each depth; with no bucket first, then with one more.
 * [offset[DEPTHS]] each. At a tight depth of exactly t rows, E(t); elsewhere of t rows or more, min over u of E(t + u),
 * which a knapsack gives at once where each size may also stand for less than it is. */
void planner_start(const struct planner_table *table, double *least);
void planner_add(const struct planner_table *table, double *least, size_t candidate);

/* Of the tight depths: from t on, the least of all values and of PLANNER_WINDOW values. */
#define PLANNER_WINDOW 32
void planner_pad(const struct planner_table *table, const double *least, double *padded, double *window);

/* The arrays of one set of buckets. */
struct planner_costs {
    const double *least, *padded, *window;
    size_t largest; /* size; 1: there is none */
};

/* Least cost of an entry. rows: NULL, or the rows of its calls. */
double planner_cost(const struct planner_table *table, const struct planner_costs *costs,
                    const struct planner_entry *entry, double *rows);

/* The depth of a turn, as one of SM_PLANNER_DEPTHS, and the slot in the middle of that. */
size_t planner_depth_of(size_t max_seq, size_t past, size_t tokens);
size_t planner_depth_slot(size_t max_seq, size_t depth);

/* The least value that at least 95 % of the weight does not exceed; reorders. */
struct planner_sample {
    double value, weight;
};
double planner_p95(struct planner_sample *samples, size_t count, double weight);

/* Of p95s: they are the same where they differ by no more than this share. */
#define PLANNER_SAME 1e-9

#endif
