#include "planner_options.h"

#include <stdio.h>

#include "choices.h"
#include "planner_study.h"

#define MOST_MAX_SEQ 1048576
#define MOST_THREADS 1024
#define STANDARD_BUDGET 30

static int check_sizes(const char *what, const struct sm_list *list, int64_t least, size_t most_values, char *why,
                       size_t why_bytes)
{
    if (list->count > most_values) {
        snprintf(why, why_bytes, "--%s takes at most %zu values", what, most_values);
        return -1;
    }
    for (size_t i = 0; i < list->count; i++)
        if (list->value[i] < least || list->value[i] > MOST_MAX_SEQ) {
            snprintf(why, why_bytes, "--%s %lld is out of range: it goes from %lld to %d", what,
                     (long long)list->value[i], (long long)least, MOST_MAX_SEQ);
            return -1;
        }
    return 0;
}

static int check(struct planner_options *o, char *why, size_t why_bytes)
{
    if (!o->turns_file == !o->histogram) {
        snprintf(why, why_bytes, "give the turns to plan for: --turns-file FILE or --histogram LIST, one of them");
        return -1;
    }
    if (check_sizes("max-seq", &o->max_seq, 2, 64, why, why_bytes) ||
        check_sizes("buckets", &o->append, 2, SM_PLANNER_SIZES, why, why_bytes) ||
        check_sizes("prefill-buckets", &o->prefill, 1, SM_PLANNER_SIZES, why, why_bytes))
        return -1;
    if (o->most_plans < 2 || o->most_plans > SM_PLANNER_PLANS || o->most_append < 0 ||
        o->most_append > SM_PLANNER_PLANS - 2) {
        snprintf(why, why_bytes,
                 "--max-plans goes from 2 (a prefill and the decode) to %d, and --max-buckets from 0 to %d",
                 SM_PLANNER_PLANS, SM_PLANNER_PLANS - 2);
        return -1;
    }
    if (!o->memory || o->threads < 1 || o->threads > MOST_THREADS) {
        snprintf(why, why_bytes, "--threads goes from 1 to %d, and --memory is a size such as 64MiB", MOST_THREADS);
        return -1;
    }
    if (o->verify && o->histogram) {
        snprintf(why, why_bytes, "--verify replays sessions: give them by --turns-file");
        return -1;
    }
    if (o->cases.budget > 0 && !o->verify) {
        snprintf(why, why_bytes, "--budget is for the replays of --verify");
        return -1;
    }
    if (o->verify && !(o->cases.budget > 0)) o->cases.budget = STANDARD_BUDGET;
    if (sm_kv_named(o->kv_name, &o->kv)) {
        snprintf(why, why_bytes, "--kv '%.40s' is not one of f32, f16, i8, i16", o->kv_name);
        return -1;
    }
    if (sm_choices_synthetic(o->synthetic_name, &o->synthetic_format, why, why_bytes)) return -1;
    if (o->quiet) o->cases.progress = NULL;
    return sm_choices_recipe(o->recipe, why, why_bytes) < 0 ? -1 : 0;
}

enum sm_arguments_result planner_options_parse(struct planner_options *o, int argc, char **argv, char *why,
                                               size_t why_bytes)
{
    static const char *const formats[] = {"text", "json", "manifest", NULL}, *const attentions[] = {"literal", "skip",
                                                                                                    NULL};
    *o = (struct planner_options){.cases = SM_CASE_OPTIONS,
                                  .most_append = SM_PLANNER_PLANS - 2,
                                  .most_plans = 8,
                                  .memory = -1,
                                  .threads = sm_choices_cpus(),
                                  .token_seed = 1,
                                  .attention = SM_COST_SKIP,
                                  .recipe = "native",
                                  .kv_name = "f16",
                                  .synthetic_name = "Q4_0"};
    o->cases.command = "plan";
    o->cases.order = SM_CASE_ORDER_STATED;
    const struct sm_argument options[] = {
        {"turns-file", 0, SM_ARGUMENT_STRING, &o->turns_file, NULL, "FILE",
         "turns: tokens in and generated a line; empty line: next session"},
        {"histogram", 0, SM_ARGUMENT_STRING, &o->histogram, NULL, "LIST",
         "IN+OUT@PAST:COUNT,... or a file of it (no +OUT: 0, no @PAST: first)"},
        {"costs", 0, SM_ARGUMENT_STRING, &o->costs, NULL, "FILE",
         "of slotmark costs (default: results/costs/MODEL-RECIPE.jsonl)"},
        {"max-seq", 0, SM_ARGUMENT_LIST, &o->max_seq, NULL, "LIST", "candidates (default: those that costs measured)"},
        {"buckets", 0, SM_ARGUMENT_LIST, &o->append, NULL, "LIST", "candidates of append (default: 2 to 512)"},
        {"prefill-buckets", 0, SM_ARGUMENT_LIST, &o->prefill, NULL, "LIST",
         "candidates of prefill (default: 16 to max_seq)"},
        {"max-buckets", 0, SM_ARGUMENT_INTEGER, &o->most_append, NULL, "N", "append buckets at most"},
        {"max-plans", 0, SM_ARGUMENT_INTEGER, &o->most_plans, NULL, "N",
         "plans of prefill, append and decode at most (default 8)"},
        {"memory", 0, SM_ARGUMENT_SIZE, &o->memory, NULL, "BYTES",
         "of cache and arenas at most; weights are not counted"},
        {"objective", 0, SM_ARGUMENT_CHOICE, &o->objective, planner_objectives, "WHAT",
         "mean time of a turn, p95 or mean (ttft) time to first token"},
        {"attention", 0, SM_ARGUMENT_CHOICE, &o->attention, attentions, "HOW",
         "whose costs: skip (default) or literal, what the mask hides"},
        {"kv", 0, SM_ARGUMENT_STRING, &o->kv_name, NULL, "TYPE", "of the cache: f32, f16 (default), i8, i16"},
        {"threads", 0, SM_ARGUMENT_INTEGER, &o->threads, NULL, "N", "team size (default: all CPUs)"},
        {"recipe", 0, SM_ARGUMENT_STRING, &o->recipe, NULL, "NAME",
         "native (default), float, w4c-a8, ...: see the README"},
        SM_MODEL_ARGUMENTS(o),
        {"verify", 0, SM_ARGUMENT_FLAG, &o->verify, NULL, NULL,
         "replay sessions on the model: predicted beside measured"},
        {"budget", 0, SM_ARGUMENT_DURATION, &o->cases.budget, NULL, "TIME", "for the replays (default 30s)"},
        {"resume", 0, SM_ARGUMENT_STRING, &o->cases.resume, NULL, "FILE",
         "leave out the replays FILE has, append to it"},
        {"dry-run", 0, SM_ARGUMENT_FLAG, &o->cases.dry_run, NULL, NULL, "list the replays and their time, run none"},
        {"out", 0, SM_ARGUMENT_STRING, &o->cases.out, NULL, "DIR",
         "folder of the records, or FILE.jsonl (default: in results/)"},
        {"quiet", 0, SM_ARGUMENT_FLAG, &o->quiet, NULL, NULL, "no progress"},
        {"output", 'o', SM_ARGUMENT_CHOICE, &o->format, formats, "FORMAT", "text (default), json, manifest"},
        SM_ARGUMENTS_END,
    };
    const struct sm_arguments spec = {
        .command = "plan",
        .usage = "[OPTION]... [MODEL]",
        .summary =
            "Which prefill sizes, append buckets and max_seq to build for given turns, by what slotmark costs\n"
            "measured: the set of least time (exact), what the usual sets would take, and what fewer plans cost.",
        .options = options,
        .example = "slotmark plan model.gguf --turns-file profiles/turns/short-chat.turns --max-plans 6 --verify",
        .operands_most = 1,
    };
    struct sm_arguments_rest rest = {0};
    const enum sm_arguments_result result = sm_arguments_parse(&spec, argc, argv, &rest, why, why_bytes);
    if (result == SM_ARGUMENTS_HELP) sm_arguments_help(&spec, stdout);
    if (result != SM_ARGUMENTS_OK) return result;
    o->model = rest.operand_count ? rest.operands[0] : NULL;
    return check(o, why, why_bytes) ? SM_ARGUMENTS_BAD : SM_ARGUMENTS_OK;
}
