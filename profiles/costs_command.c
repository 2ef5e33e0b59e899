/* slotmark costs: what a model's static shapes cost, measured on a grid and fitted. */
#include "costs_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ceilings.h"
#include "conversions.h"
#include "costs_findings.h"
#include "costs_measure.h"
#include "costs_plan.h"
#include "costs_print.h"
#include "cpu.h"
#include "static_scales.h"

struct run {
    struct costs_options options;
    struct sm_source source;
    struct sm_weights *weights;
    struct costs_grid grid;
    struct costs_plan plan;
    struct costs_bench *bench;
    char path[4096]; /* of the table */
    char other[64];  /* a model that is not this one in it */
};

static bool not_interrupted(void)
{
    return sm_cases_interrupted();
}

static enum sm_case_outcome run_steps(struct run *r, const struct costs_todo *t, const char *id,
                                      struct sm_case_results *results, char *why, size_t why_bytes)
{
    struct sm_record **records = calloc(r->grid.count, sizeof *records);
    if (!records) {
        snprintf(why, why_bytes, "there is no memory for the records of %s", id);
        return SM_CASE_BROKEN;
    }
    const enum costs_outcome outcome =
        costs_bench_steps(r->bench, t->point, id, not_interrupted, records, why, why_bytes);
    for (size_t i = 0; i < r->grid.count; i++) {
        if (records[i] && outcome == COSTS_DONE)
            sm_case_result(results, records[i]);
        else
            sm_record_destroy(records[i]);
    }
    free(records);
    return outcome == COSTS_DONE ? SM_CASE_DONE : outcome == COSTS_INTERRUPTED ? SM_CASE_DROPPED : SM_CASE_BROKEN;
}

static enum sm_case_outcome run_case(void *context, const struct sm_case *c, struct sm_case_results *results, char *why,
                                     size_t why_bytes)
{
    struct run *r = context;
    const struct costs_todo *t = c->payload;
    struct sm_record *record = NULL;
    if (t->steps) return run_steps(r, t, c->id, results, why, why_bytes);
    const enum costs_outcome outcome = costs_bench_round(r->bench, t->point, t->round, c->id, &record, why, why_bytes);
    if (!record) return SM_CASE_BROKEN;
    sm_conversions_record(record, r->weights);
    sm_case_result(results, record);
    return outcome == COSTS_WRONG ? SM_CASE_WRONG : SM_CASE_DONE;
}

static int is_other_model(void *context, const json_t *record)
{
    struct run *r = context;
    const char *name = json_string_value(json_object_get(json_object_get(record, "model"), "name"));
    if (name && strcmp(name, r->source.name) != 0) snprintf(r->other, sizeof r->other, "%s", name);
    return *r->other != 0;
}

/* A table is of one model. 0, or -1 and a sentence. */
static int check_model(struct run *r, char *why, size_t why_bytes)
{
    if (sm_records_read(r->path, is_other_model, r, NULL, why, why_bytes)) return -1;
    if (!*r->other) return 0;
    snprintf(why, why_bytes, "'%.400s' holds what %.60s costs: %.60s needs a table of its own", r->path, r->other,
             r->source.name);
    return -1;
}

/* Where the table goes; one that is there already is only begun anew or gone on with when asked to. 0, or -1 and a
 * sentence. */
static int set_path(struct run *r, char *why, size_t why_bytes)
{
    struct sm_case_options *o = &r->options.cases;
    const size_t length = o->out ? strlen(o->out) : 0;
    if (o->resume && o->out) {
        snprintf(why, why_bytes, "--resume FILE goes on with that file: --out cannot stand beside it");
        return -1;
    }
    if (o->resume)
        snprintf(r->path, sizeof r->path, "%s", o->resume);
    else if (!o->out)
        sm_cost_table_path(r->source.name, r->options.recipe, r->path, sizeof r->path);
    else if (length > 6 && !strcmp(o->out + length - 6, ".jsonl"))
        snprintf(r->path, sizeof r->path, "%s", o->out);
    else
        snprintf(r->path, sizeof r->path, "%s/costs.jsonl", o->out);
    if (o->resume) return check_model(r, why, why_bytes);
    if (!o->dry_run && !r->options.force && !access(r->path, F_OK)) {
        snprintf(why, why_bytes,
                 "there is a table '%.400s' already; --resume %.400s goes on with it, --force starts over", r->path,
                 r->path);
        return -1;
    }
    return 0;
}

/* A record of what the points of each series say together. */
static int add_findings(struct run *r, const struct sm_cost_table *table, char *why, size_t why_bytes)
{
    for (size_t i = 0; i < sm_cost_table_count(table); i++) {
        const struct sm_cost_series *s = sm_cost_table_at(table, i);
        char id[256];
        snprintf(id, sizeof id, "%s/%s/%s/kv=%s/t%zu/table", s->model, s->recipe, sm_cost_attention_name(s->attention),
                 sm_kv_name(s->kv), s->threads);
        struct sm_record *record = sm_record_create("cost", id);
        const struct sm_trial label = {.kv = s->kv, .threads = s->threads, .scale_in = r->weights->choice.scale_in};
        const struct sm_ceilings *ceilings = sm_ceilings((int)s->threads);
        if (!record) {
            snprintf(why, why_bytes, "there is no memory for the record of %s", id);
            return -1;
        }
        sm_trial_label(record, &label, &r->source, s->recipe);
        for (const char *const *none = (const char *const[]){"max_seq", "n_prompt", "n_gen", "padding_side", NULL};
             *none; none++)
            sm_record_set_json(record, *none, NULL);
        if (ceilings) sm_ceilings_record(ceilings, record);
        sm_record_set_json(record, "cost", costs_findings(table, s, r->bench, ceilings));
        const int failed = sm_record_append(record, r->path, why, why_bytes);
        sm_record_destroy(record);
        if (failed) return -1;
    }
    return 0;
}

/* The newest record of each case, by role. */
struct newest {
    json_t *tables, *steps; /* objects by case */
};

static int collect(void *context, const json_t *record)
{
    struct newest *newest = context;
    const char *role = json_string_value(json_object_get(json_object_get(record, "cost"), "role"));
    json_t *to = !role ? NULL : !strcmp(role, "table") ? newest->tables : !strcmp(role, "steps") ? newest->steps : NULL;
    if (to)
        json_object_set_new(to, json_string_value(json_object_get(record, "case")),
                            json_copy((json_t *)(uintptr_t)record));
    return 0;
}

static json_t *values_of(json_t *object)
{
    json_t *list = json_array(), *value;
    const char *key;
    json_object_foreach(object, key, value) json_array_append(list, value);
    return list;
}

static int print_findings(const struct run *r, char *why, size_t why_bytes)
{
    struct newest newest = {json_object(), json_object()};
    int failed = sm_records_read(r->path, collect, &newest, NULL, why, why_bytes);
    json_t *tables = values_of(newest.tables), *steps = values_of(newest.steps);
    if (!failed && !json_array_size(tables)) {
        snprintf(why, why_bytes, "'%.400s' was not finished: slotmark costs MODEL --resume %.400s goes on with it",
                 r->path, r->path);
        failed = -1;
    }
    if (!failed) costs_print_findings(tables, steps, stdout);
    json_decref(tables);
    json_decref(steps);
    json_decref(newest.tables);
    json_decref(newest.steps);
    return failed;
}

static int print(const struct run *r, const struct sm_cost_table *table, char *why, size_t why_bytes)
{
    if (sm_cost_table_left_out(table) && !r->options.quiet)
        fprintf(stderr, "%zu records of another machine or build were left out\n", sm_cost_table_left_out(table));
    if (r->options.format == COSTS_MD) return print_findings(r, why, why_bytes);
    costs_print_points(table, (enum costs_format)r->options.format, stdout);
    return 0;
}

static int conclude(struct run *r, char *why, size_t why_bytes)
{
    struct sm_cost_table *table = NULL;
    if (sm_cost_table_load(&table, r->path, why, why_bytes)) return -1;
    const int failed = add_findings(r, table, why, why_bytes) || print(r, table, why, why_bytes) ? -1 : 0;
    sm_cost_table_destroy(table);
    fflush(stdout); /* one file may take both */
    if (!r->options.quiet) fprintf(stderr, "table: %s\n", r->path);
    return failed;
}

/* What a file holds, or the file where a model's table is. */
static int show(struct run *r, char *why, size_t why_bytes)
{
    struct sm_cost_table *table = NULL;
    const char *name = r->options.show;
    const size_t length = strlen(name);
    char stem[64];
    if (length > 6 && !strcmp(name + length - 6, ".jsonl")) {
        snprintf(r->path, sizeof r->path, "%s", name);
    } else {
        sm_source_stem(name, stem, sizeof stem);
        sm_cost_table_path(stem, r->options.recipe, r->path, sizeof r->path);
    }
    if (sm_cost_table_load(&table, r->path, why, why_bytes)) return 2;
    const int failed = print(r, table, why, why_bytes);
    sm_cost_table_destroy(table);
    return failed ? 2 : 0;
}

static int prepare(struct run *r, char *why, size_t why_bytes)
{
    struct costs_options *o = &r->options;
    const struct sm_choice choice = {.features = sm_cpu_features()};
    struct sm_trial_speed speed;
    char line[512];
    if (!o->quiet && !o->cases.dry_run) {
        sm_source_describe(&r->source, line, sizeof line);
        fprintf(stderr, "%s\n", line);
    }
    if (set_path(r, why, why_bytes) ||
        sm_static_scales_pack(&r->weights, &r->source, o->recipe, &o->kv, o->scales, &choice,
                              sm_cases_progress(&o->cases), why, why_bytes) ||
        sm_trial_probe(r->weights, &speed, why, why_bytes) ||
        costs_grid_create(&r->grid, o, &r->source.model->shape, &speed, why, why_bytes) ||
        costs_plan_make(&r->plan, &r->grid, o, &r->source, why, why_bytes))
        return -1;
    for (size_t i = 0; i < r->grid.count; i++)
        if (!costs_attention_variant(r->grid.at[i].attention, r->grid.at[i].kv, why, why_bytes)) return -1;
    r->bench = costs_bench_create(&r->source, r->weights, &r->grid, (uint64_t)o->token_seed, why, why_bytes);
    return r->bench ? 0 : -1;
}

static int run_costs(struct run *r, char *why, size_t why_bytes)
{
    struct sm_case_options options = r->options.cases;
    if (prepare(r, why, why_bytes)) return 2;
    if (!options.dry_run && r->options.force && !options.resume) unlink(r->path);
    options.out = r->path;
    options.resume = NULL; /* what was finished is not in the list */
    const int code = sm_cases_run(r->plan.cases, &options, run_case, r, why, why_bytes);
    if (code == 2 || options.dry_run || access(r->path, R_OK)) return code;
    return code == 130 ? code : conclude(r, why, why_bytes) ? 2 : code;
}

int costs_main(int argc, char **argv)
{
    char why[1024] = "";
    const char *model = NULL;
    struct run *r = calloc(1, sizeof *r);
    int code;
    if (!r) {
        fprintf(stderr, "slotmark costs: there is no memory to start\n");
        return 2;
    }
    switch (costs_options_parse(&r->options, argc, argv, &model, why, sizeof why)) {
    case SM_ARGUMENTS_HELP: code = 0; break;
    case SM_ARGUMENTS_BAD: code = 2; break;
    default:
        code = r->options.show ? show(r, why, sizeof why)
               : sm_source_open(&r->source, model, r->options.synthetic_format, (uint64_t)r->options.token_seed,
                                sm_cases_progress(&r->options.cases), why, sizeof why)
                   ? 2
                   : run_costs(r, why, sizeof why);
    }
    if (code == 2) fprintf(stderr, "slotmark costs: %s\n", why);
    costs_bench_destroy(r->bench);
    costs_plan_free(&r->plan);
    costs_grid_destroy(&r->grid);
    sm_weights_destroy(r->weights);
    sm_source_close(&r->source);
    free(r);
    return code;
}
