/* cost_table.h - what a call of each static shape costs on a machine: read from the records of slotmark costs, fitted,
 * and asked by whoever weighs shapes against each other.
 *
 *     sm_cost_table_load(&table, "results/costs/smollm2-135m-native.jsonl", why, sizeof why);
 *     const struct sm_cost_series *s = sm_cost_table_find(table, SM_COST_SKIP, SM_KV_F16, 2);
 *     struct sm_cost cost;
 *     sm_cost_ask(s, &(struct sm_cost_call){SM_PHASE_APPEND, 32, 1024, 300, 20}, &cost, why, sizeof why);
 *     ... cost.ns, as a rule between cost.low and cost.high ...
 *
 * Records are of kind "cost" (record.h), one for each round of a point; a point is a call: phase, bucket (the rows of
 * its static shape), max_seq, n_depth (valid slots before it), n_prompt (real tokens of it), kv_type, threads. Beside
 * them "cost": {"role", "attention", "round"}:
 *     attention   "literal": every column is computed, whatever is valid; "skip": hidden ones are left out
 *     role        "fit": the curve goes by it; "held-out": it does not, and is what the curve is judged by; "steps":
 *                 no samples, but where the time goes; "table": what came of it all, for figures
 * samples are times of single calls in ns. memory.arena_bytes is of the one plan, memory.cache_bytes of the cache.
 * The rounds of a point are pooled, and its time is the median of all its calls, with the quartiles for an error bar:
 * what a call will take is asked for, and nobody's calls are the fastest ones. On a machine with other work the medians
 * hold some of it; the least is kept beside them, and a wide gap between both says so. Points of another machine,
 * commit or compiler than the last one's are left out, and counted.
 *
 * A series holds what shapes cost with one attention, KV type and team. */
#ifndef SM_COST_TABLE_H
#define SM_COST_TABLE_H

#include "cost_fit.h"
#include "plan.h"
#include "source.h"

enum sm_cost_attention { SM_COST_LITERAL, SM_COST_SKIP, SM_COST_ATTENTIONS };

const char *sm_cost_attention_name(enum sm_cost_attention attention); /* "literal", "skip" */

/* A measured point. */
struct sm_cost_measured {
    enum sm_phase phase;
    bool held_out;
    size_t rows, max_seq, past, tokens;
    size_t samples;
    double ns, least, low, high; /* of a call: the median, the least, the quartiles */
    double arena_bytes, cache_bytes;
};

/* What was made of one phase's points. */
struct sm_cost_phase {
    struct sm_cost_fit time, arena;
    size_t points, held_out;
    /* Relative errors of the prediction, of the held-out points; NAN where there are none. */
    double median_error, worst_error;
    /* Half the width of the error bar, relative: 90 % of the held-out points are within it; where fewer than 5 were
     * held out, all of them and 90 % of the fitted ones. */
    double band;
};

struct sm_cost_series {
    char model[64], recipe[32];
    bool synthetic; /* its weights */
    enum sm_cost_attention attention;
    enum sm_kv_type kv;
    size_t threads;
    struct sm_cost_phase phase[SM_PHASES];
    struct sm_cost_fit cache;          /* bytes of the cache, of max_seq */
    struct sm_cost_measured *measured; /* [count], by phase, rows, max_seq, past */
    size_t count;
};

struct sm_cost_table;

/* Where slotmark costs puts the table of a model, and others look for it: results/costs/<model>-<recipe>.jsonl. */
void sm_cost_table_path(const char *model, const char *recipe, char *path, size_t bytes);

/* 0; -1 and a sentence: the file cannot be read, has a line that is no record, a cost record with sizes or times that
 * cannot be, or none that a curve can go by. */
int sm_cost_table_load(struct sm_cost_table **table, const char *path, char *why, size_t why_bytes);
void sm_cost_table_destroy(struct sm_cost_table *table); /* safe on NULL */

size_t sm_cost_table_count(const struct sm_cost_table *table);
const struct sm_cost_series *sm_cost_table_at(const struct sm_cost_table *table, size_t i);
const struct sm_cost_series *sm_cost_table_find(const struct sm_cost_table *table, enum sm_cost_attention attention,
                                                enum sm_kv_type kv, size_t threads); /* NULL: not measured */
size_t sm_cost_table_left_out(const struct sm_cost_table *table); /* records of another machine or build */

/* One call: `tokens` real ones of `rows`, after `past` valid slots. Prefill: past 0; max_seq does not matter to its
 * time. Decode: one row, one token. */
struct sm_cost_call {
    enum sm_phase phase;
    size_t rows, max_seq, past, tokens;
};

struct sm_cost {
    double ns, low, high;
    bool measured;     /* this very call was: its own median and quartiles, not the curve's */
    bool extrapolated; /* max_seq is outside of what was measured: attention goes on as steeply as it went */
};

/* Makes the curves of a series of measured points, whose other members are set: load does. 0; -1: no memory. A phase
 * without a point for its curve keeps a fit of no knots. */
int sm_cost_series_fit(struct sm_cost_series *series);

/* -1 and a sentence where the call cannot be made (static contract), its phase was not measured, or its rows lie
 * outside of the measured ones: nobody knows where such a curve goes. The curve alone, without `measured`, is
 * sm_cost_predict: monotone in every size. */
int sm_cost_ask(const struct sm_cost_series *series, const struct sm_cost_call *call, struct sm_cost *cost, char *why,
                size_t why_bytes);
int sm_cost_predict(const struct sm_cost_series *series, const struct sm_cost_call *call, struct sm_cost *cost,
                    char *why, size_t why_bytes);

/* Bytes of a plan's arena, and of the cache: *exact where it was measured, else within a few kilobytes. -1 and a
 * sentence as above. */
int sm_cost_arena(const struct sm_cost_series *series, enum sm_phase phase, size_t rows, size_t max_seq, double *bytes,
                  bool *exact, char *why, size_t why_bytes);
int sm_cost_cache(const struct sm_cost_series *series, size_t max_seq, double *bytes, bool *exact, char *why,
                  size_t why_bytes);

/* ns that one more slot of max_seq costs a decode, valid or not, and, with skip, one more valid one. */
double sm_cost_slot_ns(const struct sm_cost_series *series);
double sm_cost_valid_ns(const struct sm_cost_series *series);

/* ns by which an append with a real token in the place of a padded one is dearer, around that slot; literal: nought.
 * NAN: append was not measured. */
double sm_cost_token_ns(const struct sm_cost_series *series, size_t slot);

/* The knee of the bucket curve at one max_seq (kernels-and-peers 2.4): below it an append costs one sweep of the
 * weights, above it what its rows cost. M* = t(1 row) / (t(most) - t(half)) x (most - half): where the flat line
 * through one row meets the line from nought that is as steep as the curve between the largest measured bucket and
 * half of it. One row is a decode. NAN: decode or append were not measured, or only one bucket was.
 * free_rows: the most rows that cost at most a tenth more than one; 1: none do. */
double sm_cost_knee(const struct sm_cost_series *series, size_t max_seq, size_t *free_rows);

#endif
