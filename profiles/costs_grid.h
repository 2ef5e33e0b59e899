/* costs_grid.h - the points that slotmark costs measures: few, and where a curve needs them.
 *
 * For each attention, KV type and team:
 *   - decode at every max_seq, after an eighth, half and all of its slots;
 *   - append of every bucket at the least and the greatest max_seq, after an eighth and all of its slots (literal
 *     attention: after half of them alone, for what is valid does not matter to it); and (skip) every second bucket
 *     with the fewest tokens that it would be chosen for, behind as many as fit: padded rows see nothing;
 *   - prefill of every bucket, full and (skip) with the fewest tokens that it would be chosen for.
 *
 * Held out from the curve, to judge it by: buckets half-way between those, a max_seq half-way between two, other
 * numbers of valid slots, and the other padded buckets. */
#ifndef SM_COSTS_GRID_H
#define SM_COSTS_GRID_H

#include "cost_table.h"
#include "costs_options.h"
#include "trial.h"

struct costs_point {
    enum sm_cost_attention attention;
    enum sm_kv_type kv;
    size_t threads;
    enum sm_phase phase;
    size_t rows, max_seq, past, tokens;
    bool held_out;
    double call_s;  /* of one call, roughly */
    double round_s; /* of a round of it */
};

struct costs_grid {
    struct costs_point *at;
    size_t count, capacity;
};

#define COSTS_ROUND_S 0.03 /* a round of a point calls until so much is spent, at least once */
#define COSTS_ROUND_MOST_CALLS 16
#define COSTS_WARM_S 0.05 /* what takes longer needs no call that warms up */

/* speed: of one thread. 0, or -1 and a sentence: too many buckets, no memory, or no point that fits. */
int costs_grid_create(struct costs_grid *grid, const struct costs_options *options, const struct sm_model_shape *shape,
                      const struct sm_trial_speed *speed, char *why, size_t why_bytes);
void costs_grid_destroy(struct costs_grid *grid);

/* Sizes of all of a session's buckets: of the points of one attention, KV type, team and max_seq. The least prefill
 * bucket of the grid, as far as max_seq goes, is always among them. */
void costs_grid_session(const struct costs_grid *grid, const struct costs_point *of,
                        struct sm_session_options *session);

#endif
