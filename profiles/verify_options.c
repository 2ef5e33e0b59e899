#include "verify_options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bucket.h"

#define MOST_MAX_SEQ SM_MAX_SEQ
#define MOST_THREADS 1024
#define STEPS_PROMPT 32
#define STANDARD_STEPS 16
#define NOT_GIVEN INT64_MIN

static const char *const policies[] = {"smaller", "decode", "refuse", NULL};

/* --turns, --turns-file, or the one turn of --steps. */
static int settle_turns(struct verify_options *o, char *why, size_t why_bytes)
{
    const bool one = o->steps != NOT_GIVEN || o->prompt;
    if ((o->turns_text != NULL) + (o->turns_file != NULL) + one > 1) {
        snprintf(why, why_bytes, "--turns, --turns-file and --steps or --prompt say the same thing: give one");
        return -1;
    }
    if (o->prompt && o->tokens) {
        snprintf(why, why_bytes, "--prompt and --tokens cannot be given together");
        return -1;
    }
    if (o->turns_file) return sm_turns_read(o->turns_file, &o->turns, why, why_bytes);
    if (o->turns_text) return sm_turns_parse(o->turns_text, &o->turns, why, why_bytes);
    if (!one) return 0;
    if (o->steps == NOT_GIVEN) o->steps = STANDARD_STEPS;
    if (o->steps < 0 || o->steps > MOST_MAX_SEQ) {
        snprintf(why, why_bytes, "--steps goes from 0 to %d", MOST_MAX_SEQ);
        return -1;
    }
    o->turns = (struct sm_turns){1, {{STEPS_PROMPT, (size_t)o->steps}}};
    return 0;
}

static int check_buckets(const char *name, const struct sm_list *list, char *why, size_t why_bytes)
{
    bool wrong = list->count > SM_MAX_BUCKETS;
    for (size_t i = 0; i < list->count; i++) wrong |= list->value[i] < 1 || list->value[i] > MOST_MAX_SEQ;
    if (wrong) snprintf(why, why_bytes, "--%s takes at most %d sizes from 1 on", name, SM_MAX_BUCKETS);
    return wrong ? -1 : 0;
}

/* --limit peir=5,kl=0.1 */
static int read_limits(const struct sm_strings *texts, struct verify_limits *l, char *why, size_t why_bytes)
{
    static const char *const names[] = {"peir", "mean", "max", "kl", "argmax", "perplexity", NULL};
    double *const values[] = {&l->peir, &l->mean, &l->max, &l->kl, &l->argmax, &l->perplexity};
    for (size_t i = 0; i < texts->count; i++) {
        const char *one = texts->value[i], *equals = strchr(one, '=');
        char name[16], reason[160];
        int which;
        double value;
        snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - one) : 0, one);
        if (!equals || sm_parse_choice(name, names, &which, reason, sizeof reason) ||
            sm_parse_number(equals + 1, &value, reason, sizeof reason) || value < 0) {
            snprintf(why, why_bytes,
                     "--limit takes peir, mean, max, kl, argmax and perplexity with numbers from 0 on, as in "
                     "peir=5,kl=0.1; '%.60s' "
                     "is none of these",
                     one);
            return -1;
        }
        *values[which] = value;
    }
    return 0;
}

static int check(struct verify_options *o, char *why, size_t why_bytes)
{
    if (o->max_seq < 0 || o->max_seq == 1 || o->max_seq > MOST_MAX_SEQ || o->threads < 1 || o->threads > MOST_THREADS) {
        snprintf(why, why_bytes, "--max-seq goes from 2 to %d and --threads from 1 to %d", MOST_MAX_SEQ, MOST_THREADS);
        return -1;
    }
    if (o->stride < 0 || o->text_most < 0 || o->text_most == 1 || (!o->text && (o->stride || o->text_most))) {
        snprintf(why, why_bytes, "--stride and --text-most are for --text: numbers from 1 and from 2 on");
        return -1;
    }
    if (o->recipes.count > VERIFY_MOST_RECIPES) {
        snprintf(why, why_bytes, "--recipe takes at most %d names", VERIFY_MOST_RECIPES);
        return -1;
    }
    for (size_t i = 0; i < o->recipes.count; i++)
        if ((o->recipe_index[i] = sm_choices_recipe(o->recipes.value[i], why, why_bytes)) < 0) return -1;
    if (sm_choices_synthetic(o->synthetic_name, &o->synthetic_format, why, why_bytes)) return -1;
    return check_buckets("buckets", &o->buckets, why, why_bytes) ||
                   check_buckets("prefill-buckets", &o->prefill_buckets, why, why_bytes) ||
                   settle_turns(o, why, why_bytes) || read_limits(&o->limit_texts, &o->limits, why, why_bytes) ||
                   sm_choices_forced(&o->variants, &o->forced, why, why_bytes)
               ? -1
               : 0;
}

static void standards(struct verify_options *o, char *why, size_t why_bytes)
{
    *o = (struct verify_options){.cases = SM_CASE_OPTIONS,
                                 .steps = NOT_GIVEN,
                                 .token_seed = 1,
                                 .threads = sm_choices_cpus(),
                                 .limits = {NAN, NAN, NAN, NAN, NAN, NAN},
                                 .synthetic_name = "Q4_0"};
    o->cases.command = "verify";
    sm_parse_strings("f16", &o->kv, NULL, why, why_bytes);
    sm_parse_strings("scores", &o->scale_in, NULL, why, why_bytes);
    sm_parse_strings("native", &o->recipes, NULL, why, why_bytes);
}

enum sm_arguments_result verify_options_parse(struct verify_options *o, int argc, char **argv, const char **model,
                                              char *why, size_t why_bytes)
{
    static const char *const formats[] = {"md", "csv", "json", "jsonl", NULL};
    const char *kv_types[SM_KV_TYPES + 1] = {NULL};
    for (int i = 0; i < SM_KV_TYPES; i++) kv_types[i] = sm_kv_name((enum sm_kv_type)i);
    const char *places[SM_SCALE_INS + 1] = {NULL};
    for (int i = 0; i < SM_SCALE_INS; i++) places[i] = sm_scale_in_name((enum sm_scale_in)i);
    standards(o, why, why_bytes);
    const struct sm_argument options[] = {
        {"against", 0, SM_ARGUMENT_STRING, &o->against, NULL, "REFERENCE",
         "float (default), a golden *.safetensors, or another model"},
        {"recipe", 0, SM_ARGUMENT_STRINGS, &o->recipes, NULL, "LIST", "recipes to verify (default native)"},
        {"kv", 0, SM_ARGUMENT_STRINGS, &o->kv, kv_types, "LIST", "KV types to verify (default f16)"},
        {"scale-in", 0, SM_ARGUMENT_STRINGS, &o->scale_in, places, "LIST", "attention scale: scores (default), q, k"},
        SM_MODEL_ARGUMENTS(o),
        {"variant", 0, SM_ARGUMENT_STRINGS, &o->variants, NULL, "LIST", "force FAMILY=VARIANT on the tested side"},
        {"turns", 0, SM_ARGUMENT_STRING, &o->turns_text, NULL, "LIST",
         "PROMPT+GENERATED,... (default " VERIFY_STANDARD_TURNS ", or the golden's)"},
        {"turns-file", 0, SM_ARGUMENT_STRING, &o->turns_file, NULL, "FILE", "the same: two numbers a line, # comments"},
        {"steps", 0, SM_ARGUMENT_INTEGER, &o->steps, NULL, "N", "instead: one prompt of 32 tokens and N decode steps"},
        {"prompt", 0, SM_ARGUMENT_STRING, &o->prompt, NULL, "TEXT", "of that one turn (16 steps unless said)"},
        {"max-seq", 0, SM_ARGUMENT_INTEGER, &o->max_seq, NULL, "K", "static context (default: what the turns need)"},
        {"buckets", 0, SM_ARGUMENT_LIST, &o->buckets, NULL, "LIST", "append buckets (default 8,32)"},
        {"prefill-buckets", 0, SM_ARGUMENT_LIST, &o->prefill_buckets, NULL, "LIST", "(default: max_seq alone)"},
        {"when-full", 0, SM_ARGUMENT_CHOICE, &o->when_full, policies, "POLICY", "smaller (default), decode, refuse"},
        {"tokens", 0, SM_ARGUMENT_STRING, &o->tokens, NULL, "FILE", "prompt tokens as numbers (default: from a seed)"},
        {"text", 0, SM_ARGUMENT_STRING, &o->text, NULL, "FILE",
         "perplexity over a text (*.tokens: numbers), windows of max_seq"},
        {"stride", 0, SM_ARGUMENT_INTEGER, &o->stride, NULL, "N", "of its windows (default: half of them)"},
        {"text-most", 0, SM_ARGUMENT_INTEGER, &o->text_most, NULL, "N", "its first N tokens (default: all)"},
        {"same-token", 0, SM_ARGUMENT_FLAG, &o->same_token, NULL, NULL,
         "feed both sides the reference's tokens, not the tested's"},
        {"no-paths", 0, SM_ARGUMENT_FLAG, &o->no_paths, NULL, NULL,
         "skip: chunks = one bucket = decode loop = prefill"},
        {"limit", 0, SM_ARGUMENT_STRINGS, &o->limit_texts, NULL, "LIST",
         "peir=%, mean=, max=, kl=nats, argmax=%, perplexity=%"},
        {"threads", 0, SM_ARGUMENT_INTEGER, &o->threads, NULL, "N", "team size (default: all CPUs)"},
        {"output", 'o', SM_ARGUMENT_CHOICE, &o->format, formats, "FORMAT", "md (default), csv, json, jsonl"},
        SM_CASE_ARGUMENTS(&o->cases),
        SM_ARGUMENTS_END,
    };
    const struct sm_arguments spec = {
        .command = "verify",
        .usage = "[OPTION]... [MODEL]",
        .summary = "Says how far a model's logits are from a reference. Exit status 1: outside the limits.",
        .options = options,
        .example = "slotmark verify model.gguf --recipe native,float --kv f16,i8 --turns 100+20,30+10",
        .operands_most = 1,
    };
    struct sm_arguments_rest rest = {0};
    const enum sm_arguments_result result = sm_arguments_parse(&spec, argc, argv, &rest, why, why_bytes);
    if (result == SM_ARGUMENTS_HELP) sm_arguments_help(&spec, stdout);
    if (result != SM_ARGUMENTS_OK) return result;
    *model = rest.operand_count ? rest.operands[0] : NULL;
    return check(o, why, why_bytes) ? SM_ARGUMENTS_BAD : SM_ARGUMENTS_OK;
}
