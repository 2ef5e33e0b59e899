#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "machine.h"
#include "memory_peak.h"
#include "reconcile.h"
#include "step_limits.h"
#include "trial_record.h"
#include "witness.h"

#define WARM_TOKENS 8

/* What one trial measures, phase by phase. */
struct series {
    double *ns;       /* [reps]: prefill of a prompt; decode of a token, the mean of a repetition */
    double *token_ns; /* [reps * gen], decode only */
    struct sm_witnesses *witnesses;
};

const char *sm_trial_refuse(const struct sm_trial *t, char *why, size_t why_bytes)
{
    if (t->max_seq < 2)
        snprintf(why, why_bytes, "max_seq %zu leaves no past slot: the least is 2", t->max_seq);
    else if (t->prompt < 1)
        snprintf(why, why_bytes, "a prompt needs at least one token");
    else if (t->prompt > t->max_seq - 1)
        snprintf(why, why_bytes, "a prompt of %zu tokens does not fit the %zu past slots of max_seq %zu", t->prompt,
                 t->max_seq - 1, t->max_seq);
    else if (t->prompt + t->gen > t->max_seq - 1)
        snprintf(why, why_bytes,
                 "a prompt of %zu and %zu generated tokens do not fit the %zu past slots of max_seq %zu", t->prompt,
                 t->gen, t->max_seq - 1, t->max_seq);
    else
        return NULL;
    return why;
}

double sm_trial_ops(const struct sm_model_shape *shape, enum sm_phase phase, size_t max_seq)
{
    return sm_trial_rows_ops(shape, phase == SM_PHASE_PREFILL ? max_seq : 1, max_seq);
}

double sm_trial_rows_ops(const struct sm_model_shape *shape, size_t rows, size_t max_seq)
{
    struct sm_matmul_shape matmuls[SM_SHAPE_MAX_MATMULS];
    const size_t count = sm_shape_matmuls(shape, matmuls, SM_SHAPE_MAX_MATMULS);
    const double head = (double)shape->vocab * (double)shape->hidden;
    double linear = -head, attention = 0; /* the head runs on one row */
    for (size_t i = 0; i < count; i++)
        linear += (double)matmuls[i].count * (double)matmuls[i].out * (double)matmuls[i].in;
    for (size_t l = 0; l < shape->layers; l++)
        attention += 2.0 * (double)(shape->layer[l].heads * shape->layer[l].head_dim) * (double)max_seq;
    return (double)rows * (linear + attention) + head;
}

#define PROBE_MAX_SEQ 64

int sm_trial_probe(const struct sm_weights *weights, struct sm_trial_speed *speed, char *why, size_t why_bytes)
{
    const struct sm_session_options options = {.max_seq = PROBE_MAX_SEQ, .kv = SM_KV_F16, .threads = 1};
    static const int32_t tokens[PROBE_MAX_SEQ / 2];
    struct sm_session *s = NULL;
    if (sm_session_create(&s, weights, &options, why, why_bytes)) return -1;
    int failed = 0;
    for (int turn = 0; turn < 2 && !failed; turn++) { /* the second one counts */
        const uint64_t begin = sm_clock_ns();
        failed = sm_session_prefill(s, tokens, PROBE_MAX_SEQ / 2, SM_PAD_RIGHT, why, why_bytes);
        const uint64_t middle = sm_clock_ns();
        if (!failed) failed = sm_session_decode(s, 0, why, why_bytes);
        const struct sm_model_shape *shape = &weights->model->shape;
        speed->prefill = sm_trial_ops(shape, SM_PHASE_PREFILL, PROBE_MAX_SEQ) / (double)(middle - begin) * 1e9;
        speed->decode = sm_trial_ops(shape, SM_PHASE_DECODE, PROBE_MAX_SEQ) / (double)(sm_clock_ns() - middle) * 1e9;
    }
    sm_session_destroy(s);
    return failed ? -1 : 0;
}

double sm_trial_estimate(const struct sm_trial *t, const struct sm_model_shape *shape,
                         const struct sm_trial_speed *speed)
{
    const double prefill = sm_trial_ops(shape, SM_PHASE_PREFILL, t->max_seq) / speed->prefill;
    const double decode = sm_trial_ops(shape, SM_PHASE_DECODE, t->max_seq) / speed->decode;
    /* beside the repetitions: a warm-up, the step times, some groups of counters */
    return ((double)t->reps + 3) * (prefill + (double)t->gen * decode) / (double)t->threads;
}

static int one_run(struct sm_session *s, struct sm_trial *t, size_t gen, struct series *prefill, struct series *decode,
                   size_t rep, char *why, size_t why_bytes)
{
    if (prefill) sm_witnesses_sample_begin(prefill->witnesses);
    uint64_t begin = sm_clock_ns();
    if (sm_session_prefill(s, t->tokens, t->prompt, t->padding, why, why_bytes)) return -1;
    uint64_t end = sm_clock_ns();
    if (prefill) {
        prefill->ns[rep] = (double)(end - begin);
        sm_witnesses_sample_end(prefill->witnesses, prefill->ns[rep]);
    }
    t->generated[0] = sm_session_argmax(s);
    if (decode && gen) sm_witnesses_sample_begin(decode->witnesses);
    const uint64_t first = sm_clock_ns();
    for (size_t i = 0; i < gen; i++) {
        begin = sm_clock_ns();
        if (sm_session_decode(s, t->generated[i], why, why_bytes)) return -1;
        end = sm_clock_ns();
        if (decode) decode->token_ns[rep * gen + i] = (double)(end - begin);
        t->generated[i + 1] = sm_session_argmax(s);
    }
    if (decode && gen) {
        const double elapsed = (double)(sm_clock_ns() - first);
        decode->ns[rep] = elapsed / (double)gen;
        sm_witnesses_sample_end(decode->witnesses, elapsed);
    }
    return 0;
}

static struct sm_record *result(const struct sm_trial *t, const struct sm_source *source, const struct sm_session *s,
                                const struct sm_weights *weights, const char *case_id, enum sm_phase phase,
                                const struct series *series, const struct sm_pin *pin)
{
    char id[512];
    snprintf(id, sizeof id, "%s/%s", case_id, sm_phase_name(phase));
    struct sm_record *record = sm_record_create("profile", id);
    double *calls = malloc(t->reps * sizeof *calls);
    if (!record || !calls) {
        sm_record_destroy(record);
        free(calls);
        return NULL;
    }
    sm_trial_describe(record, t, source, s, weights, phase);
    for (size_t r = 0; r < t->reps; r++) calls[r] = phase == SM_PHASE_DECODE ? (double)t->gen : 1;
    sm_record_set_string(record, "unit", "ns");
    sm_record_set_numbers(record, "samples", series->ns, t->reps);
    sm_record_set_numbers(record, "iterations", calls, t->reps);
    if (series->token_ns) sm_record_set_numbers(record, "token_ns", series->token_ns, t->reps * t->gen);
    sm_record_set_json(record, "witnesses", sm_trial_witnesses(series->witnesses, pin));
    sm_trial_add_steps(record, sm_session_times(s, phase));
    const struct sm_step_calls timed = {sm_session_plan(s, phase), (double)sm_session_times(s, phase)->runs};
    sm_step_limits_record(record, &timed, 1, timed.count,
                          json_number_value(json_object_get(sm_record_json(record), "bytes")), t->threads,
                          sm_witnesses_core_hz(series->witnesses));
    const double tokens = phase == SM_PHASE_DECODE ? 1 : (double)t->prompt;
    for (size_t i = 0; i < t->counted_count; i++)
        sm_counted_record(t->counted[i], phase, tokens, sm_trial_ops(&source->model->shape, phase, t->max_seq), record);
    free(calls);
    return record;
}

static int series_create(struct series *s, size_t reps, size_t gen)
{
    s->ns = calloc(reps, sizeof *s->ns);
    s->token_ns = gen ? calloc(reps * gen, sizeof *s->token_ns) : NULL;
    s->witnesses = sm_witnesses_create(reps, SM_WITNESS_PROCESS);
    return s->ns && (s->token_ns || !gen) && s->witnesses ? 0 : -1;
}

static void series_destroy(struct series *s)
{
    free(s->ns);
    free(s->token_ns);
    sm_witnesses_destroy(s->witnesses);
}

/* The timed repetitions: 0, 1 when interrupted, -1. */
static int timed_runs(struct sm_session *s, struct sm_trial *t, struct series *prefill, struct series *decode,
                      bool (*interrupted)(void), char *why, size_t why_bytes)
{
    if (one_run(s, t, t->gen < WARM_TOKENS ? t->gen : WARM_TOKENS, NULL, NULL, 0, why, why_bytes)) return -1;
    sm_witnesses_begin(prefill->witnesses);
    sm_witnesses_begin(decode->witnesses);
    for (size_t r = 0; r < t->reps; r++) {
        if (interrupted()) return 1;
        if (one_run(s, t, t->gen, prefill, decode, r, why, why_bytes)) return -1;
    }
    sm_witnesses_end(prefill->witnesses);
    sm_witnesses_end(decode->witnesses);
    return 0;
}

/* The same work again for each pass of each group. */
static int count(struct sm_trial *t, const struct sm_weights *weights, struct sm_session_options options, char *why,
                 size_t why_bytes)
{
    int failed = 0;
    for (size_t i = 0; i < t->counted_count && !failed; i++) {
        if (sm_counted_reset(t->counted[i], t->threads, SM_PHASES)) {
            snprintf(why, why_bytes, "there is no memory to count %zu threads", t->threads);
            return -1;
        }
        for (size_t pass = 0; pass < sm_counted_passes(t->counted[i]) && !failed; pass++) {
            struct sm_session *session = NULL;
            options.hooks = sm_counted_hooks(t->counted[i], pass);
            failed = sm_session_create(&session, weights, &options, why, why_bytes) ||
                     one_run(session, t, t->gen, NULL, NULL, 0, why, why_bytes);
            sm_session_destroy(session);
        }
    }
    return failed ? -1 : 0;
}

/* One more run, with every thread's share of every step written down. */
static int trace(struct sm_trial *t, const struct sm_weights *weights, struct sm_session_options options, char *why,
                 size_t why_bytes)
{
    struct sm_session *session = NULL;
    options.hooks = sm_trace_hooks(t->trace);
    const int failed = sm_session_create(&session, weights, &options, why, why_bytes) ||
                       one_run(session, t, t->gen, NULL, NULL, 0, why, why_bytes);
    sm_session_destroy(session);
    return failed ? -1 : 0;
}

int sm_trial_run(struct sm_trial *t, const struct sm_source *source, const struct sm_weights *weights,
                 const char *case_id, bool (*interrupted)(void), struct sm_record *records[2], char *why,
                 size_t why_bytes)
{
    struct sm_session_options options = {.max_seq = t->max_seq, .kv = t->kv, .threads = t->threads};
    struct sm_session *session = NULL;
    struct series prefill = {0}, decode = {0};
    struct sm_pin pin;
    char unsaid[256]; /* a team that cannot be pinned runs all the same */
    const struct sm_pin *held = sm_pin_team(&pin, (int)t->threads, unsaid, sizeof unsaid) ? NULL : &pin;
    int outcome = -1;
    records[0] = records[1] = NULL;
    const bool peak_known = sm_memory_peak_restart();
    if (series_create(&prefill, t->reps, 0) || series_create(&decode, t->reps, t->gen)) {
        snprintf(why, why_bytes, "there is no memory for %zu repetitions of %zu tokens", t->reps, t->gen);
        goto done;
    }
    if (sm_session_create(&session, weights, &options, why, why_bytes)) goto done;
    outcome = timed_runs(session, t, &prefill, &decode, interrupted, why, why_bytes);
    if (outcome) goto done;

    outcome = -1;
    sm_session_destroy(session);
    session = NULL;
    if (count(t, weights, options, why, why_bytes)) goto done;
    options.clock_ns = sm_clock_ns;
    if (sm_session_create(&session, weights, &options, why, why_bytes)) goto done;
    if (one_run(session, t, t->gen, NULL, NULL, 0, why, why_bytes)) goto done;
    if (t->trace && trace(t, weights, options, why, why_bytes)) goto done;

    struct sm_reconciled reconciled[2];
    t->peak = peak_known ? sm_memory_peak() : 0; /* before ceilings are measured, on large buffers */
    records[0] = result(t, source, session, weights, case_id, SM_PHASE_PREFILL, &prefill, held);
    if (t->gen) records[1] = result(t, source, session, weights, case_id, SM_PHASE_DECODE, &decode, held);
    if (t->reconcile) {
        if (sm_reconcile(t, weights, NULL, &reconciled[0], &reconciled[1], why, why_bytes)) goto done;
        for (int i = 0; i < 2; i++)
            if (records[i]) sm_reconcile_record(&reconciled[i], records[i]);
    }
    if (!records[0] || (t->gen && !records[1]))
        snprintf(why, why_bytes, "there is no memory for the records of %s", case_id);
    else
        outcome = 0;
done:
    if (outcome)
        for (int i = 0; i < 2; i++) {
            sm_record_destroy(records[i]);
            records[i] = NULL;
        }
    sm_unpin_team((int)t->threads); /* who packs weights next runs everywhere */
    sm_session_destroy(session);
    series_destroy(&prefill);
    series_destroy(&decode);
    return outcome;
}
