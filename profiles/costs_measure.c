#include "costs_measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "costs_tile.h"
#include "cpu.h"
#include "machine.h"
#include "stats.h"
#include "tokens.h"
#include "trial_record.h"
#include "witness.h"

#define TILE 32      /* slots of the short prefill */
#define LOOKED_AT 64 /* logits of an answer that are compared */
#define SAME 1e-3    /* of their interval */
#define VIEWS 16     /* attentions times KV types */

struct bench_session {
    struct costs_point key; /* attention, kv, threads, max_seq */
    struct sm_session *session;
    struct sm_positions *positions; /* to ask how large its plans are */
    struct costs_tile tile;
    bool prefilled;    /* its slots are those of a prefill, not the tile's */
    struct sm_pin pin; /* where its threads run */
};

/* What a point's first call answered. */
struct answer {
    bool there;
    float logits[LOOKED_AT];
    int32_t argmax;
};

struct view {
    struct sm_weights weights; /* the packed ones, with another choice of attention */
    struct sm_forced forced[1];
    char family[32];
    enum sm_cost_attention attention;
    enum sm_kv_type kv;
};

struct costs_bench {
    const struct sm_source *source;
    const struct sm_weights *weights;
    const struct costs_grid *grid;
    int32_t *tokens; /* of the longest call */
    struct view view[VIEWS];
    size_t view_count;
    struct bench_session *sessions; /* [grid->count] at most */
    size_t session_count;
    struct answer *answers; /* [grid->count] */
};

const char *costs_attention_variant(enum sm_cost_attention attention, enum sm_kv_type kv, char *why, size_t why_bytes)
{
    char name[32];
    const char *wanted = sm_cost_attention_name(attention);
    snprintf(name, sizeof name, "attention_%s", sm_kv_name(kv));
    const struct sm_family *f = sm_family_named(name);
    for (size_t i = f->variant_count; i-- > 0;) {
        const struct sm_variant *v = &f->variants[i];
        if (!strncmp(v->name, wanted, strlen(wanted)) && !(v->needs & ~sm_cpu_features())) return v->name;
    }
    if (attention == SM_COST_LITERAL) return f->variants[0].name;
    snprintf(why, why_bytes, "no variant of %s that skips runs on this CPU: --attention literal measures the other",
             name);
    return NULL;
}

static const struct sm_weights *weights_of(struct costs_bench *b, const struct costs_point *p, char *why,
                                           size_t why_bytes)
{
    for (size_t i = 0; i < b->view_count; i++)
        if (b->view[i].attention == p->attention && b->view[i].kv == p->kv) return &b->view[i].weights;
    const char *variant = costs_attention_variant(p->attention, p->kv, why, why_bytes);
    if (!variant || b->view_count == VIEWS) return NULL;
    struct view *v = &b->view[b->view_count++];
    v->attention = p->attention;
    v->kv = p->kv;
    v->weights = *b->weights; /* attention reads no weights: the plans choose it */
    snprintf(v->family, sizeof v->family, "attention_%s", sm_kv_name(p->kv));
    v->forced[0] = (struct sm_forced){v->family, variant};
    v->weights.choice.forced = v->forced;
    v->weights.choice.forced_count = 1;
    return &v->weights;
}

/* By every thread at the begin of a call. Two threads that end up on one CPU take twice as long, and stay there for
 * seconds on a machine with other work; so each has its place. */
static void keep_place(void *state, enum sm_phase phase, size_t thread)
{
    (void)phase;
    sm_pin_keep(state, (int)thread);
}

static void close_session(struct bench_session *b)
{
    sm_session_destroy(b->session);
    sm_positions_destroy(b->positions);
    costs_tile_free(&b->tile);
}

static int open_session(struct costs_bench *b, const struct costs_point *p, uint64_t (*clock_ns)(void),
                        struct bench_session *to, char *why, size_t why_bytes)
{
    struct sm_session_options options;
    char unsaid[256];
    const struct sm_weights *weights = weights_of(b, p, why, why_bytes);
    const size_t slots = p->max_seq - 1 < TILE ? p->max_seq - 1 : TILE;
    *to = (struct bench_session){.key = *p};
    costs_grid_session(b->grid, p, &options);
    options.clock_ns = clock_ns;
    if (!sm_pin_plan(&to->pin, (int)p->threads, unsaid, sizeof unsaid))
        options.hooks = (struct sm_run_hooks){.begin = keep_place, .state = &to->pin};
    if (weights && !sm_session_create(&to->session, weights, &options, why, why_bytes) &&
        !sm_positions_create(&to->positions, b->source->model, p->max_seq, why, why_bytes) &&
        !sm_session_prefill(to->session, b->tokens, slots, SM_PAD_RIGHT, why, why_bytes) &&
        !costs_tile_save(&to->tile, to->session, slots, why, why_bytes))
        return 0;
    close_session(to);
    return -1;
}

static bool same_session(const struct costs_point *a, const struct costs_point *b)
{
    return a->attention == b->attention && a->kv == b->kv && a->threads == b->threads && a->max_seq == b->max_seq;
}

static struct bench_session *session_of(struct costs_bench *b, const struct costs_point *p, char *why, size_t why_bytes)
{
    for (size_t i = 0; i < b->session_count; i++)
        if (same_session(&b->sessions[i].key, p)) return &b->sessions[i];
    if (open_session(b, p, NULL, &b->sessions[b->session_count], why, why_bytes)) return NULL;
    return &b->sessions[b->session_count++];
}

/* One call of a point; *ns: what it took. */
static int call(struct costs_bench *b, struct bench_session *s, const struct costs_point *p, double *ns, char *why,
                size_t why_bytes)
{
    const struct sm_chunk as_called = {.phase = p->phase, .rows = p->rows, .count = p->tokens};
    int failed;
    size_t count = 0;
    if (s->prefilled && sm_session_truncate(s->session, 0, why, why_bytes)) return -1;
    s->prefilled = p->phase == SM_PHASE_PREFILL;
    if (!s->prefilled && costs_tile_fill(&s->tile, s->session, p->past, why, why_bytes)) return -1;
    const uint64_t begin = sm_clock_ns();
    switch (p->phase) {
    case SM_PHASE_PREFILL:
        failed = sm_session_prefill(s->session, b->tokens, p->tokens, SM_PAD_RIGHT, why, why_bytes);
        break;
    case SM_PHASE_APPEND: /* in this bucket, whichever else holds so many */
        failed = sm_session_take(s->session, b->tokens, &as_called, 1, why, why_bytes);
        break;
    default: failed = sm_session_decode(s->session, b->tokens[0], why, why_bytes);
    }
    *ns = (double)(sm_clock_ns() - begin);
    if (!failed && !s->prefilled) failed = sm_session_truncate(s->session, p->past, why, why_bytes);
    if (failed) return -1;
    const struct sm_chunk *chunks = sm_session_chunks(s->session, &count);
    if (p->phase == SM_PHASE_DECODE || (count == 1 && chunks[0].rows == p->rows)) return 0;
    snprintf(why, why_bytes, "%zu tokens after %zu took another shape than %s of %zu rows", p->tokens, p->past,
             sm_phase_name(p->phase), p->rows);
    return -1;
}

/* Notes a point's answer; false where the other attention's is another. */
static bool agrees(struct costs_bench *b, const struct costs_point *p, const struct sm_session *s)
{
    const size_t vocab = b->source->model->shape.vocab;
    struct answer *own = &b->answers[p - b->grid->at];
    const float *logits = sm_session_logits(s);
    float least = INFINITY, most = -INFINITY;
    own->there = true;
    own->argmax = sm_session_argmax(s);
    for (size_t i = 0; i < LOOKED_AT; i++) {
        own->logits[i] = logits[i * (vocab - 1) / (LOOKED_AT - 1)];
        if (!isfinite(own->logits[i])) return false;
        least = fminf(least, own->logits[i]);
        most = fmaxf(most, own->logits[i]);
    }
    for (size_t i = 0; i < b->grid->count; i++) {
        struct costs_point other = b->grid->at[i];
        const struct answer *a = &b->answers[i];
        if (!a->there || other.attention == p->attention) continue;
        other.attention = p->attention;
        if (!same_session(&other, p) || other.phase != p->phase || other.rows != p->rows || other.past != p->past ||
            other.tokens != p->tokens)
            continue;
        bool equal = a->argmax == own->argmax;
        for (size_t k = 0; k < LOOKED_AT; k++) equal &= fabsf(a->logits[k] - own->logits[k]) <= SAME * (most - least);
        return equal;
    }
    return true;
}

static struct sm_record *record_of(struct costs_bench *b, struct bench_session *s, const struct costs_point *p,
                                   const char *id, const char *role)
{
    const struct sm_trial label = {.max_seq = p->max_seq,
                                   .prompt = p->tokens,
                                   .kv = p->kv,
                                   .scale_in = b->weights->choice.scale_in,
                                   .threads = p->threads};
    char text[1024];
    const struct sm_plan *plan = sm_session_bucket_plan(s->session, p->phase, p->rows);
    struct sm_record *r = sm_record_create("cost", id);
    if (!r) return NULL;
    sm_trial_label(r, &label, b->source, b->weights->recipe);
    sm_record_set_string(r, "phase", sm_phase_name(p->phase));
    sm_record_set_integer(r, "bucket", (int64_t)p->rows);
    sm_record_set_integer(r, "n_depth", (int64_t)p->past);
    sm_record_put_string(r, "cost", "role", role);
    sm_record_put_string(r, "cost", "attention", sm_cost_attention_name(p->attention));
    sm_record_put_integer(r, "memory", "weights_bytes", (int64_t)b->weights->bytes);
    sm_record_put_integer(r, "memory", "cache_bytes", (int64_t)sm_session_cache(s->session)->bytes);
    const size_t arena = sm_plan_bytes(b->weights, sm_session_cache(s->session), s->positions, sm_plan_options_of(plan),
                                       text, sizeof text);
    sm_record_put_integer(r, "memory", "arena_bytes", (int64_t)arena);
    sm_record_set_string(r, "variant", sm_trial_variants(s->session, p->phase, text, sizeof text));
    sm_record_set_number(
        r, "ops",
        sm_trial_rows_ops(&b->source->model->shape, p->rows, p->phase == SM_PHASE_PREFILL ? p->rows : p->max_seq));
    sm_record_set_string(r, "ops_unit", "multiply-adds");
    return r;
}

enum costs_outcome costs_bench_round(struct costs_bench *b, const struct costs_point *p, size_t round, const char *id,
                                     struct sm_record **record, char *why, size_t why_bytes)
{
    double ns[COSTS_ROUND_MOST_CALLS], first, spent = 0;
    size_t n = 0;
    struct bench_session *s = session_of(b, p, why, why_bytes);
    struct sm_witnesses *w = sm_witnesses_create(COSTS_ROUND_MOST_CALLS, SM_WITNESS_PROCESS);
    if (s && !w) snprintf(why, why_bytes, "there is no memory for witnesses");
    bool failed = !s || !w;
    if (!failed) {
        sm_witnesses_begin(w);
        sm_witnesses_sample_begin(w);
        failed = call(b, s, p, &first, why, why_bytes) != 0;
    }
    if (!failed && first >= 1e9 * COSTS_WARM_S) { /* long enough to count */
        sm_witnesses_sample_end(w, first);
        ns[n++] = spent = first;
    }
    const bool right = !failed && agrees(b, p, s->session);
    while (!failed && n < COSTS_ROUND_MOST_CALLS && spent < 1e9 * COSTS_ROUND_S) {
        sm_witnesses_sample_begin(w);
        failed = call(b, s, p, &ns[n], why, why_bytes) != 0;
        sm_witnesses_sample_end(w, ns[n]);
        spent += ns[n++];
    }
    struct sm_record *r = failed ? NULL : record_of(b, s, p, id, p->held_out ? "held-out" : "fit");
    if (!failed && !r) snprintf(why, why_bytes, "there is no memory for the record of %s", id);
    if (r) {
        sm_witnesses_end(w);
        sm_record_put_integer(r, "cost", "round", (int64_t)round);
        sm_record_set_numbers(r, "samples", ns, n);
        sm_record_set_json(r, "witnesses", sm_witnesses_json(w));
        if (!right) sm_record_fail(r, "error", "literal and skipping attention give different logits");
    }
    sm_witnesses_destroy(w);
    *record = r;
    return !r ? COSTS_FAILED : right ? COSTS_DONE : COSTS_WRONG;
}

bool costs_steps_wanted(const struct costs_grid *grid, const struct costs_point *p)
{
    if (p->held_out) return false;
    for (size_t i = 0; i < grid->count; i++) {
        const struct costs_point *o = &grid->at[i];
        if (o->held_out || o->attention != p->attention || o->kv != p->kv || o->threads != p->threads ||
            o->phase != p->phase || o->rows != p->rows)
            continue;
        if (p->phase != SM_PHASE_DECODE && o->max_seq > p->max_seq) return false;
        if (o->max_seq == p->max_seq && o->past + o->tokens > p->past + p->tokens) return false;
    }
    return true;
}

static uint64_t median_of(const struct sm_step_times *times, size_t count, size_t offset)
{
    double values[COSTS_STEPS_CALLS];
    for (size_t i = 0; i < count; i++) {
        uint64_t ns;
        memcpy(&ns, (const char *)&times[i] + offset, sizeof ns);
        values[i] = (double)ns;
    }
    return (uint64_t)llrint(sm_median(values, count));
}

/* The steps of a point's calls: of each step the median of a few, for a neighbour holds up now this one, now that.
 * *spread: half of what lies between the quartiles of whole calls, over their median. */
static int measure_steps(struct costs_bench *b, struct bench_session *s, const struct costs_point *p,
                         struct sm_step_times *median, double *spread, char *why, size_t why_bytes)
{
    struct sm_step_times times[COSTS_STEPS_CALLS];
    struct sm_summary summary;
    double ns[COSTS_STEPS_CALLS];
    const size_t calls = p->call_s > COSTS_WARM_S ? COSTS_STEPS_LONG : COSTS_STEPS_CALLS;
    for (size_t i = 0; i < calls; i++) {
        sm_session_times_clear(s->session);
        if (call(b, s, p, &ns[i], why, why_bytes)) return -1;
        times[i] = *sm_session_times(s->session, p->phase);
    }
    *median = times[0]; /* counts are the same in all */
    for (size_t l = 0; l < SM_LABELS; l++) {
        median->ns[l] = median_of(times, calls, offsetof(struct sm_step_times, ns[l]));
        for (size_t k = 0; k < SM_LAYER_KINDS; k++)
            median->kind_ns[l][k] = median_of(times, calls, offsetof(struct sm_step_times, kind_ns[l][k]));
    }
    median->elapsed_ns = median_of(times, calls, offsetof(struct sm_step_times, elapsed_ns));
    *spread = sm_summarise(ns, calls, &summary) ? NAN : (summary.q75 - summary.q25) / 2 / summary.median;
    return 0;
}

enum costs_outcome costs_bench_steps(struct costs_bench *b, const struct costs_point *of, const char *id,
                                     bool (*interrupted)(void), struct sm_record **records, char *why, size_t why_bytes)
{
    struct bench_session s;
    enum costs_outcome outcome = COSTS_DONE;
    char name[512];
    if (open_session(b, of, sm_clock_ns, &s, why, why_bytes)) return COSTS_FAILED;
    for (size_t i = 0; i < b->grid->count && outcome == COSTS_DONE; i++) {
        const struct costs_point *p = &b->grid->at[i];
        struct sm_step_times times;
        double spread;
        if (!same_session(p, of) || !costs_steps_wanted(b->grid, p)) continue;
        if (interrupted())
            outcome = COSTS_INTERRUPTED;
        else if (measure_steps(b, &s, p, &times, &spread, why, why_bytes))
            outcome = COSTS_FAILED;
        if (outcome != COSTS_DONE) break;
        snprintf(name, sizeof name, "%s/%s,rows=%zu,past=%zu,tokens=%zu", id, sm_phase_name(p->phase), p->rows, p->past,
                 p->tokens);
        records[i] = record_of(b, &s, p, name, "steps");
        if (records[i]) {
            sm_trial_add_steps(records[i], &times);
            sm_record_put_json(records[i], "cost", "spread", sm_record_number(spread));
        } else {
            outcome = COSTS_FAILED;
        }
        if (!records[i]) snprintf(why, why_bytes, "there is no memory for the record of %s", name);
    }
    close_session(&s);
    return outcome;
}

int costs_bench_memory(const struct costs_bench *b, const struct costs_point *p, double *arena, double *cache,
                       char *why, size_t why_bytes)
{
    struct sm_positions *positions = NULL;
    struct sm_cache *c = NULL;
    const struct sm_plan_options options = {
        .phase = p->phase, .rows = p->rows, .max_seq = p->max_seq, .kv = p->kv, .threads = p->threads};
    size_t bytes = 0;
    enum sm_keys keys;
    if (!sm_plan_keys(b->weights, p->kv, false, &keys, why, why_bytes) &&
        !sm_cache_create(&c, &b->source->model->shape, p->max_seq, p->kv, keys, why, why_bytes) &&
        !sm_positions_create(&positions, b->source->model, p->max_seq, why, why_bytes))
        bytes = sm_plan_bytes(b->weights, c, positions, &options, why, why_bytes);
    *arena = (double)bytes;
    *cache = c ? (double)c->bytes : 0;
    sm_positions_destroy(positions);
    sm_cache_destroy(c);
    return bytes ? 0 : -1;
}

void costs_bench_work(const struct costs_bench *b, size_t max_seq, double *bytes, double *ops)
{
    const struct sm_model_shape *shape = &b->source->model->shape;
    *bytes = (double)b->weights->bytes;
    *ops = sm_trial_rows_ops(shape, 2, max_seq) - sm_trial_rows_ops(shape, 1, max_seq);
}

struct costs_bench *costs_bench_create(const struct sm_source *source, const struct sm_weights *weights,
                                       const struct costs_grid *grid, uint64_t token_seed, char *why, size_t why_bytes)
{
    struct costs_bench *b = calloc(1, sizeof *b);
    size_t most = TILE;
    for (size_t i = 0; i < grid->count; i++)
        if (grid->at[i].tokens > most) most = grid->at[i].tokens;
    if (b) {
        b->source = source;
        b->weights = weights;
        b->grid = grid;
        b->tokens = sm_tokens_random(most, source->model->shape.vocab, token_seed);
        b->sessions = calloc(grid->count, sizeof *b->sessions);
        b->answers = calloc(grid->count, sizeof *b->answers);
    }
    if (b && b->tokens && b->sessions && b->answers) return b;
    snprintf(why, why_bytes, "there is no memory for the sessions of %zu points", grid->count);
    costs_bench_destroy(b);
    return NULL;
}

void costs_bench_destroy(struct costs_bench *b)
{
    if (!b) return;
    char unsaid[256];
    for (size_t i = 0; i < b->session_count; i++) close_session(&b->sessions[i]);
    (void)sm_unpin_self(unsaid, sizeof unsaid);
    free(b->sessions);
    free(b->answers);
    free(b->tokens);
    free(b);
}
