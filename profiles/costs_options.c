#include "costs_options.h"

#include <stdio.h>
#include <string.h>

#include "bucket.h"
#include "cache.h"
#include "choices.h"

#define MOST_THREADS 1024
#define MOST_ROUNDS 1000
#define STANDARD_BUDGET 60
#define MOST_VALUES 8 /* of max_seq, of valid: each is a column of the grid */

static int check_list(const char *what, const struct sm_list *list, size_t count, int64_t least, int64_t most,
                      char *why, size_t why_bytes)
{
    if (list->count > count) {
        snprintf(why, why_bytes, "--%s takes at most %zu values", what, count);
        return -1;
    }
    for (size_t i = 0; i < list->count; i++)
        if (list->value[i] < least || list->value[i] > most) {
            snprintf(why, why_bytes, "--%s %lld is out of range: it goes from %lld to %lld", what,
                     (long long)list->value[i], (long long)least, (long long)most);
            return -1;
        }
    return 0;
}

static size_t target_bytes(enum sm_argument_kind kind)
{
    switch (kind) {
    case SM_ARGUMENT_FLAG: return sizeof(bool);
    case SM_ARGUMENT_STRING: return sizeof(const char *);
    case SM_ARGUMENT_STRINGS: return sizeof(struct sm_strings);
    case SM_ARGUMENT_LIST: return sizeof(struct sm_list);
    case SM_ARGUMENT_CHOICE: return sizeof(int);
    default: return sizeof(int64_t); /* and double */
    }
}

/* --show prints what is there: an option that says what to measure, other than as it stands, would be passed over. */
static int check_show(const struct costs_options *o, const struct costs_options *standard,
                      const struct sm_argument *options, char *why, size_t why_bytes)
{
    static const char *const heeded[] = {"show", "recipe", "output", "quiet"};
    for (; o->show && options->kind != SM_ARGUMENT_END; options++) {
        const char *target = options->target;
        const size_t offset = (size_t)(target - (const char *)o);
        bool is_heeded = !memcmp(target, (const char *)standard + offset, target_bytes(options->kind));
        for (size_t i = 0; i < sizeof heeded / sizeof *heeded; i++) is_heeded |= !strcmp(heeded[i], options->name);
        if (is_heeded) continue;
        snprintf(why, why_bytes, "--show prints a table as it was measured: --%s cannot stand beside it",
                 options->name);
        return -1;
    }
    return 0;
}

static int check(struct costs_options *o, char *why, size_t why_bytes)
{
    if (check_list("max-seq", &o->max_seq, MOST_VALUES, 4, SM_MAX_SEQ, why, why_bytes) ||
        check_list("buckets", &o->buckets, SM_MAX_BUCKETS / 2, 2, SM_MAX_SEQ, why, why_bytes) ||
        check_list("prefill-buckets", &o->prefill_buckets, SM_MAX_BUCKETS / 2, 2, SM_MAX_SEQ, why, why_bytes) ||
        check_list("valid", &o->valid, MOST_VALUES, 0, SM_MAX_SEQ, why, why_bytes) ||
        check_list("threads", &o->threads, MOST_VALUES, 1, MOST_THREADS, why, why_bytes))
        return -1;
    if (o->rounds < 1 || o->rounds > MOST_ROUNDS) {
        snprintf(why, why_bytes, "--rounds goes from 1 to %d", MOST_ROUNDS);
        return -1;
    }
    if (sm_choices_synthetic(o->synthetic_name, &o->synthetic_format, why, why_bytes)) return -1;
    if (o->quiet) o->cases.progress = NULL;
    return sm_choices_recipe(o->recipe, why, why_bytes) < 0 ? -1 : 0;
}

enum sm_arguments_result costs_options_parse(struct costs_options *o, int argc, char **argv, const char **model,
                                             char *why, size_t why_bytes)
{
    const char *kv_types[SM_KV_TYPES + 1] = {NULL};
    static const char *const attentions[] = {"literal", "skip", NULL}, *const formats[] = {"md", "csv", "json", "jsonl",
                                                                                           NULL};
    *o = (struct costs_options){.cases = SM_CASE_OPTIONS,
                                .threads = SM_LIST(sm_choices_cpus()),
                                .recipe = "native",
                                .rounds = 5,
                                .token_seed = 1,
                                .synthetic_name = "Q4_0"};
    o->cases.command = "costs";
    o->cases.budget = STANDARD_BUDGET;
    o->cases.order = SM_CASE_ORDER_STATED; /* drawn here, round by round */
    o->cases.seed = 1;
    for (int i = 0; i < SM_KV_TYPES; i++) kv_types[i] = sm_kv_name((enum sm_kv_type)i);
    sm_parse_strings("f16", &o->kv, kv_types, why, why_bytes);
    sm_parse_strings("literal,skip", &o->attention, attentions, why, why_bytes);
    const struct sm_argument options[] = {
        {"max-seq", 0, SM_ARGUMENT_LIST, &o->max_seq, NULL, "LIST", "static contexts (default 512,1024,2048)"},
        {"buckets", 0, SM_ARGUMENT_LIST, &o->buckets, NULL, "LIST", "append buckets (default 2..256*2)"},
        {"prefill-buckets", 0, SM_ARGUMENT_LIST, &o->prefill_buckets, NULL, "LIST",
         "prefill buckets (default 64, 128, ... to max_seq)"},
        {"valid", 0, SM_ARGUMENT_LIST, &o->valid, NULL, "LIST",
         "valid slots before a call (default 1/8, 1/2, all of max_seq)"},
        {"kv", 0, SM_ARGUMENT_STRINGS, &o->kv, kv_types, "LIST", "types of the KV cache: f32, f16 (default), i8, i16"},
        {"attention", 0, SM_ARGUMENT_STRINGS, &o->attention, attentions, "LIST",
         "literal, skip (default both): whether it computes what the mask hides"},
        {"threads", 0, SM_ARGUMENT_LIST, &o->threads, NULL, "LIST", "team sizes (default: all CPUs)"},
        {"recipe", 0, SM_ARGUMENT_STRING, &o->recipe, NULL, "NAME",
         "native (default), float, w4c-a8, ...: see the README"},
        SM_MODEL_ARGUMENTS(o),
        {"rounds", 0, SM_ARGUMENT_INTEGER, &o->rounds, NULL, "N",
         "over the whole grid, one after the other (default 5)"},
        {"force", 0, SM_ARGUMENT_FLAG, &o->force, NULL, NULL, "start the table over where there is one already"},
        {"show", 0, SM_ARGUMENT_STRING, &o->show, NULL, "TABLE",
         "print a table again, a file or that of a model, and measure nothing"},
        {"quiet", 0, SM_ARGUMENT_FLAG, &o->quiet, NULL, NULL, "no progress"},
        {"output", 'o', SM_ARGUMENT_CHOICE, &o->format, formats, "FORMAT",
         "on stdout: md (default: what it comes to), csv, json, jsonl (every point)"},
        {"out", 0, SM_ARGUMENT_STRING, &o->cases.out, NULL, "FILE",
         "the table, FILE.jsonl or a folder (default: results/costs/MODEL-RECIPE.jsonl)"},
        {"dry-run", 0, SM_ARGUMENT_FLAG, &o->cases.dry_run, NULL, NULL,
         "list the cases and the time they need, run none"},
        {"budget", 0, SM_ARGUMENT_DURATION, &o->cases.budget, NULL, "TIME",
         "time to spend (default 60s): on every point once, then again"},
        {"resume", 0, SM_ARGUMENT_STRING, &o->cases.resume, NULL, "FILE",
         "leave out what FILE has finished, append to it"},
        {"seed", 0, SM_ARGUMENT_INTEGER, &o->cases.seed, NULL, "N", "of the order within a round (default 1)"},
        SM_ARGUMENTS_END,
    };
    const struct sm_arguments spec = {
        .command = "costs",
        .usage = "[OPTION]... [MODEL]",
        .summary =
            "Measures what a model's static shapes cost: the time of prefill, append and decode over bucket, max_seq\n"
            "and valid slots; fits it, judges the fit by points held out, and keeps it for slotmark plan.",
        .options = options,
        .example = "slotmark costs model.gguf --max-seq 1024,4096 --budget 90s",
        .operands_most = 1,
    };
    struct sm_arguments_rest rest = {0};
    const struct costs_options standard = *o;
    const enum sm_arguments_result result = sm_arguments_parse(&spec, argc, argv, &rest, why, why_bytes);
    if (result == SM_ARGUMENTS_HELP) sm_arguments_help(&spec, stdout);
    if (result != SM_ARGUMENTS_OK) return result;
    *model = rest.operand_count ? rest.operands[0] : NULL;
    if (o->show && *model) {
        snprintf(why, why_bytes, "--show TABLE takes no model beside it");
        return SM_ARGUMENTS_BAD;
    }
    return check_show(o, &standard, options, why, why_bytes) || check(o, why, why_bytes) ? SM_ARGUMENTS_BAD
                                                                                         : SM_ARGUMENTS_OK;
}
