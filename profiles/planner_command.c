/* slotmark plan: the static shapes to build for given turns. */
#include "planner_command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "costs_measure.h"
#include "cpu.h"
#include "planner_options.h"
#include "planner_replay.h"
#include "random.h"
#include "static_scales.h"

struct command {
    struct planner_options options;
    struct sm_source source;
    struct planner_turns turns;
    struct sm_cost_table *table;
    struct planner_study study;
    struct planner_facts facts;
    struct sm_weights *weights;
    struct planner_replay replay;
    size_t *order; /* payloads: the sessions, drawn; the plan itself has none */
    char costs[512], out[4096], measure[1536];
};

static int find_costs(struct command *c, char *why, size_t why_bytes)
{
    const struct planner_options *o = &c->options;
    const char *attention = sm_cost_attention_name((enum sm_cost_attention)o->attention);
    char *measure = c->measure;
    snprintf(measure, sizeof c->measure, "slotmark costs %s%s%s --kv %s --threads %lld --attention %s",
             o->model ? o->model : "", strcmp(o->recipe, "native") ? " --recipe " : "",
             strcmp(o->recipe, "native") ? o->recipe : "", o->kv_name, (long long)o->threads, attention);
    if (o->costs)
        snprintf(c->costs, sizeof c->costs, "%s", o->costs);
    else
        sm_cost_table_path(c->source.name, o->recipe, c->costs, sizeof c->costs);
    if (access(c->costs, R_OK)) {
        snprintf(why, why_bytes, "there are no costs in '%.200s': measure them with %.400s", c->costs, measure);
        return -1;
    }
    if (sm_cost_table_load(&c->table, c->costs, why, why_bytes)) return -1;
    const struct sm_cost_series *s =
        sm_cost_table_find(c->table, (enum sm_cost_attention)o->attention, o->kv, (size_t)o->threads);
    c->study.series = s;
    if (!s)
        snprintf(why, why_bytes,
                 "'%.200s' has no costs of %s attention with kv %s and %lld threads: measure them with %.400s",
                 c->costs, attention, o->kv_name, (long long)o->threads, measure);
    else if (strcmp(s->model, c->source.name) || strcmp(s->recipe, o->recipe))
        snprintf(why, why_bytes, "'%.200s' holds the costs of %s, recipe %s, and this is %s, recipe %s", c->costs,
                 s->model, s->recipe, c->source.name, o->recipe);
    else {
        const size_t length = strlen(measure);
        snprintf(measure + length, sizeof c->measure - length, " --resume %s", c->costs);
        c->study.measure = measure;
        return 0;
    }
    return -1;
}

static int run_study(struct command *c, char *why, size_t why_bytes)
{
    const struct planner_options *o = &c->options;
    struct planner_study *s = &c->study;
    s->turns = &c->turns;
    s->max_seq = o->max_seq;
    s->append = o->append;
    s->prefill = o->prefill;
    s->most_append = (size_t)o->most_append;
    s->most_plans = (size_t)o->most_plans;
    s->memory = (double)o->memory;
    s->objective = (enum sm_planner_objective)o->objective;
    c->facts = (struct planner_facts){
        .turns = o->turns_file ? o->turns_file : "histogram", .costs = c->costs, .source = &c->source};
    return planner_study_run(s, why, why_bytes);
}

/* Weights that run the attention whose costs were asked for. */
static int open_replay(struct command *c, char *why, size_t why_bytes)
{
    const struct planner_options *o = &c->options;
    char family[32];
    struct sm_strings kv = {.count = 1, .value = {o->kv_name}};
    snprintf(family, sizeof family, "attention_%s", o->kv_name);
    const char *variant = costs_attention_variant((enum sm_cost_attention)o->attention, o->kv, why, why_bytes);
    if (!variant) return -1;
    const struct sm_forced forced = {family, variant};
    const struct sm_choice choice = {.features = sm_cpu_features(), .forced = &forced, .forced_count = 1};
    return sm_static_scales_pack(&c->weights, &c->source, o->recipe, &kv, o->scales, &choice,
                                 sm_cases_progress(&o->cases), why, why_bytes) ||
                   planner_replay_create(&c->replay, &c->study, &c->facts, c->weights, (uint64_t)o->token_seed, why,
                                         why_bytes)
               ? -1
               : 0;
}

static void case_id(const struct command *c, char *id, size_t bytes, const char *what)
{
    const char *slash = strrchr(c->facts.turns, '/');
    snprintf(id, bytes, "%s/%s/max_seq=%zu,kv=%s,turns=%.64s,%s/t%lld", c->source.name, c->options.recipe,
             c->study.problem.max_seq, c->options.kv_name, slash ? slash + 1 : c->facts.turns, what,
             (long long)c->options.threads);
}

/* The plan, and the sessions to replay in an order drawn from the seed: a budget takes the first ones. */
static int add_cases(struct command *c, struct sm_cases *cases, char *why, size_t why_bytes)
{
    char id[512], what[256];
    struct sm_random random = {(uint64_t)c->options.token_seed};
    const size_t sessions = c->options.verify ? c->turns.sessions : 0;
    snprintf(what, sizeof what, "objective=%s,max_plans=%lld,max_buckets=%lld,memory=%lld",
             planner_objectives[c->options.objective], (long long)c->options.most_plans,
             (long long)c->options.most_append, (long long)c->options.memory);
    case_id(c, id, sizeof id, what);
    c->order = calloc(sessions + 1, sizeof *c->order);
    if (!c->order || sm_cases_add(cases, id, "plan", 0.001, NULL)) goto no_memory;
    for (size_t i = 0; i < sessions; i++) { /* shuffled as it grows */
        const size_t at = sm_random_below(&random, (uint32_t)i + 1);
        c->order[i] = c->order[at];
        c->order[at] = i;
    }
    for (size_t i = 0; i < sessions; i++) {
        snprintf(what, sizeof what, "objective=%s,max_plans=%lld,session=%zu", planner_objectives[c->options.objective],
                 (long long)c->options.most_plans, c->order[i] + 1);
        case_id(c, id, sizeof id, what);
        if (sm_cases_add(cases, id, "replay", planner_replay_estimate(&c->study, c->order[i]), &c->order[i]))
            goto no_memory;
    }
    return 0;
no_memory:
    snprintf(why, why_bytes, "there is no memory for %zu sessions", sessions);
    return -1;
}

static enum sm_case_outcome run_case(void *context, const struct sm_case *sm_case, struct sm_case_results *results,
                                     char *why, size_t why_bytes)
{
    struct command *c = context;
    snprintf(c->out, sizeof c->out, "%s", sm_cases_out(results));
    if (sm_case->payload)
        return planner_replay_run(&c->replay, *(const size_t *)sm_case->payload, sm_case->id, results, why, why_bytes);
    struct sm_record *record = sm_record_create("plan", sm_case->id);
    if (!record) {
        snprintf(why, why_bytes, "there is no memory for the record of the plan");
        return SM_CASE_BROKEN;
    }
    const struct sm_trial label = {
        .max_seq = c->study.problem.max_seq, .kv = c->options.kv, .threads = (size_t)c->options.threads};
    sm_trial_label(record, &label, &c->source, c->options.recipe);
    sm_record_set_json(record, "plan", planner_json(&c->study, &c->facts));
    sm_case_result(results, record);
    return SM_CASE_DONE;
}

static int collect(void *records, const json_t *record)
{
    const char *kind = json_string_value(json_object_get(record, "kind"));
    if (kind && !strcmp(kind, "plan")) json_array_append_new(records, json_deep_copy(record));
    return 0;
}

static int print(const struct command *c, char *why, size_t why_bytes)
{
    const struct planner_options *o = &c->options;
    json_t *records = json_array(), *summary = NULL, *calls = NULL, *shown;
    const int failed = o->verify && sm_records_read(c->out, collect, records, NULL, why, why_bytes);
    if (o->verify && !failed) summary = planner_replay_summary(records);
    if (o->verify && !failed) calls = planner_replay_calls(records);
    switch ((enum planner_format)o->format) {
    case PLANNER_TEXT:
        planner_text(&c->study, &c->facts, stdout);
        if (summary) planner_replay_text(summary, calls, stdout);
        break;
    case PLANNER_JSON:
    case PLANNER_MANIFEST:
        shown = o->format == PLANNER_JSON ? planner_json(&c->study, &c->facts) : planner_manifest(&c->study, &c->facts);
        if (o->format == PLANNER_JSON) json_object_set(shown, "replay", summary ? summary : json_null());
        if (o->format == PLANNER_JSON) json_object_set(shown, "replay_calls", calls ? calls : json_null());
        json_dumpf(shown, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
        putchar('\n');
        json_decref(shown);
    }
    json_decref(summary);
    json_decref(calls);
    json_decref(records);
    return failed;
}

static int run_plan(struct command *c, char *why, size_t why_bytes)
{
    struct planner_options *o = &c->options;
    struct sm_cases *cases = NULL;
    char line[512];
    int code = 2;
    if (sm_source_open(&c->source, o->model, o->synthetic_format, (uint64_t)o->token_seed, sm_cases_progress(&o->cases),
                       why, why_bytes))
        return 2;
    sm_source_describe(&c->source, line, sizeof line);
    if (!o->quiet && !o->cases.dry_run) fprintf(stderr, "%s\n", line);
    if ((o->turns_file ? planner_turns_read(&c->turns, o->turns_file, why, why_bytes)
                       : planner_turns_histogram(&c->turns, o->histogram, why, why_bytes)) ||
        find_costs(c, why, why_bytes) || run_study(c, why, why_bytes) ||
        (o->verify && !o->cases.dry_run && open_replay(c, why, why_bytes)))
        return 2;
    if (!(cases = sm_cases_create()))
        snprintf(why, why_bytes, "there is no memory for the list of sessions");
    else if (!add_cases(c, cases, why, why_bytes))
        code = sm_cases_run(cases, &o->cases, run_case, c, why, why_bytes);
    sm_cases_destroy(cases);
    if (code == 2 || o->cases.dry_run) return code;
    if (!c->out[0] && o->cases.resume) snprintf(c->out, sizeof c->out, "%s", o->cases.resume);
    if (print(c, why, why_bytes)) return 2;
    fflush(stdout);
    if (!o->quiet) fprintf(stderr, "records: %s\n", c->out);
    return code;
}

int plan_main(int argc, char **argv)
{
    char why[1024] = "";
    struct command *c = calloc(1, sizeof *c);
    int code;
    if (!c) {
        fprintf(stderr, "slotmark plan: there is no memory to start\n");
        return 2;
    }
    switch (planner_options_parse(&c->options, argc, argv, why, sizeof why)) {
    case SM_ARGUMENTS_HELP: code = 0; break;
    case SM_ARGUMENTS_BAD: code = 2; break;
    default: code = run_plan(c, why, sizeof why);
    }
    if (code == 2) fprintf(stderr, "slotmark plan: %s\n", why);
    planner_replay_destroy(&c->replay);
    sm_weights_destroy(c->weights);
    planner_turns_free(&c->turns);
    sm_cost_table_destroy(c->table);
    sm_source_close(&c->source);
    free(c->order);
    free(c);
    return code;
}
