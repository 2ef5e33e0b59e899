/* slotmark scales: static scales of activations from a text, for the recipes on int16 rows. */
#include "scales_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arguments.h"
#include "choices.h"
#include "clock.h"
#include "cpu.h"
#include "preparing.h"
#include "progress.h"
#include "prompt.h"
#include "static_scales.h"
#include "tokens.h"

struct options {
    const char *text, *tokens, *out, *recipe, *synthetic_name;
    int64_t window, most, threads, token_seed;
    double momentum;
    bool overwrite, quiet;
    enum sm_format synthetic_format;
};

static enum sm_arguments_result parse(struct options *o, int argc, char **argv, const char **model, char *why,
                                      size_t why_bytes)
{
    const struct sm_argument options[] = {
        {"text", 0, SM_ARGUMENT_STRING, &o->text, NULL, "FILE", "text that the model's own tokenizer makes tokens of"},
        {"tokens", 0, SM_ARGUMENT_STRING, &o->tokens, NULL, "FILE", "tokens as numbers, instead"},
        {"recipe", 0, SM_ARGUMENT_STRING, &o->recipe, NULL, "NAME", "whose weights run (default w4c-a16)"},
        {"out", 'o', SM_ARGUMENT_STRING, &o->out, NULL, "FILE", "(default results/scales/MODEL-RECIPE.json)"},
        {"overwrite", 0, SM_ARGUMENT_FLAG, &o->overwrite, NULL, NULL, "replace the file where there is one"},
        {"window", 0, SM_ARGUMENT_INTEGER, &o->window, NULL, "N", "tokens of a prefill (default 512)"},
        {"most", 0, SM_ARGUMENT_INTEGER, &o->most, NULL, "N", "tokens of the text to run at most (default 16384)"},
        {"momentum", 0, SM_ARGUMENT_NUMBER, &o->momentum, NULL, "X",
         "average the windows' largest, keeping X of what was (default 0: the largest of all)"},
        {"threads", 0, SM_ARGUMENT_INTEGER, &o->threads, NULL, "N", "(default: all CPUs)"},
        {"token-seed", 0, SM_ARGUMENT_INTEGER, &o->token_seed, NULL, "N",
         "of synthetic weights, and of their tokens where no file is given (default 1)"},
        {"synthetic-format", 0, SM_ARGUMENT_STRING, &o->synthetic_name, NULL, "FORMAT",
         "of a shape's weights: Q4_0 (default), Q4_1, Q8_0, F32"},
        {"quiet", 0, SM_ARGUMENT_FLAG, &o->quiet, NULL, NULL, "no progress"},
        SM_ARGUMENTS_END,
    };
    const struct sm_arguments spec = {
        .command = "scales",
        .usage = "[OPTION]... [MODEL]",
        .summary = "Runs a text through a model in float, with the weights as the recipe makes them, and writes the\n"
                   "largest magnitude of each tensor that int16 activations and an int16 cache need a scale for.\n"
                   "profile and verify find the file by MODEL and RECIPE.",
        .options = options,
        .example = "slotmark scales model.gguf --text wiki.txt\nslotmark profile model.gguf --recipe w4c-a16 --kv i16",
        .operands_most = 1,
    };
    struct sm_arguments_rest rest = {0};
    const enum sm_arguments_result result = sm_arguments_parse(&spec, argc, argv, &rest, why, why_bytes);
    if (result == SM_ARGUMENTS_HELP) sm_arguments_help(&spec, stdout);
    if (result != SM_ARGUMENTS_OK) return result;
    *model = rest.operand_count ? rest.operands[0] : NULL;
    if (o->text && o->tokens)
        snprintf(why, why_bytes, "--text and --tokens cannot be given together");
    else if (o->window < 1 || o->window > 65536 || o->most < 1 || o->most > 1 << 24)
        snprintf(why, why_bytes, "--window goes from 1 to 65536 and --most from 1 to %d", 1 << 24);
    else if (o->threads < 1 || o->threads > 1024 || !(o->momentum >= 0 && o->momentum < 1))
        snprintf(why, why_bytes, "--threads goes from 1 to 1024 and --momentum from 0 to below 1");
    else if (!sm_choices_synthetic(o->synthetic_name, &o->synthetic_format, why, why_bytes) &&
             sm_choices_recipe(o->recipe, why, why_bytes) >= 0)
        return SM_ARGUMENTS_OK;
    return SM_ARGUMENTS_BAD;
}

/* The tokens that run: of a text, of a file of numbers, or for synthetic weights of a seed. */
static int get_tokens(const struct options *o, const struct sm_source *source, int32_t **tokens, size_t *count,
                      size_t *text_bytes, char *why, size_t why_bytes)
{
    const struct sm_model *m = source->model;
    if (o->tokens) return sm_tokens_read(o->tokens, m->shape.vocab, tokens, count, why, why_bytes);
    if (!o->text && m->synthetic) {
        *count = (size_t)o->window;
        *tokens = sm_tokens_random(*count, m->shape.vocab, (uint64_t)o->token_seed);
        if (!*tokens) snprintf(why, why_bytes, "there is no memory for %zu tokens", *count);
        return *tokens ? 0 : -1;
    }
    if (!o->text || !m->file) {
        snprintf(why, why_bytes,
                 m->file ? "what is to run through the model? --text FILE or --tokens FILE says it"
                         : "synthetic weights have no tokenizer for a text: --tokens FILE, or neither");
        return -1;
    }
    char *text = NULL;
    struct sm_tokenizer *tokenizer = NULL;
    const int bad = sm_prompt_read(o->text, &text, text_bytes, why, why_bytes) ||
                    sm_prompt_tokenizer(&tokenizer, m, why, why_bytes) ||
                    sm_prompt_tokens(tokenizer, text, *text_bytes, SM_ENCODE_ADD_SPECIAL | SM_ENCODE_PLAIN, tokens,
                                     count, why, why_bytes);
    sm_tokenizer_close(tokenizer);
    free(text);
    return bad ? -1 : 0;
}

struct shown {
    struct sm_progress progress;
    size_t total;
};

static bool show(void *state, size_t tokens)
{
    struct shown *s = state;
    char text[64];
    snprintf(text, sizeof text, "token %zu of %zu", tokens, s->total);
    sm_progress_show(&s->progress, s->progress.total_s * (double)tokens / (double)s->total, text);
    return false;
}

static int measure(struct sm_static_scales *s, const struct options *o, const struct sm_source *source, char *why,
                   size_t why_bytes)
{
    int32_t *tokens = NULL;
    size_t count = 0, text_bytes = 0;
    struct shown shown = {.total = 0};
    struct sm_preparing packing;
    const struct sm_choice choice = {
        .features = sm_cpu_features(), .packed = sm_preparing_show, .packed_state = &packing};
    const struct sm_calibration how = {.window = (size_t)o->window,
                                       .threads = (size_t)o->threads,
                                       .momentum = o->momentum,
                                       .progress = show,
                                       .state = &shown};
    int bad = get_tokens(o, source, &tokens, &count, &text_bytes, why, why_bytes);
    if (!bad) {
        if (count > (size_t)o->most) count = (size_t)o->most;
        shown.total = count;
        sm_preparing_begin(&packing, o->quiet ? NULL : stderr, "packing weights");
        sm_progress_begin(&shown.progress, o->quiet ? NULL : stderr, (double)count * source->model->parameters / 2e10);
        bad = sm_scales_measure(&s->scales, source->model, o->recipe, &choice, tokens, count, &how, why, why_bytes);
        sm_preparing_end(&packing);
        sm_progress_clear(&shown.progress);
    }
    if (!bad)
        s->facts = sm_static_scales_facts(source, o->recipe, o->text ? o->text : o->tokens, text_bytes, count,
                                          (size_t)o->window, o->momentum);
    if (!bad && !s->facts) {
        snprintf(why, why_bytes, "there is no memory for the scales");
        bad = -1;
    }
    free(tokens);
    return bad;
}

int scales_main(int argc, char **argv)
{
    char why[1024] = "", path[512];
    const char *model = NULL;
    struct options o = {.recipe = "w4c-a16",
                        .synthetic_name = "Q4_0",
                        .window = 512,
                        .most = 16384,
                        .threads = sm_choices_cpus(),
                        .token_seed = 1};
    struct sm_source source = {0};
    struct sm_static_scales scales = {0};
    const enum sm_arguments_result parsed = parse(&o, argc, argv, &model, why, sizeof why);
    if (parsed == SM_ARGUMENTS_HELP) return 0;
    int bad = parsed == SM_ARGUMENTS_BAD || sm_source_open(&source, model, o.synthetic_format, (uint64_t)o.token_seed,
                                                           o.quiet ? NULL : stderr, why, sizeof why);
    if (!bad) {
        sm_static_scales_path(&source, o.recipe, path, sizeof path);
        if (!o.out) o.out = path;
        struct stat facts;
        if (!o.overwrite && !stat(o.out, &facts)) { /* said before anything runs */
            snprintf(why, sizeof why, "there is a file '%s' already; --overwrite replaces it", o.out);
            bad = 1;
        }
    }
    if (!bad) bad = measure(&scales, &o, &source, why, sizeof why);
    if (!bad) bad = sm_static_scales_save(&scales, o.out, o.overwrite, why, sizeof why);
    if (bad)
        fprintf(stderr, "slotmark scales: %s\n", why);
    else
        printf("scales: %s\n", o.out);
    sm_static_scales_free(&scales);
    sm_source_close(&source);
    return bad ? 2 : 0;
}
