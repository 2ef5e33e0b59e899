/* run.h - the host side of a static model: prefill, append the tokens of later turns, decode token by token.
 *
 * A session owns a cache, the plans of its phases (one for every bucket), and the arenas they live in. Everything is
 * allocated by create; prefill, append and decode allocate nothing. Not for two threads at once: a session starts its
 * own.
 *
 *     sm_session_create(&s, weights, &options, why, sizeof why);
 *     sm_session_prefill(s, tokens, n, SM_PAD_RIGHT, why, sizeof why);
 *     while (...) sm_session_decode(s, sm_session_argmax(s), why, sizeof why);
 *     sm_session_append(s, turn, m, why, sizeof why);   */
#ifndef SM_RUN_H
#define SM_RUN_H

#include "bucket.h"
#include "plan.h"

enum sm_padding { SM_PAD_RIGHT, SM_PAD_LEFT };

/* One call of a plan. `rows` is its static shape, `count` of them were real tokens, at positions past, past + 1, ... */
struct sm_chunk {
    enum sm_phase phase;
    size_t rows, count, past;
    uint64_t ns; /* that the call took; 0 without a clock */
    bool policy; /* options.when_full decided its shape */
};

/* begin and end: called inside the parallel region, by every thread, around the steps of one call. step: by thread 0
 * before each step, when the steps that it waits for have ended; rows [begin, begin + count) hold tokens. done: by the
 * session's caller after each call, while its results stand. share: by every thread after its share of each step, with
 * when it began (not: began to wait) and ended; only where the session has a clock. call: by every thread, in place of
 * each call of a kernel, which it must make: step->fn(step->args, *part). */
struct sm_run_hooks {
    void (*begin)(void *state, enum sm_phase phase, size_t thread);
    void (*end)(void *state, enum sm_phase phase, size_t thread);
    void (*step)(void *state, const struct sm_step *step, size_t begin, size_t count);
    void (*done)(void *state, const struct sm_chunk *chunk);
    void (*share)(void *state, const struct sm_step *step, size_t thread, uint64_t begin_ns, uint64_t end_ns);
    void (*call)(void *state, const struct sm_step *step, const struct sm_part *part);
    void *state;
};

struct sm_session_options {
    size_t max_seq; /* K: at least 2 */
    enum sm_kv_type kv;
    /* i16: [layers] of scale of keys and of values, unscaled keys also where the attention scale is folded into them
     * (cache.h). NULL: those of the weights, if they were given some; synthetic
     * weights have some that fit. */
    const float (*kv_scales)[2];
    size_t threads;             /* at least 1 */
    bool all_rows;              /* prefill and append keep all logits and hidden states */
    float mask_fill;            /* 0: -120 */
    struct sm_run_hooks hooks;  /* NULLs: none */
    uint64_t (*clock_ns)(void); /* NULL: no times */

    /* Sizes of 1 to max_seq, in any order. No prefill bucket: max_seq alone. No append bucket: appended tokens are
     * decoded one by one. */
    size_t prefill_buckets[SM_MAX_BUCKETS], prefill_bucket_count;
    size_t append_buckets[SM_MAX_BUCKETS], append_bucket_count;
    enum sm_when_full when_full;
    bool last_row;      /* prefill and append run layers without keys and values of their own on it alone (plan.h) */
    bool short_sliding; /* layers with a window read the slots it reaches, not all (plan.h) */
    bool concatenated;  /* attention reads one segment that past and new keys are copied to, not two */
};

struct sm_session;

int sm_session_create(struct sm_session **session, const struct sm_weights *weights,
                      const struct sm_session_options *options, char *why, size_t why_bytes);
void sm_session_destroy(struct sm_session *session); /* safe on NULL */

/* Forgets everything: slots are zero again. */
void sm_session_reset(struct sm_session *session);

/* Prefill of `count` tokens in the smallest bucket that holds them, padded on the given side; starts a new session
 * over. What is longer than the largest bucket fills it and goes on as an append. Needs 1 <= count <= max_seq - 1.
 * 0, or -1 and a sentence and nothing changed. */
int sm_session_prefill(struct sm_session *session, const int32_t *tokens, size_t count, enum sm_padding padding,
                       char *why, size_t why_bytes);

/* The same of a row that is padded already, `valid` saying which of its `rows` tokens count: rows must be one of the
 * prefill shapes, and the padding all on that side. */
int sm_session_prefill_padded(struct sm_session *session, const int32_t *tokens, const bool *valid, size_t rows,
                              enum sm_padding padding, char *why, size_t why_bytes);

/* Where the `count` valid ones of a padded row begin: 0, or -1 and a sentence when there are holes, padding on the
 * wrong side, or no valid one. */
int sm_padding_of(const bool *valid, size_t rows, enum sm_padding padding, size_t *begin, size_t *count, char *why,
                  size_t why_bytes);

/* `count` more tokens at positions P, P + 1, ..., in the calls that sm_bucket_choose says, one after another. Needs an
 * earlier prefill, 1 <= count and P + count <= max_seq - 1. 0, or -1 and a sentence and nothing changed. */
int sm_session_append(struct sm_session *session, const int32_t *tokens, size_t count, char *why, size_t why_bytes);

/* Tokens by the calls that the caller lists, instead of those that sm_bucket_choose says: of each its phase, rows and
 * count are read. A prefill, padded right, can only be the first of them, and starts a new session over. Each needs a
 * bucket of its phase with so many rows, 1 <= count <= rows, P + rows <= max_seq and P + count <= max_seq - 1. 0, or -1
 * and a sentence and nothing changed. */
int sm_session_take(struct sm_session *session, const int32_t *tokens, const struct sm_chunk *calls, size_t count,
                    char *why, size_t why_bytes);

/* One token at position P, attended as the last column, then stored in slot P. Needs P <= max_seq - 2. */
int sm_session_decode(struct sm_session *session, int32_t token, char *why, size_t why_bytes);

/* Back to the first `past` valid tokens, as if the later ones had never been there (results of the last call stand):
 * 0 and up to P, else -1 and a sentence. From 0 an append may start. */
int sm_session_truncate(struct sm_session *session, size_t past, char *why, size_t why_bytes);

/* The first `past` slots count as valid from now on, and hold what their owner has put into the session's cache; the
 * slots behind them must be zero. Needs an earlier call, and past <= max_seq - 1. 0, or -1 and a sentence. */
int sm_session_assume(struct sm_session *session, size_t past, char *why, size_t why_bytes);

/* The calls that the last prefill, append or take made; decode and truncate leave the list alone. */
const struct sm_chunk *sm_session_chunks(const struct sm_session *session, size_t *count);

/* Of the last call: its logits [vocab], their greatest; and P, the valid tokens. */
const float *sm_session_logits(const struct sm_session *session);
int32_t sm_session_argmax(const struct sm_session *session);
size_t sm_session_past(const struct sm_session *session);

/* all_rows only: of the last call's tokens, in order: token i's logits [vocab]; and, with layer <= layers + 1, what
 * sm_plan_hidden says of it, [hidden]. NULL when there is no such token, or when only one row was kept and it is not
 * that one. */
const float *sm_session_token_logits(const struct sm_session *session, size_t i);
const float *sm_session_token_hidden(const struct sm_session *session, size_t layer, size_t i);

struct sm_cache *sm_session_cache(struct sm_session *session);

/* The buckets of a phase, ascending (decode: 1), and the plan of one of them (NULL: none such). sm_session_plan is the
 * plan of the phase that ran last, or of its largest bucket before one did. */
const struct sm_buckets *sm_session_buckets(const struct sm_session *session, enum sm_phase phase);
const struct sm_plan *sm_session_bucket_plan(const struct sm_session *session, enum sm_phase phase, size_t rows);
const struct sm_plan *sm_session_plan(const struct sm_session *session, enum sm_phase phase);

struct sm_session_memory {
    size_t weights_bytes, cache_bytes, arena_bytes;
};
struct sm_session_memory sm_session_memory(const struct sm_session *session);

/* Step times seen by thread 0, summed over the buckets since the last clear, when there is a clock. A step lasts until
 * the next one begins, so waiting for slower threads counts for the step that is waited for. `elapsed_ns` is the whole
 * of the calls, so what the labels leave over is unexplained: the host's part, and starting the threads. */
struct sm_step_times {
    uint64_t ns[SM_LABELS], calls[SM_LABELS];
    uint64_t kind_ns[SM_LABELS][SM_LAYER_KINDS], kind_calls[SM_LABELS][SM_LAYER_KINDS]; /* the same by kind of layer */
    uint64_t elapsed_ns, runs;
};
const struct sm_step_times *sm_session_times(const struct sm_session *session, enum sm_phase phase);
void sm_session_times_clear(struct sm_session *session);

/* The distinct variants that a phase's plan (sm_session_plan) runs, in the order of its steps, at most `capacity` of
 * them: 32 are enough. Returns how many it wrote. */
struct sm_variant_use {
    const struct sm_family *family;
    const struct sm_variant *variant;
    size_t steps;
};
size_t sm_session_variants(const struct sm_session *session, enum sm_phase phase, struct sm_variant_use *list,
                           size_t capacity);

#endif
