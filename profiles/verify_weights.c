/* What a verification makes of models before it runs them: weights by recipe, static scales, the tokens of a text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cpu.h"
#include "tokenizer.h"
#include "tokens.h"
#include "verify_state.h"

#define MOST_TEXT_BYTES (64u << 20)
#define CALIBRATION_WINDOW 256
#define CALIBRATION_TOKENS 2048

const char *verify_recipe(const struct verify *v, size_t recipe)
{
    return sm_recipe_name((size_t)v->options.recipe_index[recipe]);
}

static int pack(struct sm_weights **weights, const struct sm_model *model, const char *recipe,
                const struct sm_choice *choice, char *why, size_t why_bytes)
{
    if (*weights) return 0;
    const uint64_t begin = sm_clock_ns();
    if (sm_weights_create(weights, model, recipe, choice, why, why_bytes)) return -1;
    (*weights)->pack_s = (double)(sm_clock_ns() - begin) * 1e-9;
    return 0;
}

/* Scales from the beginning of the text, or from the prompts where there is none. */
static int calibrate(struct verify *v, size_t recipe, const struct sm_choice *choice, char *why, size_t why_bytes)
{
    const struct sm_model *model = v->source.model;
    const struct sm_calibration how = {.window = CALIBRATION_WINDOW, .threads = v->session.threads};
    const int32_t *tokens = v->text ? v->text : v->prompts;
    const size_t count = v->text ? v->text_count : v->prompt_count;
    if (v->scales[recipe]) return 0;
    if (sm_scales_measure(&v->scales[recipe], model, verify_recipe(v, recipe), choice, tokens,
                          count < CALIBRATION_TOKENS ? count : CALIBRATION_TOKENS, &how, why, why_bytes))
        return -1;
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
    choice.scales = v->scales[c->recipe];
    if (pack(&v->tested[c->recipe][c->scale_in], v->source.model, recipe, &choice, why, why_bytes)) return -1;
    if (v->given) return 0;
    return pack(&v->reference, v->other.model ? v->other.model : v->source.model, "float", &plain, why, why_bytes);
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

/* The bytes of a file, NUL-ended: NULL and a sentence when it cannot be had. */
static char *read_file(const char *path, size_t *bytes, char *why, size_t why_bytes)
{
    FILE *in = fopen(path, "rb");
    char *text = NULL;
    size_t used = 0, room = 0;
    while (in && used <= MOST_TEXT_BYTES) {
        if (used + 1 >= room) {
            room = room ? 2 * room : 65536;
            char *more = realloc(text, room);
            if (!more) break;
            text = more;
        }
        const size_t n = fread(text + used, 1, room - used - 1, in);
        used += n;
        if (n == 0) break;
    }
    const bool whole = in && feof(in) && used;
    if (in) fclose(in);
    if (whole) {
        text[used] = 0;
        *bytes = used;
        return text;
    }
    free(text);
    snprintf(why, why_bytes, "cannot read a text of 1 to %u bytes from '%s'", MOST_TEXT_BYTES, path);
    return NULL;
}

static int encode(struct verify *v, const char *path, char *why, size_t why_bytes)
{
    struct sm_tokenizer *tokenizer = NULL;
    size_t bytes = 0;
    int failed = -1;
    char *text = read_file(path, &bytes, why, why_bytes);
    if (!text) return -1;
    if (!v->source.model->file)
        snprintf(why, why_bytes,
                 "synthetic weights have no tokenizer for '%s': give its tokens as numbers, in *.tokens", path);
    else if (!sm_tokenizer_open(&tokenizer, v->source.model->file, why, why_bytes) &&
             !sm_tokenizer_fits(tokenizer, v->source.model->shape.vocab, why, why_bytes))
        failed = sm_tokenizer_encode(tokenizer, text, bytes, SM_ENCODE_ADD_SPECIAL, &v->text, &v->text_count, why,
                                     why_bytes);
    if (!failed) {
        const int32_t bos = sm_tokenizer_mark(tokenizer, SM_MARK_BOS);
        if (v->text_count && v->text[0] == bos) v->text_begin = bos;
    }
    sm_tokenizer_close(tokenizer);
    free(text);
    return failed;
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
            : encode(v, o->text, why, why_bytes))
        return -1;
    if (o->text_most && v->text_count > (size_t)o->text_most) v->text_count = (size_t)o->text_most;
    if (v->text_count >= 2) return 0;
    snprintf(why, why_bytes, "'%s' has %zu token, and a perplexity needs 2", o->text, v->text_count);
    return -1;
}
