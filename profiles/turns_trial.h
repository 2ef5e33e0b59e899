/* turns_trial.h - one measurement of a session of turns: what each turn costs as it is served, and by the other ways.
 *
 * A repetition walks the session once, then goes back to the beginning of each later turn and takes its tokens in
 * one by one, and by a prefill of everything; and, in a session of its own, in buckets made to measure. Every way's
 * logits are compared with the session's own before anything is timed. */
#ifndef SM_TURNS_TRIAL_H
#define SM_TURNS_TRIAL_H

#include "trial.h"
#include "turns_ops.h"

/* A way whose logits end farther than this from the session's (PEIR) has a wrong answer. */
#define SM_TURNS_WRONG_PEIR 0.1

struct sm_turns_trial {
    struct sm_trial trial; /* max_seq, kv, threads, reps; prompt and gen are the sums */
    const struct sm_turns *turns;
    const int32_t *prompts; /* of all turns, one after the other */
    size_t append_buckets[SM_MAX_BUCKETS], append_bucket_count;
    size_t prefill_buckets[SM_MAX_BUCKETS], prefill_bucket_count;
    enum sm_when_full when_full;
};

/* NULL when every call of it can be made, else a sentence in `why`. */
const char *sm_turns_trial_refuse(const struct sm_turns_trial *trial, char *why, size_t why_bytes);

/* Seconds that it will take, roughly. */
double sm_turns_trial_estimate(const struct sm_turns_trial *trial, const struct sm_model_shape *shape,
                               const struct sm_trial_speed *speed);

/* "turns=300+40,12+80,buckets=8+32,when_full=smaller": for its name. 512 bytes are enough. */
const char *sm_turns_trial_text(const struct sm_turns_trial *trial, char *text, size_t bytes);

/* Runs it and hands over a record for every op. 0; 1: interrupted, nothing handed over; 2: as 0, but an answer was
 * wrong; -1 and a sentence. */
int sm_turns_trial_run(const struct sm_turns_trial *trial, const struct sm_source *source,
                       const struct sm_weights *weights, const char *case_id, bool (*interrupted)(void),
                       void (*hand_over)(void *context, struct sm_record *record), void *context, char *why,
                       size_t why_bytes);

#endif
