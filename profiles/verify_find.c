/* What a combination is found to be: both sides walk, the verdict, layers and ways, the record. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "conversions.h"
#include "verify_record.h"
#include "verify_state.h"

static bool interrupted(void)
{
    return sm_cases_interrupted();
}

static void show_progress(void *context, size_t done, size_t all)
{
    struct verify *v = context;
    char text[64];
    snprintf(text, sizeof text, "token %zu of %zu", done, all);
    sm_progress_show(&v->progress, (double)done / (double)all * v->progress.total_s, text);
}

/* Where layers part: against the golden's full pass, which is compared anyway; else a prefill of the tokens up to the
 * worst step, when the verdict asks for it. */
static int look_at_layers(struct verify *v, const struct combination *c, struct verify_findings *f, char *why,
                          size_t why_bytes)
{
    const struct verify_result *r = &f->result;
    struct verify_layers_setup setup = {.tested = v->tested[c->recipe][c->scale_in],
                                        .kv = c->kv,
                                        .kv_scales = (const float(*)[2])v->kv_scales[c->recipe],
                                        .threads = v->session.threads,
                                        .limit = 2 * f->limits.peir / 100};
    if (isnan(setup.limit)) setup.limit = 0.01;
    if (v->given) {
        setup.given = v->golden.hidden;
        setup.tokens = v->golden.full.tokens;
        setup.rows = v->golden.full.count;
    } else {
        const struct sm_model_shape *a = &v->source.model->shape, *b = &v->reference->model->shape;
        const struct verify_step *worst = &r->steps[f->summary.worst];
        if (a->layers != b->layers || a->hidden != b->hidden) return 0;
        setup.reference = v->reference;
        setup.tokens = r->tokens;
        setup.rows = verify_layers_rows(a, worst->past + worst->tokens);
    }
    if (verify_layers_run(&setup, &f->layers, why, why_bytes)) return -1;
    verify_layers_say(&f->layers, setup.limit, f->departs, sizeof f->departs);
    return 0;
}

/* All that is looked at: 0, 1 when interrupted, -1 and a sentence. */
static int find(struct verify *v, const struct combination *c, struct verify_findings *f, char *why, size_t why_bytes)
{
    const struct sm_turns *turns = &v->options.turns;
    struct verify_setup setup = {.tested = v->tested[c->recipe][c->scale_in],
                                 .reference = v->reference,
                                 .given = v->golden.turns,
                                 .options = v->session,
                                 .turns = turns,
                                 .prompts = v->prompts,
                                 .same_token = v->options.same_token,
                                 .progress = show_progress,
                                 .context = v,
                                 .interrupted = interrupted};
    setup.options.kv = c->kv;
    setup.options.kv_scales = (const float(*)[2])v->kv_scales[c->recipe];
    if (turns->count) {
        const int outcome = verify_run(&setup, &f->result, why, why_bytes);
        if (outcome) return outcome;
    }
    for (size_t i = 0; i < f->result.count; i++) verify_summary_add(&f->summary, &f->result.steps[i].d);
    if (v->given && v->golden.full.count) {
        if (look_at_layers(v, c, f, why, why_bytes)) return -1;
        verify_summary_add(&f->summary, &f->layers.all);
    }
    if (v->text) {
        int outcome = 0;
        if (!v->text_of_reference.scored) outcome = verify_text(v, NULL, &v->text_of_reference, why, why_bytes);
        if (!outcome) outcome = verify_text(v, c, &f->text[1], why, why_bytes);
        if (outcome) return outcome;
        f->text[0] = v->text_of_reference;
        f->summary.perplexity_rise = f->text[1].perplexity / f->text[0].perplexity - 1;
    }
    const bool outside = verify_verdict(&f->summary, &f->limits, f->verdict, sizeof f->verdict) != NULL;
    if (outside && !v->given && look_at_layers(v, c, f, why, why_bytes)) return -1;
    const size_t first = turns->count ? turns->turn[0].prompt : 0;
    if (v->options.no_paths || f->result.token_count <= first) return 0;
    if (verify_paths_run(v->tested[c->recipe][c->scale_in], &setup.options, f->result.tokens, first,
                         f->result.token_count, &f->paths, why, why_bytes))
        return -1;
    enum verify_way way;
    const double worst = verify_paths_worst(&f->paths, &way);
    if (!outside && !(100 * worst <= f->limits.peir))
        snprintf(f->verdict, sizeof f->verdict,
                 "the %s way ends %.3g %% (PEIR) from the decode loop, more than %.3g %%", verify_way_name(way),
                 100 * worst, f->limits.peir);
    return 0;
}

static struct sm_record *make_record(struct verify *v, const struct combination *c, const char *id,
                                     struct verify_findings *f)
{
    struct sm_record *record = sm_record_create("verify", id);
    double *ns = malloc((f->result.count + 1) * sizeof *ns);
    size_t decodes = 0, prompt = 0, gen = 0;
    if (!record || !ns) {
        sm_record_destroy(record);
        free(ns);
        return NULL;
    }
    for (size_t i = 0; i < v->options.turns.count; i++) {
        prompt += v->options.turns.turn[i].prompt;
        gen += v->options.turns.turn[i].gen;
    }
    for (size_t i = 0; i < f->result.count; i++)
        if (f->result.steps[i].phase == SM_PHASE_DECODE) ns[decodes++] = f->result.steps[i].ns;
    sm_record_set_json(record, "model", sm_source_json(&v->source));
    sm_record_set_string(record, "recipe", verify_recipe(v, c->recipe));
    sm_record_set_integer(record, "max_seq", (int64_t)v->session.max_seq);
    sm_record_set_string(record, "scale_in", f->scale_in);
    if (f->result.variants[0]) sm_record_set_string(record, "variant", f->result.variants);
    sm_record_set_string(record, "kv_type", sm_kv_name(c->kv));
    sm_record_set_integer(record, "n_prompt", (int64_t)prompt);
    sm_record_set_integer(record, "n_gen", (int64_t)gen);
    sm_record_set_integer(record, "threads", (int64_t)v->session.threads);
    sm_record_set_number(record, "load_s", v->source.model->open_s);
    sm_record_set_number(record, "pack_s", v->tested[c->recipe][c->scale_in]->pack_s);
    sm_conversions_record(record, v->tested[c->recipe][c->scale_in]);
    if (decodes && !f->verdict[0]) sm_record_set_numbers(record, "samples", ns, decodes); /* a time of a right answer */
    sm_record_put_json(record, "witnesses", "cpus", f->result.held ? sm_pin_json(&f->result.pin) : json_null());
    sm_record_put_json(record, "witnesses", "flags", f->result.held ? json_array() : json_pack("[s]", "unpinned"));
    sm_record_set_json(record, "quality", verify_findings_json(f));
    free(ns);
    return record;
}

static struct verify_limits limits_for(const struct verify *v, const struct combination *c)
{
    struct verify_limits l = verify_limits_standard(verify_recipe(v, c->recipe), c->kv, v->given);
    const struct verify_limits *asked = &v->options.limits;
    if (!isnan(asked->peir)) l.peir = asked->peir;
    if (!isnan(asked->mean)) l.mean = asked->mean;
    if (!isnan(asked->max)) l.max = asked->max;
    if (!isnan(asked->kl)) l.kl = asked->kl;
    if (!isnan(asked->argmax)) l.argmax = asked->argmax;
    if (!isnan(asked->perplexity)) l.perplexity = asked->perplexity;
    return l;
}

enum sm_case_outcome verify_case(void *context, const struct sm_case *c, struct sm_case_results *results, char *why,
                                 size_t why_bytes)
{
    struct verify *v = context;
    struct combination *combination = c->payload;
    struct verify_findings *f = calloc(1, sizeof *f);
    int outcome = -1;
    if (!f) {
        snprintf(why, why_bytes, "there is no memory to verify %s", c->id);
        return SM_CASE_BROKEN;
    }
    snprintf(v->out, sizeof v->out, "%s", sm_cases_out(results));
    sm_progress_begin(&v->progress, sm_cases_progress(&v->options.cases), c->seconds);
    v->progress.printed_s = v->progress.started_s; /* the list of cases has just said what is under way */
    f->against = v->against;
    f->fed = v->given ? "golden" : v->options.same_token ? "reference" : "tested";
    f->scale_in = sm_scale_in_name(combination->scale_in);
    f->text_name = v->options.text;
    f->limits = limits_for(v, combination);
    verify_summary_begin(&f->summary);
    if (!verify_prepare_weights(v, combination, why, why_bytes)) outcome = find(v, combination, f, why, why_bytes);
    sm_progress_clear(&v->progress);
    if (!outcome) sm_case_result(results, make_record(v, combination, c->id, f));
    const bool outside = f->verdict[0] != 0;
    verify_result_free(&f->result);
    verify_layers_free(&f->layers);
    free(f);
    return outcome > 0 ? SM_CASE_DROPPED : outcome ? SM_CASE_BROKEN : outside ? SM_CASE_WRONG : SM_CASE_DONE;
}
