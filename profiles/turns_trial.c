#include "turns_trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "memory_peak.h"
#include "step_limits.h"
#include "trial_record.h"
#include "verify_metrics.h"

enum pass { PASS_CHECK, PASS_TIME, PASS_LOOK, PASS_COUNT };

struct run {
    const struct sm_turns_trial *trial;
    struct sm_trial label; /* a copy, for the records */
    const struct sm_source *source;
    const struct sm_weights *weights;
    const char *case_id;
    bool (*interrupted)(void);
    const struct sm_pin *held; /* where the team is; NULL: it could not be pinned */
    struct sm_turn_ops ops;
    float *logits; /* [turns][vocab]: of the session itself, at the end of each turn's tokens */
    enum pass pass;
    size_t rep;
    struct sm_counted *counted; /* PASS_COUNT: whose turn it is */
    char *why;
    size_t why_bytes;
};

static struct sm_session_options session_options(const struct sm_turns_trial *t)
{
    struct sm_session_options o = {.max_seq = t->trial.max_seq,
                                   .kv = t->trial.kv,
                                   .threads = t->trial.threads,
                                   .prefill_bucket_count = t->prefill_bucket_count,
                                   .append_bucket_count = t->append_bucket_count,
                                   .when_full = t->when_full};
    memcpy(o.prefill_buckets, t->prefill_buckets, sizeof o.prefill_buckets);
    memcpy(o.append_buckets, t->append_buckets, sizeof o.append_buckets);
    return o;
}

/* The same, every turn's tokens in a bucket of their own. false: there are too many lengths for that. */
static bool exact_options(const struct sm_turns_trial *t, struct sm_session_options *o)
{
    *o = session_options(t);
    o->when_full = SM_WHEN_FULL_SMALLER; /* for the tokens between, which are not timed */
    o->prefill_buckets[0] = t->turns->turn[0].prompt;
    o->prefill_bucket_count = 1;
    o->append_bucket_count = 0;
    for (size_t i = 1; i < t->turns->count; i++) {
        size_t known = 0;
        while (known < o->append_bucket_count && o->append_buckets[known] != t->turns->turn[i].prompt) known++;
        if (known < o->append_bucket_count) continue;
        if (known == SM_MAX_BUCKETS) return false;
        o->append_buckets[o->append_bucket_count++] = t->turns->turn[i].prompt;
    }
    return true;
}

/* Looks at the answer of a way: the session's own is the one to compare with. */
static int check(struct run *r, struct sm_turn_op *op, const struct sm_session *s)
{
    const size_t vocab = r->weights->model->shape.vocab;
    float *own = r->logits + op->turn * vocab;
    struct sm_difference d;
    size_t count;
    if (op->way == SM_TURN_DECODE) return 0;
    if (op->way == SM_TURN_BUCKETS) memcpy(own, sm_session_logits(s), vocab * sizeof *own);
    sm_difference_measure(own, sm_session_logits(s), 1, vocab, &d);
    op->peir = d.peir;
    if (op->way == SM_TURN_DECODE_LOOP) return 0; /* decodes are not in a session's list of calls */
    const struct sm_chunk *chunks = sm_session_chunks(s, &count);
    op->chunks = malloc(count * sizeof *chunks);
    if (!op->chunks) {
        snprintf(r->why, r->why_bytes, "there is no memory for %zu calls of a turn", count);
        return -1;
    }
    memcpy(op->chunks, chunks, count * sizeof *chunks);
    op->chunk_count = count;
    return 0;
}

static json_t *bucket_list(const size_t *rows, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(list, json_integer((json_int_t)rows[i]));
    return list;
}

static json_t *turn_json(const struct run *r, const struct sm_turn_op *op)
{
    const struct sm_turns_trial *t = r->trial;
    char text[512];
    bool policy = false;
    json_t *calls = json_array();
    for (size_t i = 0; i < op->chunk_count; i++) {
        const struct sm_chunk *c = &op->chunks[i];
        policy |= c->policy;
        json_array_append_new(calls, json_pack("{s:s, s:I, s:I, s:I, s:b}", "phase", sm_phase_name(c->phase), "rows",
                                               (json_int_t)c->rows, "tokens", (json_int_t)c->count, "past",
                                               (json_int_t)c->past, "policy", c->policy));
    }
    return json_pack("{s:I, s:I, s:s, s:I, s:I, s:o, s:s, s:b, s:s, s:o, s:o, s:o}", "turn", (json_int_t)op->turn + 1,
                     "of", (json_int_t)t->turns->count, "way", sm_turn_way_name(op->way), "past", (json_int_t)op->past,
                     "tokens", (json_int_t)op->tokens, "peir",
                     op->way == SM_TURN_DECODE || !isfinite(op->peir) ? json_null() : json_real(op->peir), "when_full",
                     sm_when_full_name(t->when_full), "policy", policy, "turns",
                     sm_turns_text(t->turns, text, sizeof text), "append_buckets",
                     bucket_list(t->append_buckets, t->append_bucket_count), "prefill_buckets",
                     bucket_list(t->prefill_buckets, t->prefill_bucket_count), "calls", calls);
}

/* Rows that the static shapes of an op compute, and the least that they must move. */
static size_t op_work(const struct run *r, const struct sm_turn_op *op, const struct sm_session *s, double *ops,
                      double *bytes)
{
    const struct sm_model_shape *shape = &r->weights->model->shape;
    const struct sm_session_memory memory = sm_session_memory(s);
    const size_t max_seq = r->trial->trial.max_seq;
    const size_t singles = op->way == SM_TURN_DECODE ? 1 : op->way == SM_TURN_DECODE_LOOP ? op->tokens : 0;
    size_t rows = singles, calls = singles, reads = singles;
    *ops = (double)singles * sm_trial_rows_ops(shape, 1, max_seq);
    for (size_t i = 0; i < op->chunk_count; i++) {
        rows += op->chunks[i].rows;
        calls++;
        reads += op->chunks[i].phase != SM_PHASE_PREFILL;
        *ops += sm_trial_rows_ops(shape, op->chunks[i].rows, max_seq);
    }
    *bytes = (double)calls * (double)memory.weights_bytes + (double)reads * (double)memory.cache_bytes;
    return rows;
}

static void sum_times(const struct sm_session *s, size_t runs, struct sm_step_times *sum)
{
    *sum = (struct sm_step_times){.runs = runs};
    for (int p = 0; p < SM_PHASES; p++) {
        const struct sm_step_times *t = sm_session_times(s, (enum sm_phase)p);
        sum->elapsed_ns += t->elapsed_ns;
        for (int l = 0; l < SM_LABELS; l++) {
            sum->ns[l] += t->ns[l];
            sum->calls[l] += t->calls[l];
            for (int k = 0; k < SM_LAYER_KINDS; k++) {
                sum->kind_ns[l][k] += t->kind_ns[l][k];
                sum->kind_calls[l][k] += t->kind_calls[l][k];
            }
        }
    }
}

/* What each step of an op could have taken at least. */
static int add_limits(struct run *r, const struct sm_turn_op *op, const struct sm_session *s, struct sm_record *record)
{
    const struct sm_session_memory memory = sm_session_memory(s);
    const bool singles = op->way == SM_TURN_DECODE || op->way == SM_TURN_DECODE_LOOP;
    struct sm_step_calls *calls = calloc(op->chunk_count + 1, sizeof *calls);
    size_t count = 0;
    if (!calls) {
        snprintf(r->why, r->why_bytes, "there is no memory for %zu calls of a turn", op->chunk_count);
        return -1;
    }
    for (size_t i = 0; i < op->chunk_count; i++)
        calls[count++] = (struct sm_step_calls){sm_session_bucket_plan(s, op->chunks[i].phase, op->chunks[i].rows), 1};
    if (singles) calls[count++] = (struct sm_step_calls){sm_session_plan(s, SM_PHASE_DECODE), (double)op->tokens};
    sm_step_limits_record(record, calls, count, op->way == SM_TURN_DECODE ? (double)op->tokens : 1,
                          (double)(memory.weights_bytes + memory.cache_bytes), r->trial->trial.threads, sm_core_hz());
    free(calls);
    return 0;
}

/* The record of an op that the session, which has a clock, has just run. */
static int look(struct run *r, struct sm_turn_op *op, const struct sm_session *s)
{
    static const enum sm_phase phases[] = {SM_PHASE_APPEND, SM_PHASE_DECODE, SM_PHASE_DECODE, SM_PHASE_PREFILL,
                                           SM_PHASE_APPEND};
    const bool decode = op->way == SM_TURN_DECODE, anew = op->way == SM_TURN_RE_PREFILL;
    const enum sm_phase phase = op->past || decode ? phases[op->way] : SM_PHASE_PREFILL;
    struct sm_step_times times;
    char id[768];
    double ops, bytes;
    snprintf(id, sizeof id, "%s/turn=%zu/%s", r->case_id, op->turn + 1, sm_turn_way_name(op->way));
    struct sm_record *record = op->record = sm_record_create("profile", id);
    if (!record) {
        snprintf(r->why, r->why_bytes, "there is no memory for the record of %s", id);
        return -1;
    }
    const size_t rows = op_work(r, op, s, &ops, &bytes);
    sm_trial_describe(record, &r->label, r->source, s, r->weights, phase);
    if (op->way == SM_TURN_DECODE_LOOP) sm_record_set_string(record, "phase", sm_phase_name(SM_PHASE_APPEND));
    sm_record_set_integer(record, "bucket", (int64_t)rows);
    sm_record_set_integer(record, "n_prompt", decode ? 0 : (int64_t)(op->tokens + (anew ? op->past : 0)));
    sm_record_set_integer(record, "n_gen", decode ? (int64_t)op->tokens : 0);
    sm_record_set_integer(record, "n_depth", anew ? 0 : (int64_t)op->past);
    sm_record_set_number(record, "ops", ops);
    sm_record_set_number(record, "bytes", bytes);
    sm_record_set_json(record, "turn", turn_json(r, op));
    sum_times(s, decode ? op->tokens : 1, &times);
    sm_trial_add_steps(record, &times);
    return add_limits(r, op, s, record);
}

/* Calls of an op are counted together, those that generate tokens one by one. */
static double calls_of(const struct sm_turn_op *op)
{
    if (op->way == SM_TURN_DECODE) return 1;
    return op->way == SM_TURN_DECODE_LOOP ? (double)op->tokens : (double)op->chunk_count;
}

/* One op in the manner of the pass: 0, 1 interrupted, -1. */
static int one(struct run *r, struct sm_turn_op *op, struct sm_session *s)
{
    if (r->interrupted()) return 1;
    const bool back = op->past && (op->way == SM_TURN_DECODE_LOOP || op->way == SM_TURN_EXACT);
    if (back && sm_session_truncate(s, op->past, r->why, r->why_bytes)) return -1;
    if (r->pass == PASS_LOOK) sm_session_times_clear(s);
    if (r->pass == PASS_COUNT) {
        sm_counted_as(r->counted, (size_t)(op - r->ops.at), 1 / calls_of(op));
        const int failed = sm_turn_op_run(&r->ops, op, s, NULL, r->why, r->why_bytes);
        sm_counted_as(r->counted, r->ops.count, 1); /* what stands between ops goes nowhere */
        return failed;
    }
    if (r->pass != PASS_TIME) {
        if (sm_turn_op_run(&r->ops, op, s, NULL, r->why, r->why_bytes)) return -1;
        return r->pass == PASS_CHECK ? check(r, op, s) : look(r, op, s);
    }
    const bool decode = op->way == SM_TURN_DECODE;
    sm_witnesses_sample_begin(op->witnesses);
    const uint64_t begin = sm_clock_ns();
    if (sm_turn_op_run(&r->ops, op, s, decode ? op->token_ns + r->rep * op->tokens : NULL, r->why, r->why_bytes))
        return -1;
    const double ns = (double)(sm_clock_ns() - begin);
    sm_witnesses_sample_end(op->witnesses, ns);
    op->ns[r->rep] = decode ? ns / (double)op->tokens : ns;
    return 0;
}

/* The session as it is served, then each later turn once more by the other ways, the last one first: what stands in
 * front of it is then still the session's own. */
static int walk(struct run *r, struct sm_session *s)
{
    struct sm_turn_ops *ops = &r->ops;
    int outcome = 0;
    for (size_t i = 0; i < ops->count && !outcome; i++)
        if (ops->at[i].way == SM_TURN_BUCKETS || ops->at[i].way == SM_TURN_DECODE) outcome = one(r, &ops->at[i], s);
    for (size_t i = ops->count; i-- > 0 && !outcome;)
        if (ops->at[i].way == SM_TURN_DECODE_LOOP) outcome = one(r, &ops->at[i], s);
    for (size_t i = 0; i < ops->count && !outcome; i++)
        if (ops->at[i].way == SM_TURN_RE_PREFILL) outcome = one(r, &ops->at[i], s);
    return outcome;
}

static int walk_exact(struct run *r, struct sm_session *s)
{
    struct sm_turn_ops *ops = &r->ops;
    const size_t first = r->trial->turns->turn[0].prompt;
    int outcome = 0;
    for (size_t i = 0; i < ops->count && !outcome; i++)
        if (ops->at[i].way == SM_TURN_EXACT && !ops->at[i].past) outcome = one(r, &ops->at[i], s);
    if (outcome || ops->total == first) return outcome;
    if (sm_session_append(s, ops->tokens + first, ops->total - first, r->why, r->why_bytes)) return -1;
    for (size_t i = ops->count; i-- > 0 && !outcome;)
        if (ops->at[i].way == SM_TURN_EXACT && ops->at[i].past) outcome = one(r, &ops->at[i], s);
    return outcome;
}

/* A pass, and after PASS_CHECK all repetitions of PASS_TIME, with sessions of these options. */
static int passes(struct run *r, const struct sm_session_options *own, const struct sm_session_options *exact,
                  enum pass first)
{
    struct sm_session *s[2] = {NULL, NULL};
    int outcome = -1;
    if (sm_session_create(&s[0], r->weights, own, r->why, r->why_bytes) ||
        (exact && sm_session_create(&s[1], r->weights, exact, r->why, r->why_bytes)))
        goto done;
    r->pass = first;
    outcome = walk(r, s[0]);
    if (!outcome && exact) outcome = walk_exact(r, s[1]);
    if (outcome || first != PASS_CHECK) goto done;
    r->pass = PASS_TIME;
    for (size_t i = 0; i < r->ops.count; i++) sm_witnesses_begin(r->ops.at[i].witnesses);
    for (r->rep = 0; r->rep < r->trial->trial.reps && !outcome; r->rep++) {
        outcome = walk(r, s[0]);
        if (!outcome && exact) outcome = walk_exact(r, s[1]);
    }
    for (size_t i = 0; i < r->ops.count; i++) sm_witnesses_end(r->ops.at[i].witnesses);
done:
    sm_session_destroy(s[0]);
    sm_session_destroy(s[1]);
    return outcome;
}

/* The same again for each pass of each group of counters. */
static int count(struct run *r, struct sm_session_options *own, struct sm_session_options *exact)
{
    const struct sm_trial *t = &r->trial->trial;
    int outcome = 0;
    for (size_t i = 0; i < t->counted_count && !outcome; i++) {
        r->counted = t->counted[i];
        if (sm_counted_reset(r->counted, t->threads, r->ops.count + 1)) {
            snprintf(r->why, r->why_bytes, "there is no memory to count %zu threads", t->threads);
            return -1;
        }
        sm_counted_as(r->counted, r->ops.count, 1);
        for (size_t pass = 0; pass < sm_counted_passes(r->counted) && !outcome; pass++) {
            own->hooks = sm_counted_hooks(r->counted, pass);
            if (exact) exact->hooks = own->hooks;
            outcome = passes(r, own, exact, PASS_COUNT);
        }
    }
    return outcome;
}

static void add_counts(const struct run *r, const struct sm_turn_op *op)
{
    const struct sm_trial *t = &r->trial->trial;
    const bool decode = op->way == SM_TURN_DECODE;
    const double ops = decode ? sm_trial_rows_ops(&r->weights->model->shape, 1, t->max_seq)
                              : json_number_value(json_object_get(sm_record_json(op->record), "ops"));
    for (size_t i = 0; i < t->counted_count; i++)
        sm_counted_record(t->counted[i], (size_t)(op - r->ops.at), decode ? 1 : (double)op->tokens, ops, op->record);
}

/* Fills in the samples and lets go of the records. Returns whether an answer was wrong. */
static bool hand_over_all(struct run *r, void (*hand_over)(void *context, struct sm_record *record), void *context)
{
    bool wrong = false;
    const size_t reps = r->trial->trial.reps;
    for (size_t i = 0; i < r->ops.count; i++) {
        struct sm_turn_op *op = &r->ops.at[i];
        char why[160];
        sm_record_set_string(op->record, "unit", "ns");
        sm_record_set_numbers(op->record, "samples", op->ns, reps);
        if (op->token_ns) sm_record_set_numbers(op->record, "token_ns", op->token_ns, reps * op->tokens);
        sm_record_set_json(op->record, "witnesses", sm_trial_witnesses(op->witnesses, r->held));
        add_counts(r, op);
        if (op->way != SM_TURN_DECODE && !(op->peir <= SM_TURNS_WRONG_PEIR)) {
            wrong = true;
            snprintf(why, sizeof why, "turn %zu by the way '%s' ends %.3g %% (PEIR) from the session's own logits",
                     op->turn + 1, sm_turn_way_name(op->way), 100 * op->peir);
            sm_record_fail(op->record, "error", why);
        }
        hand_over(context, op->record);
        op->record = NULL;
    }
    return wrong;
}

int sm_turns_trial_run(const struct sm_turns_trial *t, const struct sm_source *source, const struct sm_weights *weights,
                       const char *case_id, bool (*interrupted)(void),
                       void (*hand_over)(void *context, struct sm_record *record), void *context, char *why,
                       size_t why_bytes)
{
    struct sm_session_options own = session_options(t), exact;
    struct sm_pin pin;
    char unsaid[256]; /* a team that cannot be pinned runs all the same */
    struct run r = {.trial = t,
                    .label = t->trial,
                    .source = source,
                    .weights = weights,
                    .case_id = case_id,
                    .interrupted = interrupted,
                    .held = sm_pin_team(&pin, (int)t->trial.threads, unsaid, sizeof unsaid) ? NULL : &pin,
                    .why = why,
                    .why_bytes = why_bytes};
    const bool with_exact = exact_options(t, &exact), peak_known = sm_memory_peak_restart();
    int outcome = -1;
    r.logits = malloc(t->turns->count * weights->model->shape.vocab * sizeof *r.logits);
    if (sm_turn_ops_create(&r.ops, t->turns, t->prompts, t->trial.reps, with_exact) || !r.logits) {
        snprintf(why, why_bytes, "there is no memory for %zu repetitions of %zu turns", t->trial.reps, t->turns->count);
        goto done;
    }
    outcome = passes(&r, &own, with_exact ? &exact : NULL, PASS_CHECK);
    if (outcome) goto done;
    r.label.peak = peak_known ? sm_memory_peak() : 0;
    own.clock_ns = exact.clock_ns = sm_clock_ns;
    outcome = passes(&r, &own, with_exact ? &exact : NULL, PASS_LOOK);
    own.clock_ns = exact.clock_ns = NULL;
    if (!outcome) outcome = count(&r, &own, with_exact ? &exact : NULL);
    if (!outcome) outcome = hand_over_all(&r, hand_over, context) ? 2 : 0;
done:
    sm_unpin_team((int)t->trial.threads); /* who packs weights next runs everywhere */
    free(r.logits);
    sm_turn_ops_destroy(&r.ops);
    return outcome;
}
