/* run.h - the host side of a static model: prefill, then decode token by token.
 *
 * A session owns a cache, the plans of its phases, and the arena they live in. Everything is allocated by create;
 * prefill and decode allocate nothing. Not for two threads at once: a session starts its own.
 *
 *     sm_session_create(&s, weights, &options, why, sizeof why);
 *     sm_session_prefill(s, tokens, n, SM_PAD_RIGHT, why, sizeof why);
 *     while (...) sm_session_decode(s, sm_session_argmax(s), why, sizeof why);   */
#ifndef SM_RUN_H
#define SM_RUN_H

#include "plan.h"

enum sm_padding { SM_PAD_RIGHT, SM_PAD_LEFT };

/* Called inside the parallel region, by every thread, around the steps of one call. */
struct sm_run_hooks {
    void (*begin)(void *state, enum sm_phase phase, size_t thread);
    void (*end)(void *state, enum sm_phase phase, size_t thread);
    void *state;
};

struct sm_session_options {
    size_t max_seq; /* K: at least 2 */
    enum sm_kv_type kv;
    size_t threads;             /* at least 1 */
    bool all_rows;              /* prefill keeps all logits and hidden states */
    float mask_fill;            /* 0: -120 */
    struct sm_run_hooks hooks;  /* NULLs: none */
    uint64_t (*clock_ns)(void); /* NULL: no step times */
};

struct sm_session;

int sm_session_create(struct sm_session **session, const struct sm_weights *weights,
                      const struct sm_session_options *options, char *why, size_t why_bytes);
void sm_session_destroy(struct sm_session *session); /* safe on NULL */

/* Forgets everything: slots are zero again. */
void sm_session_reset(struct sm_session *session);

/* Prefill of `count` tokens, padded to max_seq rows on the given side; starts a new session over. Needs
 * 1 <= count <= max_seq - 1. 0, or -1 and a sentence and nothing changed. */
int sm_session_prefill(struct sm_session *session, const int32_t *tokens, size_t count, enum sm_padding padding,
                       char *why, size_t why_bytes);

/* One token at position P, attended as the last column, then stored in slot P. Needs P <= max_seq - 2. */
int sm_session_decode(struct sm_session *session, int32_t token, char *why, size_t why_bytes);

/* Of the last call: its logits [vocab], their greatest; and P, the valid tokens. */
const float *sm_session_logits(const struct sm_session *session);
int32_t sm_session_argmax(const struct sm_session *session);
size_t sm_session_past(const struct sm_session *session);

struct sm_cache *sm_session_cache(struct sm_session *session);
const struct sm_plan *sm_session_plan(const struct sm_session *session, enum sm_phase phase); /* NULL: none */

struct sm_session_memory {
    size_t weights_bytes, cache_bytes, arena_bytes;
};
struct sm_session_memory sm_session_memory(const struct sm_session *session);

/* Step times seen by thread 0, summed since the last clear, when there is a clock. A step lasts until the next one
 * begins, so waiting for slower threads counts for the step that is waited for. `elapsed_ns` is the whole of the
 * calls, so what the labels leave over is unexplained: the host's part, and starting the threads. */
struct sm_step_times {
    uint64_t ns[SM_LABELS], calls[SM_LABELS];
    uint64_t kind_ns[SM_LABELS][SM_LAYER_KINDS], kind_calls[SM_LABELS][SM_LAYER_KINDS]; /* the same by kind of layer */
    uint64_t elapsed_ns, runs;
};
const struct sm_step_times *sm_session_times(const struct sm_session *session, enum sm_phase phase);
void sm_session_times_clear(struct sm_session *session);

/* The distinct variants that a phase runs, in the order of its steps, at most `capacity` of them: 32 are enough.
 * Returns how many it wrote. */
struct sm_variant_use {
    const struct sm_family *family;
    const struct sm_variant *variant;
    size_t steps;
};
size_t sm_session_variants(const struct sm_session *session, enum sm_phase phase, struct sm_variant_use *list,
                           size_t capacity);

#endif
