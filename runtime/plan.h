/* plan.h - the static graph of one phase and one shape: steps over one arena, every address known before it runs.
 *
 * A plan processes `rows` rows. In prefill they attend to each other alone: max_seq of them, or a prefill bucket. In
 * append (a bucket) and decode (one row) their keys stand after `max_seq - rows` past slots. What changes from call to
 * call (tokens, rotary rows, how much is valid, which slot is written, which row is last) is set in the plan's own
 * operands by sm_plan_set; nothing else moves.
 *
 * With `short_sliding` a layer with a window W reads no more past slots than a row can see: the min(W - 1, max_seq -
 * rows) most recent ones. Its view of the past moves with the number of valid slots, its size does not. */
#ifndef SM_PLAN_H
#define SM_PLAN_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache.h"
#include "positions.h"
#include "weights.h"

enum sm_phase { SM_PHASE_PREFILL, SM_PHASE_APPEND, SM_PHASE_DECODE, SM_PHASES };

const char *sm_phase_name(enum sm_phase phase); /* "prefill", "append", "decode" */

/* What a step is for: where a token's time goes is a sum over these. */
enum sm_label {
    SM_LABEL_MASK,
    SM_LABEL_EMBEDDING,
    SM_LABEL_NORM,
    SM_LABEL_QUANTISE,
    SM_LABEL_QKV,
    SM_LABEL_ROPE,
    SM_LABEL_CACHE_WRITE,
    SM_LABEL_ATTENTION,
    SM_LABEL_ATTENTION_OUT,
    SM_LABEL_GATE_UP,
    SM_LABEL_ACTIVATION,
    SM_LABEL_DOWN,
    SM_LABEL_HEAD,
    SM_LABEL_ARGMAX,
    SM_LABEL_CONCAT,              /* of past and new keys and values */
    SM_LABEL_HEAD_NORM,           /* of queries, keys and values, head by head */
    SM_LABEL_POST_NORM,           /* of a branch, and its addition to the stream */
    SM_LABEL_PER_LAYER_EMBEDDING, /* made once a token, for all layers (model-math: A.4, 2) */
    SM_LABEL_PER_LAYER_BLOCK,     /* and what each layer does with its share (A.4, 3.8) */
    SM_LABEL_LAST_ROW,            /* picking it, where the layers that follow run on no other */
    SM_LABELS
};

const char *sm_label_name(enum sm_label label);

/* What distinguishes layers whose steps cost differently: how much they may see, and whose keys and values they use. A
 * donor's are used by later layers too; a consumer has none of its own. */
enum sm_layer_kind {
    SM_LAYER_NONE, /* of a step outside the layers */
    SM_LAYER_FULL,
    SM_LAYER_FULL_DONOR,
    SM_LAYER_FULL_CONSUMER,
    SM_LAYER_SLIDING,
    SM_LAYER_SLIDING_DONOR,
    SM_LAYER_SLIDING_CONSUMER,
    SM_LAYER_KINDS
};

/* "full", "full donor", ...; "" for none. */
const char *sm_layer_kind_name(enum sm_layer_kind kind);
enum sm_layer_kind sm_layer_kind_of(const struct sm_model_shape *shape, size_t layer);

#define SM_NO_LAYER SIZE_MAX

/* How many of a thread's own parts somebody has taken in this call. A cache line of its own: threads count at once. */
struct sm_taken {
    alignas(64) _Atomic size_t parts;
};

struct sm_step {
    sm_kernel_fn *fn;
    const void *args;
    const struct sm_part *parts; /* [threads][each] */
    size_t each;
    struct sm_taken *taken; /* [threads]: who is done with his own parts takes others'; NULL: nobody does */
    bool barrier;           /* all threads must have ended the steps before */
    enum sm_label label;
    size_t layer; /* SM_NO_LAYER: outside them */
    enum sm_layer_kind kind;
    const struct sm_family *family;
    const struct sm_variant *variant;
    struct sm_shape shape; /* static: of the family's axes */
};

/* The step's part i, or NULL: there is nothing in it to do. */
static inline const struct sm_part *sm_step_part(const struct sm_step *step, size_t i)
{
    const struct sm_part *part = &step->parts[i];
    return part->row_begin < part->row_end && part->col_begin < part->col_end ? part : NULL;
}

struct sm_plan_options {
    enum sm_phase phase;
    size_t rows, max_seq;
    enum sm_kv_type kv;
    size_t threads;
    bool all_rows;   /* logits of every row, hidden states kept: golden tests and verification only */
    float mask_fill; /* 0: the default, -120 */
    bool short_sliding;
    bool concatenated; /* append and decode put both segments of keys and values into one first */
    bool last_row;     /* the last layers, as far as they use other layers' keys and values, run on the last valid row
                          alone, and not on all: what they make of the others nobody reads (not with all_rows) */
};

/* How keys must lie for the attention that plans of these weights choose: in the layout of the variant that is forced,
 * or of the best. Those to be concatenated are plain, which is what kv_concat moves. 0, or -1 and a sentence. */
int sm_plan_keys(const struct sm_weights *weights, enum sm_kv_type kv, bool concatenated, enum sm_keys *keys, char *why,
                 size_t why_bytes);

struct sm_plan; /* opaque; lies in the arena */

/* Bytes of the arena, 0 and a sentence when there can be no such plan. */
size_t sm_plan_bytes(const struct sm_weights *weights, struct sm_cache *cache, const struct sm_positions *positions,
                     const struct sm_plan_options *options, char *why, size_t why_bytes);

/* Builds the plan into an arena of that many bytes, zeroed and 64-byte aligned, that lives as long as the plan is
 * used. Weights, cache and positions must outlive it. NULL and a sentence on failure. */
struct sm_plan *sm_plan_build(void *arena, size_t bytes, const struct sm_weights *weights, struct sm_cache *cache,
                              const struct sm_positions *positions, const struct sm_plan_options *options, char *why,
                              size_t why_bytes);

/* What one call is about. Rows [begin, begin + count) hold tokens, at positions past, past + 1, ...; the other rows
 * are padding, at position 0 in prefill and at the positions that follow in append. */
struct sm_call {
    const int32_t *tokens; /* [count] */
    size_t begin, count;
    size_t past; /* valid slots before the call */
};

/* Sets the operands of the next call. The caller has checked that it fits. */
void sm_plan_set(struct sm_plan *plan, const struct sm_call *call);

size_t sm_plan_step_count(const struct sm_plan *plan);
const struct sm_step *sm_plan_steps(const struct sm_plan *plan);
size_t sm_plan_barriers(const struct sm_plan *plan);
const struct sm_plan_options *sm_plan_options_of(const struct sm_plan *plan);

/* Results of the last run. logits: [vocab] of the last valid row; with all_rows [rows][vocab]. A final softcap is the
 * host's, and the greatest logit needs none: it is applied when logits are first asked for after a run. */
const float *sm_plan_logits(const struct sm_plan *plan);
int32_t sm_plan_argmax(const struct sm_plan *plan);
size_t sm_plan_last_row(const struct sm_plan *plan); /* of that call: its last valid row */
/* all_rows only, else NULL: what enters layer i, or with i = layers its output, [rows][hidden]; i = layers + 1: after
 * the final norm. */
const float *sm_plan_hidden(const struct sm_plan *plan, size_t i);
/* The per-layer embeddings of all rows, [rows][layers * per_layer_width]; NULL: the model has none. */
const float *sm_plan_per_layer(const struct sm_plan *plan);

#endif
