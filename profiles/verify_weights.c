/* What a verification makes of models before it runs them: weights by recipe, static scales, the tokens of a text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cpu.h"
#include "preparing.h"
#include "prompt.h"
#include "static_scales.h"
#include "tokens.h"
#include "verify_state.h"

#define CALIBRATION_WINDOW 256
#define CALIBRATION_TOKENS 2048

const char *verify_recipe(const struct verify *v, size_t recipe)
{
    return sm_recipe_name((size_t)v->options.recipe_index[recipe]);
}

static int pack(struct sm_weights **weights, const struct sm_model *model, const char *recipe,
                const struct sm_choice *choice, FILE *progress, char *why, size_t why_bytes)
{
    if (*weights) return 0;
    struct sm_preparing packing;
    struct sm_choice with = *choice;
    const uint64_t begin = sm_clock_ns();
    sm_preparing_begin(&packing, progress, "packing weights");
    with.packed = sm_preparing_show;
    with.packed_state = &packing;
    const int failed = sm_weights_create(weights, model, recipe, &with, why, why_bytes);
    sm_preparing_end(&packing);
    if (failed) return -1;
    (*weights)->pack_s = (double)(sm_clock_ns() - begin) * 1e-9;
    return 0;
}

/* Scales from the file that was named or is where they are looked for; else from the beginning of the text, or from the
 * prompts where there is none. */
static int calibrate(struct verify *v, size_t recipe, const struct sm_choice *choice, char *why, size_t why_bytes)
{
    const struct sm_model *model = v->source.model;
    const struct sm_calibration how = {.window = CALIBRATION_WINDOW, .threads = v->session.threads};
    const int32_t *tokens = v->text ? v->text : v->prompts;
    const size_t count = v->text ? v->text_count : v->prompt_count;
    const size_t some = count < CALIBRATION_TOKENS ? count : CALIBRATION_TOKENS;
    struct sm_static_scales found;
    if (v->scales[recipe]) return 0;
    if (sm_static_scales_find(&found, &v->source, verify_recipe(v, recipe), v->options.scales, why, why_bytes))
        return -1;
    v->scales[recipe] = found.scales;
    json_decref(found.facts);
    if (!found.scales && sm_scales_measure(&v->scales[recipe], model, verify_recipe(v, recipe), choice, tokens, some,
                                           &how, why, why_bytes))
        return -1;
    if (!found.scales)
        snprintf(v->scales[recipe]->from, sizeof v->scales[recipe]->from, "made for this run from %zu tokens of %s",
                 some, v->text ? "its text" : "its prompts");
    v->kv_scales[recipe] = calloc(model->shape.layers, sizeof *v->kv_scales[recipe]);
    if (v->kv_scales[recipe]) {
        sm_scales_kv(v->scales[recipe], v->kv_scales[recipe]);
        return 0;
    }
    snprintf(why, why_bytes, "there is no memory for the scales of %zu layers", model->shape.layers);
    return -1;
}

int verify_prepare_weights(struct verify *v, const struct combination *c, char *why, size_t why_bytes)
{
    const struct sm_forced_list *forced = &v->options.forced;
    struct sm_choice choice = {
        .features = sm_cpu_features(), .forced = forced->list, .forced_count = forced->count, .scale_in = c->scale_in};
    const char *recipe = verify_recipe(v, c->recipe);
    const struct sm_choice plain = {.features = sm_cpu_features()};
    if ((c->kv == SM_KV_I16 || sm_recipe_needs_scales(recipe)) && calibrate(v, c->recipe, &plain, why, why_bytes))
        return -1;
    FILE *progress = sm_cases_progress(&v->options.cases);
    choice.scales = v->scales[c->recipe];
    if (pack(&v->tested[c->recipe][c->scale_in], v->source.model, recipe, &choice, progress, why, why_bytes)) return -1;
    if (v->given) return 0;
    return pack(&v->reference, v->other.model ? v->other.model : v->source.model, "float", &plain, progress, why,
                why_bytes);
}

void verify_free_weights(struct verify *v)
{
    for (size_t r = 0; r < VERIFY_MOST_RECIPES; r++) {
        for (int s = 0; s < SM_SCALE_INS; s++) sm_weights_destroy(v->tested[r][s]);
        sm_scales_destroy(v->scales[r]);
        free(v->kv_scales[r]);
    }
    sm_weights_destroy(v->reference);
    free(v->text);
}

static bool show_text_progress(void *state, const struct sm_perplexity_progress *p)
{
    struct verify *v = state;
    char text[64];
    snprintf(text, sizeof text, "text: row %zu of %zu", p->done, p->total);
    sm_progress_show(&v->progress, (double)p->done / (double)p->total * v->progress.total_s, text);
    return !sm_cases_interrupted();
}

int verify_text(struct verify *v, const struct combination *c, struct sm_perplexity *result, char *why,
                size_t why_bytes)
{
    struct sm_perplexity_options options = {.session = v->session,
                                            .stride = (size_t)v->options.stride,
                                            .begin = v->text_begin,
                                            .progress = show_text_progress,
                                            .state = v};
    options.session.kv = c ? c->kv : SM_KV_F32;
    options.session.kv_scales = c ? (const float(*)[2])v->kv_scales[c->recipe] : NULL;
    if (sm_perplexity(c ? v->tested[c->recipe][c->scale_in] : v->reference, v->text, v->text_count, &options, result,
                      NULL, why, why_bytes))
        return -1;
    return result->interrupted ? 1 : 0;
}

/* Text as the model's tokenizer reads it, what the model wants around every text included. */
static int encode(struct verify *v, const char *text, size_t bytes, int32_t **tokens, size_t *count, char *why,
                  size_t why_bytes)
{
    struct sm_tokenizer *tokenizer = NULL;
    if (sm_prompt_tokenizer(&tokenizer, v->source.model, why, why_bytes)) return -1;
    const int failed = sm_prompt_tokens(tokenizer, text, bytes, SM_ENCODE_ADD_SPECIAL, tokens, count, why, why_bytes);
    const int32_t bos = sm_tokenizer_mark(tokenizer, SM_MARK_BOS);
    v->text_begin = !failed && (*tokens)[0] == bos ? bos : -1;
    sm_tokenizer_close(tokenizer);
    return failed;
}

static int encode_file(struct verify *v, const char *path, char *why, size_t why_bytes)
{
    char *text = NULL;
    size_t bytes;
    if (sm_prompt_read(path, &text, &bytes, why, why_bytes)) return -1;
    const int failed = encode(v, text, bytes, &v->text, &v->text_count, why, why_bytes);
    free(text);
    return failed;
}

int verify_read_prompt(struct verify *v, char *why, size_t why_bytes)
{
    const char *prompt = v->options.prompt;
    if (!prompt) return 0;
    if (encode(v, prompt, strlen(prompt), &v->prompts, &v->prompt_count, why, why_bytes)) return -1;
    if (v->prompt_count <= SM_TURN_MOST_TOKENS) {
        v->options.turns.turn[0].prompt = v->prompt_count;
        return 0;
    }
    snprintf(why, why_bytes, "the prompt has %zu tokens: more than %d", v->prompt_count, SM_TURN_MOST_TOKENS);
    return -1;
}

int verify_read_text(struct verify *v, char *why, size_t why_bytes)
{
    const struct verify_options *o = &v->options;
    const char *dot = o->text ? strrchr(o->text, '.') : NULL;
    v->text_begin = -1;
    if (!o->text) return 0;
    if (v->given) {
        snprintf(why, why_bytes, "--text needs a reference that can read it, and '%s' is a list of logits", v->against);
        return -1;
    }
    if (dot && !strcmp(dot, ".tokens")
            ? sm_tokens_read(o->text, v->source.model->shape.vocab, &v->text, &v->text_count, why, why_bytes)
            : encode_file(v, o->text, why, why_bytes))
        return -1;
    if (o->text_most && v->text_count > (size_t)o->text_most) v->text_count = (size_t)o->text_most;
    if (v->text_count >= 2) return 0;
    snprintf(why, why_bytes, "'%s' has %zu token, and a perplexity needs 2", o->text, v->text_count);
    return -1;
}
