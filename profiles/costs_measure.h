/* costs_measure.h - calls of static shapes, timed: sessions that stay, so that points can be visited in any order.
 *
 * A session of each attention, KV type, team and max_seq has a plan for every bucket of the grid. A point's valid slots
 * are copies of a short prefill's keys and values: what they hold matters to no time but through its magnitude, and a
 * cache can so be brought to any depth without running what would fill it. Slots behind them are zero. */
#ifndef SM_COSTS_MEASURE_H
#define SM_COSTS_MEASURE_H

#include "costs_grid.h"
#include "record.h"
#include "source.h"

struct costs_bench;

/* weights of the recipe; source, weights and grid are borrowed. NULL and a sentence: no such attention on this CPU, no
 * memory. */
struct costs_bench *costs_bench_create(const struct sm_source *source, const struct sm_weights *weights,
                                       const struct costs_grid *grid, uint64_t token_seed, char *why, size_t why_bytes);
void costs_bench_destroy(struct costs_bench *bench); /* safe on NULL */

/* The best variant of that attention that this CPU runs, or NULL and a sentence. Where no vectors are, the reference
 * computes every column. */
const char *costs_attention_variant(enum sm_cost_attention attention, enum sm_kv_type kv, char *why, size_t why_bytes);

enum costs_outcome { COSTS_FAILED = -1, COSTS_DONE, COSTS_INTERRUPTED, COSTS_WRONG };

/* One round of a point: calls for COSTS_ROUND_S. Literal and skipping attention must give the same logits wherever both
 * were called: WRONG where they did not, and the record says so instead of a time. */
enum costs_outcome costs_bench_round(struct costs_bench *bench, const struct costs_point *point, size_t round,
                                     const char *id, struct sm_record **record, char *why, size_t why_bytes);

#define COSTS_STEPS_CALLS 7 /* of whose steps the medians count */
#define COSTS_STEPS_LONG 3  /* of a call that takes COSTS_WARM_S */

/* Where the time of one call goes, in a session of its own with a clock between the steps: a record for each point of
 * `of`'s session that is worth it, [grid->count], NULL where not. */
enum costs_outcome costs_bench_steps(struct costs_bench *bench, const struct costs_point *of, const char *id,
                                     bool (*interrupted)(void), struct sm_record **records, char *why,
                                     size_t why_bytes);

/* Bytes of a plan and of its cache that no session need hold; nothing is touched. 0, or -1 and a sentence. */
int costs_bench_memory(const struct costs_bench *bench, const struct costs_point *point, double *arena, double *cache,
                       char *why, size_t why_bytes);

/* Of one row at that max_seq: bytes of all packed weights, and multiply-adds without the head, which runs once a call.
 */
void costs_bench_work(const struct costs_bench *bench, size_t max_seq, double *bytes, double *ops);

/* Whether a point's steps are looked at: its session is the longest, or it is a decode, and it is full. */
bool costs_steps_wanted(const struct costs_grid *grid, const struct costs_point *point);

#endif
