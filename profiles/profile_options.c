#include "profile_options.h"

#include <stdio.h>
#include <string.h>

#include "cache.h"

#include "bucket.h"
#include "count_trial.h"
#include "rows.h"

#define MOST_MAX_SEQ 1048576
#define MOST_THREADS 1024
#define STANDARD_GEN 64
#define STANDARD_COUNTED 4 /* under callgrind a token takes a hundred times as long */
#define NOT_GIVEN INT64_MIN

static int check_range(const char *what, const struct sm_list *list, int64_t least, int64_t most, char *why,
                       size_t why_bytes)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->value[i] < least || list->value[i] > most) {
            snprintf(why, why_bytes, "--%s %lld is out of range: it goes from %lld to %lld", what,
                     (long long)list->value[i], (long long)least, (long long)most);
            return -1;
        }
    return 0;
}

/* --turns or --turns-file, and what only has a meaning beside them. */
static int check_turns(struct profile_options *o, char *why, size_t why_bytes)
{
    if (!o->turns_text && !o->turns_file) {
        if (!o->buckets.count && !o->prefill_buckets.count && !o->when_full) return 0;
        snprintf(why, why_bytes,
                 "--buckets, --prefill-buckets and --when-full are for sessions of turns: give --turns");
        return -1;
    }
    if (o->turns_text && o->turns_file) {
        snprintf(why, why_bytes, "--turns and --turns-file cannot be given together");
        return -1;
    }
    if (o->prompt.count || o->gen != NOT_GIVEN || o->padding || o->print_tokens || o->show) {
        snprintf(why, why_bytes,
                 "--turns says what comes in and goes out: --prompt-len, --gen, --padding, --print-tokens and "
                 "--show cannot stand beside it");
        return -1;
    }
    if (o->buckets.count > SM_MAX_BUCKETS || o->prefill_buckets.count > SM_MAX_BUCKETS) {
        snprintf(why, why_bytes, "--buckets and --prefill-buckets take at most %d sizes each", SM_MAX_BUCKETS);
        return -1;
    }
    if (check_range("buckets", &o->buckets, 1, MOST_MAX_SEQ, why, why_bytes) ||
        check_range("prefill-buckets", &o->prefill_buckets, 1, MOST_MAX_SEQ, why, why_bytes))
        return -1;
    return o->turns_text ? sm_turns_parse(o->turns_text, &o->turns, why, why_bytes)
                         : sm_turns_read(o->turns_file, &o->turns, why, why_bytes);
}

/* A prompt is said once. */
static int check_prompt(const struct profile_options *o, char *why, size_t why_bytes)
{
    const char *given[4];
    size_t count = 0;
    if (o->prompt.count) given[count++] = "--prompt-len";
    if (o->tokens) given[count++] = "--tokens";
    if (o->text) given[count++] = "--prompt";
    if (o->text_file) given[count++] = "--prompt-file";
    if (count > 1)
        snprintf(why, why_bytes, "%s and %s cannot be given together: the prompt is one or the other", given[0],
                 given[1]);
    else if (o->chat && !o->text && !o->text_file)
        snprintf(why, why_bytes, "--chat puts turn markers around a text: give --prompt or --prompt-file");
    else if (o->text && *o->text && !o->text[strspn(o->text, "0123456789,")])
        snprintf(why, why_bytes,
                 "--prompt takes a text: for a prompt of so many tokens say --prompt-len %s (and for a text of digits "
                 "--prompt-file)",
                 o->text);
    else
        return 0;
    return -1;
}

static int check(struct profile_options *o, char *why, size_t why_bytes)
{
    if (check_range("max-seq", &o->max_seq, 2, MOST_MAX_SEQ, why, why_bytes) ||
        check_range("prompt-len", &o->prompt, 1, MOST_MAX_SEQ, why, why_bytes) ||
        check_range("threads", &o->threads, 1, MOST_THREADS, why, why_bytes) || check_turns(o, why, why_bytes))
        return -1;
    if (o->count &&
        (o->turns_text || o->turns_file || o->trace || o->show || o->print_tokens || o->format == SM_ROWS_SQL)) {
        snprintf(why, why_bytes,
                 "--count counts prefill and decode: --turns, --trace, --show, --print-tokens and -o sql "
                 "cannot stand beside it");
        return -1;
    }
    o->gen_standard = o->gen == NOT_GIVEN;
    if (o->gen_standard) o->gen = o->count ? STANDARD_COUNTED : STANDARD_GEN;
    if (o->gen < 0 || o->gen > MOST_MAX_SEQ || o->reps < 1 || o->reps > 10000) {
        snprintf(why, why_bytes, "--gen goes from 0 to %d and --reps from 1 to 10000", MOST_MAX_SEQ);
        return -1;
    }
    if (check_prompt(o, why, why_bytes)) return -1;
    if (o->recipes.count > PROFILE_MOST_RECIPES) {
        snprintf(why, why_bytes, "--recipe takes at most %d names", PROFILE_MOST_RECIPES);
        return -1;
    }
    for (size_t i = 0; i < o->recipes.count; i++)
        if ((o->recipe_index[i] = sm_choices_recipe(o->recipes.value[i], why, why_bytes)) < 0) return -1;
    if (sm_choices_synthetic(o->synthetic_name, &o->synthetic_format, why, why_bytes)) return -1;
    if (sm_choices_forced(&o->variants, &o->forced, why, why_bytes)) return -1;
    for (size_t i = 0; o->count && i < o->forced.count; i++) {
        const struct sm_forced *one = &o->forced.list[i];
        const struct sm_variant *v = sm_variant_named(sm_family_named(one->family), one->variant); /* both are known */
        if (!(v->needs & ~SM_COUNT_TRIAL_FEATURES)) continue;
        snprintf(why, why_bytes, "--count: %s/%s needs %s instructions, which valgrind cannot run", one->family,
                 v->name, v->isa);
        return -1;
    }
    return 0;
}

enum sm_arguments_result profile_options_parse(struct profile_options *o, int argc, char **argv, const char **model,
                                               char *why, size_t why_bytes)
{
    const char *kv_types[SM_KV_TYPES + 1] = {NULL}, *places[SM_SCALE_INS + 1] = {NULL};
    static const char *const policies[] = {"smaller", "decode", "refuse", NULL};
    static const char *const sides[] = {"right", "left", NULL};
    const int64_t cpus = sm_choices_cpus();
    *o = (struct profile_options){.cases = SM_CASE_OPTIONS,
                                  .max_seq = SM_LIST(512, 2048),
                                  .threads = SM_LIST(1),
                                  .gen = NOT_GIVEN,
                                  .reps = 5,
                                  .token_seed = 1,
                                  .synthetic_name = "Q4_0"};
    o->cases.command = "profile";
    if (cpus > 1) o->threads.value[o->threads.count++] = cpus;
    for (int i = 0; i < SM_KV_TYPES; i++) kv_types[i] = sm_kv_name((enum sm_kv_type)i);
    for (int i = 0; i < SM_SCALE_INS; i++) places[i] = sm_scale_in_name((enum sm_scale_in)i);
    sm_parse_strings("f16", &o->kv, kv_types, why, why_bytes);
    sm_parse_strings("scores", &o->scale_in, places, why, why_bytes);
    sm_parse_strings("native", &o->recipes, NULL, why, why_bytes);
    sm_parse_strings("core,software", &o->counters, NULL, why, why_bytes);
    const struct sm_argument options[] = {
        {"max-seq", 0, SM_ARGUMENT_LIST, &o->max_seq, NULL, "LIST",
         "static contexts, e.g. 512,2048 (default) or 256..4096*2"},
        {"prompt-len", 0, SM_ARGUMENT_LIST, &o->prompt, NULL, "LIST",
         "real tokens of the prompt (default: half of max_seq, <= 512)"},
        {"gen", 0, SM_ARGUMENT_INTEGER, &o->gen, NULL, "N", "tokens to decode (default 64; 4 with --count)"},
        {"turns", 0, SM_ARGUMENT_STRING, &o->turns_text, NULL, "LIST",
         "a session instead: PROMPT+GENERATED of each turn, 300+40,12+80"},
        {"turns-file", 0, SM_ARGUMENT_STRING, &o->turns_file, NULL, "FILE", "the same: two numbers a line, # comments"},
        {"buckets", 0, SM_ARGUMENT_LIST, &o->buckets, NULL, "LIST", "append buckets of a session (default: none)"},
        {"prefill-buckets", 0, SM_ARGUMENT_LIST, &o->prefill_buckets, NULL, "LIST",
         "prefill buckets of a session (default: max_seq)"},
        {"when-full", 0, SM_ARGUMENT_CHOICE, &o->when_full, policies, "POLICY",
         "no bucket fits: smaller (default), decode, refuse"},
        {"kv", 0, SM_ARGUMENT_STRINGS, &o->kv, kv_types, "LIST", "types of the KV cache: f32, f16 (default), i8, i16"},
        {"scale-in", 0, SM_ARGUMENT_STRINGS, &o->scale_in, places, "LIST",
         "attention scale on scores (default), or folded into q, k"},
        {"threads", 0, SM_ARGUMENT_LIST, &o->threads, NULL, "LIST", "team sizes (default: 1 and all CPUs)"},
        {"recipe", 0, SM_ARGUMENT_STRINGS, &o->recipes, NULL, "LIST",
         "native (default), float, w4c-a8, w4c-a16, ...: see the README"},
        SM_MODEL_ARGUMENTS(o),
        {"variant", 0, SM_ARGUMENT_STRINGS, &o->variants, NULL, "LIST", "force FAMILY=VARIANT (see slotmark list)"},
        {"counters", 0, SM_ARGUMENT_STRINGS, &o->counters, NULL, "LIST",
         "groups or files (default core,software; all; none: no pass)"},
        {"count", 0, SM_ARGUMENT_FLAG, &o->count, NULL, NULL, "count instructions exactly (callgrind), time nothing"},
        {"reps", 0, SM_ARGUMENT_INTEGER, &o->reps, NULL, "N", "timed repetitions (default 5)"},
        {"tokens", 0, SM_ARGUMENT_STRING, &o->tokens, NULL, "FILE",
         "prompt tokens as numbers (default: drawn from a seed)"},
        {"prompt", 0, SM_ARGUMENT_STRING, &o->text, NULL, "TEXT", "the prompt as text, in the model's own tokens"},
        {"prompt-file", 0, SM_ARGUMENT_STRING, &o->text_file, NULL, "FILE", "the same from a file"},
        {"chat", 0, SM_ARGUMENT_FLAG, &o->chat, NULL, NULL, "put the model's turn markers around that text"},
        {"show", 0, SM_ARGUMENT_FLAG, &o->show, NULL, NULL, "print what the model says (to stderr unless -o md)"},
        {"padding", 0, SM_ARGUMENT_CHOICE, &o->padding, sides, "SIDE",
         "of the prompt in prefill: right (default), left"},
        {"trace", 0, SM_ARGUMENT_STRING, &o->trace, NULL, "FILE", "steps of each thread, for Perfetto (one more run)"},
        {"reconcile", 0, SM_ARGUMENT_FLAG, &o->reconcile, NULL, NULL,
         "time each step alone too, and name what differs"},
        {"print-tokens", 0, SM_ARGUMENT_FLAG, &o->print_tokens, NULL, NULL, "print the greedy tokens of each trial"},
        {"output", 'o', SM_ARGUMENT_CHOICE, &o->format, sm_rows_formats, "FORMAT",
         "table on stdout: md (default), csv, json, jsonl, sql"},
        SM_CASE_ARGUMENTS(&o->cases),
        SM_ARGUMENTS_END,
    };
    const struct sm_arguments spec = {
        .command = "profile",
        .usage = "[OPTION]... [MODEL]",
        .summary =
            "Runs a model at static shapes: tokens/s, and where the time goes. MODEL: a GGUF file, a folder, or a\n"
            "shape with synthetic weights (slotmark list); none: SmolLM2-135M, if fetched.",
        .options = options,
        .example = "slotmark profile model.gguf --max-seq 512,2048 --kv f16,i8 --threads 1,2",
        .operands_most = 1,
    };
    struct sm_arguments_rest rest = {0};
    const enum sm_arguments_result result = sm_arguments_parse(&spec, argc, argv, &rest, why, why_bytes);
    if (result == SM_ARGUMENTS_HELP) sm_arguments_help(&spec, stdout);
    if (result != SM_ARGUMENTS_OK) return result;
    *model = rest.operand_count ? rest.operands[0] : NULL;
    return check(o, why, why_bytes) ? SM_ARGUMENTS_BAD : SM_ARGUMENTS_OK;
}
