/* slotmark verify: how far a model's logits are from a reference, call by call. */
#include "verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tokens.h"
#include "trial.h"
#include "verify_state.h"
#include "verify_table.h"

/* The reference: float weights of the same model, somebody's logits, or another model. */
static int open_reference(struct verify *v, char *why, size_t why_bytes)
{
    const struct verify_options *o = &v->options;
    const char *name = o->against, *slash = name ? strrchr(name, '/') : NULL, *dot = name ? strrchr(name, '.') : NULL;
    snprintf(v->against, sizeof v->against, "%s", name ? slash ? slash + 1 : name : "float");
    if (!name || !strcmp(name, "float")) return 0;
    if (dot && !strcmp(dot, ".safetensors")) {
        v->given = true;
        return verify_golden_open(&v->golden, name, &v->source.model->shape, why, why_bytes);
    }
    if (sm_source_open(&v->other, name, o->synthetic_format, (uint64_t)o->token_seed, sm_cases_progress(&o->cases), why,
                       why_bytes))
        return -1;
    if (v->other.model->shape.vocab == v->source.model->shape.vocab) return 0;
    snprintf(why, why_bytes, "'%s' has a vocabulary of %zu, and %s one of %zu: their logits cannot be compared", name,
             v->other.model->shape.vocab, v->source.name, v->source.model->shape.vocab);
    return -1;
}

/* What is run when nothing is asked for: the golden's own calls, or half its tokens prefilled and the rest decoded. */
static int settle_turns(struct verify *v, char *why, size_t why_bytes)
{
    struct sm_turns *turns = &v->options.turns;
    const size_t given = v->golden.turns.count;
    if (!turns->count && v->given) {
        *turns = v->golden.calls;
        if (!turns->count && given) *turns = (struct sm_turns){1, {{(given + 1) / 2, given / 2}}};
    } else if (!turns->count) {
        return sm_turns_parse(VERIFY_STANDARD_TURNS, turns, why, why_bytes);
    }
    if (!v->given || sm_turns_tokens(turns) <= given) return 0;
    snprintf(why, why_bytes, "the turns have %zu tokens, and turns.tokens of '%s' only %zu", sm_turns_tokens(turns),
             v->against, given);
    return -1;
}

static void copy_buckets(const struct sm_list *list, size_t *rows, size_t *count)
{
    *count = list->count;
    for (size_t i = 0; i < list->count; i++) rows[i] = (size_t)list->value[i];
}

/* max_seq, buckets and team of the sessions. */
static int settle_session(struct verify *v, char *why, size_t why_bytes)
{
    static const struct sm_list standard = SM_LIST(8, 32);
    const struct verify_options *o = &v->options;
    const size_t tokens = sm_turns_tokens(&o->turns);
    struct sm_session_options *s = &v->session;
    s->threads = (size_t)o->threads;
    s->when_full = (enum sm_when_full)o->when_full;
    s->max_seq = o->max_seq                                            ? (size_t)o->max_seq
                 : v->golden.max_seq > tokens && v->golden.max_seq > 1 ? v->golden.max_seq
                 : o->text && tokens < 512                             ? 512
                                                                       : (tokens / 64 + 1) * 64;
    if (tokens > s->max_seq - 1) {
        snprintf(why, why_bytes, "turns of %zu tokens do not fit the %zu past slots of max_seq %zu", tokens,
                 s->max_seq - 1, s->max_seq);
        return -1;
    }
    copy_buckets(o->buckets.count ? &o->buckets : &standard, s->append_buckets, &s->append_bucket_count);
    copy_buckets(&o->prefill_buckets, s->prefill_buckets, &s->prefill_bucket_count);
    while (!o->buckets.count && s->append_bucket_count && s->append_buckets[s->append_bucket_count - 1] > s->max_seq)
        s->append_bucket_count--;
    return 0;
}

/* Tokens of the prompts: a file's, which must be enough; the beginning of the text; or seeded ones. */
static int prepare_prompts(struct verify *v, char *why, size_t why_bytes)
{
    const struct verify_options *o = &v->options;
    const size_t vocab = v->source.model->shape.vocab;
    size_t need = 0, have = v->text_count;
    if (v->given && (o->tokens || o->prompt)) {
        snprintf(why, why_bytes, "--tokens and --prompt have no use beside '%s', which brings its own", v->against);
        return -1;
    }
    for (size_t i = 0; i < o->turns.count; i++) need += o->turns.turn[i].prompt;
    if (v->prompts) return 0; /* it came as text */
    v->prompt_count = need;
    if (o->tokens) {
        if (sm_tokens_read(o->tokens, vocab, &v->prompts, &have, why, why_bytes)) return -1;
        if (have >= need) return 0;
        snprintf(why, why_bytes, "'%s' holds %zu tokens, and the prompts of the turns need %zu", o->tokens, have, need);
        return -1;
    }
    v->prompts = sm_tokens_random(need, vocab, (uint64_t)o->token_seed);
    if (!v->prompts) {
        snprintf(why, why_bytes, "there is no memory for %zu tokens", need);
        return -1;
    }
    if (v->text) memcpy(v->prompts, v->text, (have < need ? have : need) * sizeof *v->prompts);
    return 0;
}

/* Seconds that a combination will take, roughly: both sides, and the four ways. */
static double estimate(const struct verify *v, const struct sm_trial_speed *tested,
                       const struct sm_trial_speed *reference)
{
    const struct sm_model_shape *shape = &v->source.model->shape;
    const size_t tokens = sm_turns_tokens(&v->options.turns);
    const double prefill = sm_trial_ops(shape, SM_PHASE_PREFILL, v->session.max_seq),
                 decode = (double)tokens * sm_trial_ops(shape, SM_PHASE_DECODE, v->session.max_seq);
    const double ways = v->options.no_paths ? 1 : 4;
    const double text = (double)v->text_count * 2 * prefill / (double)v->session.max_seq; /* half a window at a time */
    return (text / tested->prefill + text / reference->prefill + ways * prefill / tested->prefill +
            2 * decode / tested->decode + prefill / reference->prefill + decode / reference->decode) /
           (double)v->session.threads;
}

static int add_combinations(struct verify *v, struct sm_cases *cases, char *why, size_t why_bytes)
{
    const struct verify_options *o = &v->options;
    struct sm_trial_speed reference = {INFINITY, INFINITY}, speed;
    char turns[160], id[512];
    const size_t kvs = o->kv.count, places = o->scale_in.count;
    v->count = o->recipes.count * places * kvs;
    v->combinations = calloc(v->count, sizeof *v->combinations);
    if (!v->combinations) {
        snprintf(why, why_bytes, "there is no memory for %zu combinations", v->count);
        return -1;
    }
    for (size_t i = 0; i < v->count; i++) {
        struct combination *c = &v->combinations[i];
        c->recipe = i / kvs / places;
        sm_scale_in_named(o->scale_in.value[i / kvs % places], &c->scale_in);
        sm_kv_named(o->kv.value[i % kvs], &c->kv);
        if (i % (kvs * places) == 0 && (verify_prepare_weights(v, c, why, why_bytes) ||
                                        sm_trial_probe(v->tested[c->recipe][c->scale_in], &speed, why, why_bytes)))
            return -1;
        if (!i && !v->given && sm_trial_probe(v->reference, &reference, why, why_bytes)) return -1;
        snprintf(id, sizeof id, "%s/%s/against=%s,max_seq=%zu,kv=%s,scale=%s,turns=%s/t%zu", v->source.name,
                 verify_recipe(v, c->recipe), v->against, v->session.max_seq, sm_kv_name(c->kv),
                 sm_scale_in_name(c->scale_in), sm_turns_text(&o->turns, turns, sizeof turns), v->session.threads);
        if (sm_cases_add(cases, id, "verify", estimate(v, &speed, &reference), c)) {
            snprintf(why, why_bytes, "recipe %s with kv %s is asked for twice", verify_recipe(v, c->recipe),
                     sm_kv_name(c->kv));
            return -1;
        }
    }
    return 0;
}

struct collection {
    const struct sm_cases *cases;
    json_t **latest; /* of each case; NULL: none */
};

static int collect(void *context, const json_t *record)
{
    struct collection *c = context;
    const char *id = json_string_value(json_object_get(record, "case"));
    for (size_t i = 0; i < sm_cases_count(c->cases); i++)
        if (!strcmp(sm_cases_at(c->cases, i)->id, id)) {
            json_decref(c->latest[i]);
            c->latest[i] = json_deep_copy(record);
        }
    return 0;
}

/* The records of these cases, whichever run wrote them, in the order asked for. Returns the exit code: 1 when one of
 * them is outside its limits. */
static int print_results(const struct verify *v, const struct sm_cases *cases, char *why, size_t why_bytes)
{
    json_t *records = json_array();
    struct collection c = {cases, calloc(sm_cases_count(cases) + 1, sizeof *c.latest)};
    int code = 0;
    if (!c.latest || sm_records_read(v->out, collect, &c, NULL, why, why_bytes)) code = 2;
    for (size_t i = 0; c.latest && i < sm_cases_count(cases); i++) {
        const json_t *quality = json_object_get(c.latest[i], "quality");
        const char *verdict = json_string_value(json_object_get(quality, "verdict"));
        if (!c.latest[i]) continue;
        if (!code && (!verdict || strcmp(verdict, "within"))) code = 1;
        json_array_append_new(records, c.latest[i]);
    }
    if (code != 2) verify_table_print(records, (enum verify_format)v->options.format, stdout);
    json_decref(records);
    free(c.latest);
    return code;
}

static int run_verify(struct verify *v, const char *model, char *why, size_t why_bytes)
{
    struct verify_options *o = &v->options;
    struct sm_cases *cases = NULL;
    char line[512];
    int code = 2;
    if (sm_source_open(&v->source, model, o->synthetic_format, (uint64_t)o->token_seed, sm_cases_progress(&o->cases),
                       why, why_bytes) ||
        open_reference(v, why, why_bytes) || verify_read_prompt(v, why, why_bytes) || settle_turns(v, why, why_bytes) ||
        settle_session(v, why, why_bytes) || verify_read_text(v, why, why_bytes) || prepare_prompts(v, why, why_bytes))
        return 2;
    sm_source_describe(&v->source, line, sizeof line);
    if (!o->cases.dry_run) fprintf(stderr, "%s\n", line);
    if (!(cases = sm_cases_create())) {
        snprintf(why, why_bytes, "there is no memory for the list of cases");
        return 2;
    }
    if (add_combinations(v, cases, why, why_bytes)) goto done;
    code = sm_cases_run(cases, &o->cases, verify_case, v, why, why_bytes);
    if (code == 2 || o->cases.dry_run) goto done;
    if (!v->out[0] && o->cases.resume) snprintf(v->out, sizeof v->out, "%s", o->cases.resume);
    if (v->out[0] && !access(v->out, R_OK)) {
        const int verdict = print_results(v, cases, why, why_bytes);
        if (verdict == 2 || !code) code = verdict;
        fflush(stdout); /* or the line might stand inside the table where both go to one place */
        fprintf(stderr, "records: %s\n", v->out);
    }
done:
    sm_cases_destroy(cases);
    return code;
}

int verify_main(int argc, char **argv)
{
    char why[768] = "";
    const char *model = NULL;
    struct verify *v = calloc(1, sizeof *v);
    int code;
    if (!v) {
        fprintf(stderr, "slotmark verify: there is no memory to start\n");
        return 2;
    }
    switch (verify_options_parse(&v->options, argc, argv, &model, why, sizeof why)) {
    case SM_ARGUMENTS_HELP: code = 0; break;
    case SM_ARGUMENTS_BAD: code = 2; break;
    default: code = run_verify(v, model, why, sizeof why);
    }
    if (code == 2) fprintf(stderr, "slotmark verify: %s\n", why);
    verify_free_weights(v);
    verify_golden_close(&v->golden);
    sm_source_close(&v->other);
    sm_source_close(&v->source);
    free(v->prompts);
    free(v->combinations);
    free(v);
    return code;
}
