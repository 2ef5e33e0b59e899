#include "planner_replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "record.h"
#include "stats.h"
#include "tokens.h"
#include "turns_trial.h"
#include "verify_metrics.h"
#include "witness.h"

#define MANY_TIMES 4 /* slower than planned: not replayed */

/* Sets round differently, and a session of hundreds of tokens carries that on: with a model in 4 bits their last logits
 * are 0.02 to 0.12 apart. Wrong tokens or places make far more. */
#define WRONG_PEIR 0.25

/* One turn of a session by one set. */
struct turn_run {
    const struct sm_planner_turn *turn;
    struct sm_chunk *calls; /* their ns: predicted */
    double *call_ns;        /* measured */
    size_t call_count;
    double predicted, measured;               /* until its first token */
    double predicted_decode, measured_decode; /* of a token; NAN: none was decoded */
};

/* The planned one, and those usual ones that are not many times slower. */
static size_t choose_sets(const struct planner_study *study, const struct planner_choice **set)
{
    size_t count = 0;
    set[count++] = &study->planned;
    for (size_t i = 0; i < PLANNER_USUALS; i++)
        if (!study->usual[i].why[0] && study->usual[i].price.ttft <= MANY_TIMES * study->planned.price.ttft)
            set[count++] = &study->usual[i];
    return count;
}

static void keep_place(void *state, enum sm_phase phase, size_t thread)
{
    const struct planner_replay *r = state;
    (void)phase;
    if (r->pin.count) sm_pin_keep(&r->pin, (int)thread);
}

static void note_end(void *state, const struct sm_chunk *chunk)
{
    struct planner_replay *r = state;
    (void)chunk;
    if (r->ended_count < r->study->problem.max_seq) r->ended[r->ended_count++] = sm_clock_ns();
}

static struct sm_session_options options_of(struct planner_replay *r, const struct planner_choice *c)
{
    const struct planner_study *s = r->study;
    struct sm_session_options o = {.max_seq = s->problem.max_seq,
                                   .kv = s->series->kv,
                                   .threads = s->series->threads,
                                   .hooks = {.begin = keep_place, .done = note_end, .state = r},
                                   .prefill_bucket_count = c->set.prefill_count,
                                   .append_bucket_count = c->set.append_count};
    memcpy(o.prefill_buckets, c->set.prefill, c->set.prefill_count * sizeof *o.prefill_buckets);
    memcpy(o.append_buckets, c->set.append, c->set.append_count * sizeof *o.append_buckets);
    return o;
}

/* Touches every plan of a set once: pages, and what the first call of a plan costs more. */
static int warm_up(const struct planner_replay *r, size_t set, char *why, size_t why_bytes)
{
    const struct sm_planner_set *s = &r->set[set]->set;
    struct sm_session *session = r->session[set];
    for (size_t i = 0; i < s->prefill_count; i++)
        if (sm_session_take(session, r->tokens,
                            &(struct sm_chunk){.phase = SM_PHASE_PREFILL, .rows = s->prefill[i], .count = 1}, 1, why,
                            why_bytes))
            return -1;
    for (size_t i = 0; i < s->append_count; i++)
        if (sm_session_truncate(session, 0, why, why_bytes) ||
            sm_session_take(session, r->tokens,
                            &(struct sm_chunk){.phase = SM_PHASE_APPEND, .rows = s->append[i], .count = 1}, 1, why,
                            why_bytes))
            return -1;
    return 0;
}

int planner_replay_create(struct planner_replay *r, const struct planner_study *study,
                          const struct planner_facts *facts, const struct sm_weights *weights, uint64_t seed, char *why,
                          size_t why_bytes)
{
    const size_t vocab = weights->model->shape.vocab;
    *r = (struct planner_replay){.study = study, .facts = facts, .weights = weights};
    r->sets = choose_sets(study, r->set);
    r->tokens = sm_tokens_random(study->problem.max_seq, vocab, seed);
    r->logits = malloc(vocab * sizeof *r->logits);
    r->ended = malloc(study->problem.max_seq * sizeof *r->ended);
    if (!r->tokens || !r->logits || !r->ended) {
        snprintf(why, why_bytes, "there is no memory for %zu tokens", study->problem.max_seq);
        return -1;
    }
    const struct sm_run_hooks hooks = {.begin = keep_place, .state = r};
    if (sm_pin_plan(&r->pin, (int)study->series->threads, why, why_bytes)) r->pin.count = 0;
    for (size_t i = 0; i < r->sets; i++) {
        const struct sm_session_options o = options_of(r, r->set[i]);
        if (sm_session_create(&r->session[i], weights, &o, why, why_bytes) || warm_up(r, i, why, why_bytes)) return -1;
    }
    planner_reference_choose(&r->reference, study);
    return planner_reference_open(&r->reference, study, weights, &hooks, r->tokens, why, why_bytes);
}

void planner_replay_destroy(struct planner_replay *r)
{
    for (size_t i = 0; i < r->sets; i++) sm_session_destroy(r->session[i]);
    planner_reference_close(&r->reference);
    free(r->tokens);
    free(r->logits);
    free(r->ended);
    *r = (struct planner_replay){0};
}

/* What one turn was said to cost. NAN: it cannot be said. */
static double predict(const struct planner_replay *r, size_t set, const struct sm_planner_turn *turn)
{
    char why[256];
    struct sm_planner_problem one = r->study->problem;
    struct sm_planner_price price;
    one.turns = turn;
    one.turn_count = 1;
    return sm_planner_price(&one, &r->set[set]->set, r->set[set]->rule, &price, why, sizeof why) ? NAN : price.ttft;
}

double planner_replay_estimate(const struct planner_study *study, size_t session)
{
    const struct planner_turns *t = study->turns;
    const struct planner_choice *set[PLANNER_REPLAY_SETS];
    const size_t sets = choose_sets(study, set), begin = t->session[session], end = t->session[session + 1];
    const double decode = planner_study_ns(study->series, SM_PHASE_DECODE, 1, 1, study->problem.max_seq, 0);
    double tokens = 0, ns = 0;
    struct planner_reference reference;
    planner_reference_choose(&reference, study);
    for (size_t i = begin; i < end; i++) tokens += (double)t->turn[i].in;
    for (size_t i = 0; i < sets; i++)
        ns += tokens * set[i]->price.ttft * t->weight / t->in +
              (double)(end - begin) * PLANNER_REPLAY_DECODES * decode + planner_reference_ns(&reference);
    return 1e-9 * ns;
}

static int decode_some(const struct planner_replay *r, struct sm_session *session, struct turn_run *run, char *why,
                       size_t why_bytes)
{
    const struct sm_planner_turn *t = run->turn;
    const size_t past = t->past + t->in, count = t->out < PLANNER_REPLAY_DECODES ? t->out : PLANNER_REPLAY_DECODES;
    double ns[PLANNER_REPLAY_DECODES];
    for (size_t i = 0; i < count; i++) {
        const uint64_t begin = sm_clock_ns();
        if (sm_session_decode(session, r->tokens[past + i], why, why_bytes)) return -1;
        ns[i] = (double)(sm_clock_ns() - begin);
    }
    run->measured_decode = sm_median(ns, count); /* the first one after other calls takes longer; there are hundreds */
    run->predicted_decode =
        count ? planner_study_ns(r->study->series, SM_PHASE_DECODE, 1, 1, r->study->problem.max_seq, past) : NAN;
    return t->out ? sm_session_assume(session, past + t->out, why, why_bytes) : 0;
}

static int run_turn(struct planner_replay *r, size_t set, struct turn_run *run, struct sm_witnesses *witnesses,
                    char *why, size_t why_bytes)
{
    const struct sm_planner_turn *t = run->turn;
    const struct planner_choice *c = r->set[set];
    struct sm_session *session = r->session[set];
    run->calls = calloc(t->in, sizeof *run->calls);
    run->call_ns = calloc(t->in, sizeof *run->call_ns);
    if (run->calls && run->call_ns)
        run->call_count = sm_planner_calls(&r->study->problem, &c->set, c->rule, t->past, t->in, run->calls, t->in);
    if (!run->call_count) {
        snprintf(why, why_bytes, "there is no memory for the calls of a turn");
        return -1;
    }
    run->predicted = predict(r, set, t);
    if (!t->past && sm_session_truncate(session, 0, why, why_bytes)) return -1;
    r->ended_count = 0;
    sm_witnesses_sample_begin(witnesses);
    const uint64_t begin = sm_clock_ns();
    if (sm_session_take(session, r->tokens + t->past, run->calls, run->call_count, why, why_bytes)) return -1;
    run->measured = (double)(sm_clock_ns() - begin);
    sm_witnesses_sample_end(witnesses, run->measured);
    for (size_t i = 0; i < run->call_count; i++)
        run->call_ns[i] = (double)(r->ended[i] - (i ? r->ended[i - 1] : begin));
    return 0;
}

static json_t *sizes_json(const size_t *rows, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(list, json_integer((json_int_t)rows[i]));
    return list;
}

static json_t *call_json(const struct sm_chunk *c, double ns)
{
    return json_pack("{s:s, s:I, s:I, s:o, s:o}", "phase", sm_phase_name(c->phase), "rows", (json_int_t)c->rows,
                     "tokens", (json_int_t)c->count, "ns", sm_record_number(ns), "predicted_ns",
                     sm_record_number((double)c->ns));
}

static json_t *turns_json(const struct turn_run *runs, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct turn_run *run = &runs[i];
        json_t *calls = json_array();
        for (size_t k = 0; k < run->call_count; k++)
            json_array_append_new(calls, call_json(&run->calls[k], run->call_ns[k]));
        json_array_append_new(
            list, json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "past", (json_int_t)run->turn->past, "in",
                            (json_int_t)run->turn->in, "out", (json_int_t)run->turn->out, "calls", calls, "ttft_ns",
                            sm_record_number(run->measured), "predicted_ttft_ns", sm_record_number(run->predicted),
                            "decode_ns", sm_record_number(run->measured_decode), "predicted_decode_ns",
                            sm_record_number(run->predicted_decode)));
    }
    return list;
}

static struct sm_record *record_of(const struct planner_replay *r, size_t set, size_t session,
                                   const struct turn_run *runs, size_t count, double reference_ns, const char *case_id)
{
    const struct planner_choice *c = r->set[set];
    char id[1024];
    double *samples = malloc(count * sizeof *samples);
    snprintf(id, sizeof id, "%s/set=%s", case_id, c->name);
    struct sm_record *record = samples ? sm_record_create("plan", id) : NULL;
    if (record) {
        const struct sm_trial label = {
            .max_seq = r->study->problem.max_seq, .kv = r->study->series->kv, .threads = r->study->series->threads};
        sm_trial_label(record, &label, r->facts->source, r->weights->recipe);
        for (size_t i = 0; i < count; i++) samples[i] = runs[i].measured;
        sm_record_set_string(record, "unit", "ns");
        sm_record_set_numbers(record, "samples", samples, count);
        sm_record_set_json(record, "plan",
                           json_pack("{s:s, s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o}", "role", "replay", "set",
                                     c->name, "calls", c->rule == SM_PLANNER_BEST ? "best" : "smallest", "file",
                                     r->facts->turns, "session", (json_int_t)session + 1, "prefill",
                                     sizes_json(c->set.prefill, c->set.prefill_count), "append",
                                     sizes_json(c->set.append, c->set.append_count), "turns", turns_json(runs, count),
                                     "reference_ns", sm_record_number(reference_ns), "reference_table_ns",
                                     sm_record_number(planner_reference_ns(&r->reference))));
    }
    free(samples);
    return record;
}

/* A session by one set: 0, 1 interrupted, 2 a wrong answer, -1. */
static int run_set(struct planner_replay *r, size_t set, size_t session, bool first, const char *case_id,
                   struct sm_record **record, char *why, size_t why_bytes)
{
    const struct planner_turns *t = r->study->turns;
    const size_t begin = t->session[session], count = t->session[session + 1] - begin;
    const size_t vocab = r->weights->model->shape.vocab;
    struct turn_run *runs = calloc(count, sizeof *runs);
    struct sm_witnesses *witnesses = sm_witnesses_create(count, SM_WITNESS_PROCESS);
    int outcome = runs && witnesses ? 0 : -1;
    if (outcome)
        snprintf(why, why_bytes, "there is no memory for %zu turns", count);
    else
        sm_witnesses_begin(witnesses);
    for (size_t i = 0; i < count && !outcome; i++) {
        runs[i].turn = &t->turn[begin + i];
        if (sm_cases_interrupted()) outcome = 1;
        if (!outcome) outcome = run_turn(r, set, &runs[i], witnesses, why, why_bytes);
        if (!outcome && i + 1 == count && first)
            memcpy(r->logits, sm_session_logits(r->session[set]), vocab * sizeof *r->logits);
        if (!outcome && i + 1 == count) {
            struct sm_difference d;
            sm_difference_measure(r->logits, sm_session_logits(r->session[set]), 1, vocab, &d);
            if (!(d.peir <= WRONG_PEIR)) outcome = 2;
        }
        if (outcome != -1 && outcome != 1 && decode_some(r, r->session[set], &runs[i], why, why_bytes)) outcome = -1;
    }
    double reference_ns = NAN;
    if ((!outcome || outcome == 2) && planner_reference_run(&r->reference, &reference_ns, why, why_bytes)) outcome = -1;
    if (!outcome || outcome == 2) {
        sm_witnesses_end(witnesses);
        *record = record_of(r, set, session, runs, count, reference_ns, case_id);
        if (*record) sm_record_set_json(*record, "witnesses", sm_witnesses_json(witnesses));
        if (*record && outcome == 2) sm_record_fail(*record, "error", "its last logits are not those of the first set");
    }
    for (size_t i = 0; runs && i < count; i++) {
        free(runs[i].calls);
        free(runs[i].call_ns);
    }
    free(runs);
    sm_witnesses_destroy(witnesses);
    return outcome;
}

enum sm_case_outcome planner_replay_run(struct planner_replay *r, size_t session, const char *case_id,
                                        struct sm_case_results *results, char *why, size_t why_bytes)
{
    struct sm_record *records[PLANNER_REPLAY_SETS] = {NULL};
    int worst = 0;
    for (size_t i = 0; i < r->sets; i++) { /* another one first each time */
        const size_t set = (i + session) % r->sets;
        const int outcome = run_set(r, set, session, !i, case_id, &records[set], why, why_bytes);
        if (outcome) worst = outcome;
        if (outcome == 1 || outcome == -1) break;
    }
    for (size_t i = 0; i < r->sets; i++)
        if (worst == 1 || worst == -1)
            sm_record_destroy(records[i]);
        else
            sm_case_result(results, records[i]);
    return worst == -1 ? SM_CASE_BROKEN : worst == 1 ? SM_CASE_DROPPED : worst == 2 ? SM_CASE_WRONG : SM_CASE_DONE;
}
