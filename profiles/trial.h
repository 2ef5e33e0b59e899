/* trial.h - one measurement of a model: prefill and decode at one max_seq, KV type, team and prompt.
 *
 * The timed repetitions run with nothing attached. Step times come from one more run of the
 * same work, and each group of counters from another one, so that looking costs the samples nothing. */
#ifndef SM_TRIAL_H
#define SM_TRIAL_H

#include <stdbool.h>

#include "counted.h"
#include "record.h"
#include "run.h"
#include "source.h"
#include "trace.h"

struct sm_trial {
    size_t max_seq, prompt, gen, reps;
    enum sm_kv_type kv;
    enum sm_scale_in scale_in; /* of the weights that it runs on */
    size_t threads;
    enum sm_padding padding;
    const int32_t *tokens;             /* [prompt] */
    int32_t *generated;                /* [gen + 1], filled in: the greedy tokens, the prompt's own first */
    struct sm_counted *const *counted; /* [counted_count] groups to count, borrowed */
    size_t counted_count;
    bool reconcile;         /* time each step alone as well (reconcile.h) */
    struct sm_trace *trace; /* NULL, or what one more run fills in */
    int64_t peak;           /* filled in: the most bytes resident meanwhile; 0: unknown */
};

/* NULL when such a trial has a meaning, else a sentence in `why`. */
const char *sm_trial_refuse(const struct sm_trial *trial, char *why, size_t why_bytes);

/* What is known of a trial before it runs: model, shape and team; what it would generate, for a refused one. */
void sm_trial_label(struct sm_record *record, const struct sm_trial *trial, const struct sm_source *source,
                    const char *recipe);

/* What one thread does on this machine: multiply-adds a second. */
struct sm_trial_speed {
    double prefill, decode;
};

/* Measures it on the smallest of contexts, in a few hundredths of a second for a small model. 0, or -1 and a sentence.
 */
int sm_trial_probe(const struct sm_weights *weights, struct sm_trial_speed *speed, char *why, size_t why_bytes);

/* Seconds that a trial will take, roughly. */
double sm_trial_estimate(const struct sm_trial *trial, const struct sm_model_shape *shape,
                         const struct sm_trial_speed *speed);

/* Multiply-adds of one call at the static shape (model-math: D.3): prefill of max_seq rows, or one decode. */
double sm_trial_ops(const struct sm_model_shape *shape, enum sm_phase phase, size_t max_seq);
double sm_trial_rows_ops(const struct sm_model_shape *shape, size_t rows, size_t max_seq); /* the same of any bucket */

/* Runs it. records: prefill and decode (NULL where gen is 0), owned by the caller. `interrupted` is asked between
 * repetitions. 0; 1 when interrupted (no records); -1 and a sentence. */
int sm_trial_run(struct sm_trial *trial, const struct sm_source *source, const struct sm_weights *weights,
                 const char *case_id, bool (*interrupted)(void), struct sm_record *records[2], char *why,
                 size_t why_bytes);

#endif
