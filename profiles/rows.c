#include "rows.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "conversions.h"
#include "record.h"
#include "rows_steps.h"
#include "rows_turns.h"
#include "stats.h"

const char *const sm_rows_formats[] = {"md", "csv", "json", "jsonl", "sql", NULL};

/* The summary of one record. NAN: unknown. */
struct row {
    const json_t *record;
    const char *phase;
    double tokens, padded; /* of a sample */
    double *ns, *ts;       /* samples: ns of a call, real tokens per second */
    size_t count;
    struct sm_summary time, rate, token;
};

const char *sm_rows_recipe(const json_t *record, char *out, size_t bytes)
{
    const char *in = sm_cell_text(record, "scale_in");
    const bool folded = *in && strcmp(in, "scores");
    snprintf(out, bytes, "%s%s%s", sm_cell_text(record, "recipe"), folded ? ", scale in " : "", folded ? in : "");
    return out;
}

static void summarise_numbers(const json_t *array, struct sm_summary *summary)
{
    const size_t n = json_array_size(array);
    double *values = malloc((n + 1) * sizeof *values);
    for (size_t i = 0; values && i < n; i++) values[i] = json_number_value(json_array_get(array, i));
    sm_summarise(values ? values : &(double){0}, values ? n : 0, summary);
    free(values);
}

/* 0, or -1: not a record with samples. */
static int row_read(struct row *row, const json_t *record)
{
    const json_t *samples = json_object_get(record, "samples");
    memset(row, 0, sizeof *row);
    row->record = record;
    row->count = json_array_size(samples);
    row->phase = sm_cell_text(record, "phase");
    if (strcmp(sm_cell_text(record, "status"), "ok") || !row->count) return -1;
    row->ns = malloc(row->count * sizeof *row->ns);
    row->ts = malloc(row->count * sizeof *row->ts);
    if (!row->ns || !row->ts) return -1;
    row->tokens = strcmp(row->phase, "decode") ? sm_cell_number(record, "n_prompt") : 1;
    row->padded = strcmp(row->phase, "decode") ? sm_cell_number(record, "bucket") : 1;
    for (size_t i = 0; i < row->count; i++) {
        row->ns[i] = json_number_value(json_array_get(samples, i));
        row->ts[i] = row->tokens / row->ns[i] * 1e9;
    }
    sm_summarise(row->ns, row->count, &row->time);
    sm_summarise(row->ts, row->count, &row->rate);
    summarise_numbers(json_object_get(record, "token_ns"), &row->token);
    return 0;
}

static void row_free(struct row *row)
{
    free(row->ns);
    free(row->ts);
}

/* Bytes a second as a share of the ceiling that binds; NAN where none does. */
static double limit_share(const struct row *row)
{
    const json_t *ceilings = json_object_get(row->record, "ceilings");
    const json_t *binding = json_object_get(ceilings, sm_cell_text(row->record, "binding_ceiling"));
    return sm_cell_number(row->record, "bytes") / (row->time.median * 1e-9) / sm_cell_number(binding, "value");
}

/* The columns, in order: llama-bench's first, ours after them. */
static json_t *row_json(const struct row *row)
{
    const json_t *r = row->record, *model = json_object_get(r, "model"), *build = json_object_get(r, "build"),
                 *machine = json_object_get(r, "machine"), *memory = json_object_get(r, "memory");
    const json_t *turn = json_object_get(r, "turn");
    const double ttft = strcmp(row->phase, "decode") ? row->time.median * 1e-6 : NAN;
    char calls[64], steps[2048];
    json_t *o = json_pack(
        "{s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?}", "build_commit",
        json_object_get(build, "commit"), "cpu_info", json_object_get(machine, "cpu"), "model_filename",
        json_object_get(model, "file"), "model_type", json_object_get(model, "name"), "model_size",
        json_object_get(model, "bytes"), "model_n_params", json_object_get(model, "parameters"), "n_threads",
        json_object_get(r, "threads"), "type_k", json_object_get(r, "kv_type"), "type_v", json_object_get(r, "kv_type"),
        "n_prompt", json_object_get(r, "n_prompt"), "n_gen", json_object_get(r, "n_gen"), "n_depth",
        json_object_get(r, "n_depth"), "test_time", json_object_get(r, "started"));
    json_object_set_new(o, "avg_ns", sm_record_number(row->time.mean));
    json_object_set_new(o, "stddev_ns", sm_record_number(row->time.deviation));
    json_object_set_new(o, "avg_ts", sm_record_number(row->rate.mean));
    json_object_set_new(o, "stddev_ts", sm_record_number(row->rate.deviation));
    json_object_set(o, "synthetic", json_object_get(model, "synthetic"));
    json_object_set(o, "recipe", json_object_get(r, "recipe"));
    json_object_set_new(o, "scale_in",
                        json_object_get(r, "scale_in") ? json_incref(json_object_get(r, "scale_in")) : json_null());
    json_object_set(o, "phase", json_object_get(r, "phase"));
    json_object_set(o, "max_seq", json_object_get(r, "max_seq"));
    json_object_set_new(o, "padded_ts", sm_record_number(row->padded / row->tokens * row->rate.mean));
    json_object_set_new(o, "median_ts", sm_record_number(row->rate.median));
    json_object_set_new(o, "ttft_ms", sm_record_number(ttft));
    json_object_set_new(o, "token_p50_ms", sm_record_number(row->token.median * 1e-6));
    json_object_set_new(o, "token_p95_ms", sm_record_number(row->token.p95 * 1e-6));
    json_object_set_new(o, "token_p99_ms", sm_record_number(row->token.p99 * 1e-6));
    json_object_set_new(o, "limit_share", sm_record_number(limit_share(row)));
    json_object_set(o, "binding_ceiling", json_object_get(r, "binding_ceiling"));
    json_object_set(o, "load_s", json_object_get(r, "load_s"));
    json_object_set(o, "pack_s", json_object_get(r, "pack_s"));
    json_object_set(o, "peak_rss_bytes", json_object_get(memory, "peak_rss_bytes"));
    json_object_set(o, "variant", json_object_get(r, "variant"));
    json_object_set_new(o, "steps", json_string(sm_rows_steps_text(r, steps, sizeof steps)));
    for (const char *const *key = (const char *const[]){"turn", "way", NULL}; *key; key++)
        json_object_set_new(o, *key, turn ? json_incref(json_object_get(turn, *key)) : json_null());
    json_object_set_new(o, "calls_rows",
                        turn ? json_string(sm_rows_turns_calls(turn, calls, sizeof calls)) : json_null());
    return o;
}

static void print_scalar(const json_t *value, const char *quote, FILE *out)
{
    if (json_is_string(value)) {
        fputs(quote, out);
        for (const char *c = json_string_value(value); *c; c++) {
            if (*c == *quote) fputs(quote, out); /* doubled in CSV and SQL alike */
            fputc(*c == '\n' || *c == '\r' ? ' ' : *c, out);
        }
        fputs(quote, out);
    } else if (json_is_integer(value)) {
        fprintf(out, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        fprintf(out, "%.9g", json_real_value(value));
    } else if (json_is_boolean(value)) {
        fputs(json_is_true(value) ? "1" : "0", out);
    } else if (*quote == '\'') {
        fputs("NULL", out);
    }
}

static void print_delimited(json_t *row, const char *quote, FILE *out)
{
    const char *key, *comma = "";
    json_t *value;
    json_object_foreach(row, key, value)
    {
        fputs(comma, out);
        print_scalar(value, quote, out);
        comma = *quote == '\'' ? ", " : ",";
    }
}

static void print_names(json_t *row, const char *after, FILE *out)
{
    const char *key, *comma = "";
    json_t *value;
    json_object_foreach(row, key, value)
    {
        fprintf(out, "%s%s%s", comma, key, after);
        comma = *after ? ", " : ",";
    }
}

/* csv, json, jsonl and sql: the row as it is. `first` is set for the first one. */
static void print_row(const struct row *row, enum sm_rows_format format, int first, FILE *out)
{
    json_t *o = row_json(row);
    switch (format) {
    case SM_ROWS_CSV:
        if (first) {
            print_names(o, "", out);
            fputc('\n', out);
        }
        print_delimited(o, "\"", out);
        fputc('\n', out);
        break;
    case SM_ROWS_SQL:
        if (first) {
            fputs("CREATE TABLE IF NOT EXISTS slotmark (", out);
            print_names(o, " TEXT", out);
            fputs(");\n", out);
        }
        fputs("INSERT INTO slotmark (", out);
        print_names(o, "", out);
        fputs(") VALUES (", out);
        print_delimited(o, "'", out);
        fputs(");\n", out);
        break;
    default:
        json_object_set(o, "samples_ns", json_object_get(row->record, "samples"));
        json_object_set(o, "steps", json_object_get(row->record, "steps"));
        json_object_set(o, "counters", json_object_get(row->record, "counters"));
        json_object_set(o, "conversions", json_object_get(json_object_get(row->record, "model"), "conversions"));
        json_dumpf(o, out, JSON_COMPACT | JSON_REAL_PRECISION(9));
        if (format == SM_ROWS_JSONL) fputc('\n', out);
    }
    json_decref(o);
}

static void print_md_head(const json_t *record, FILE *out)
{
    const json_t *model = json_object_get(record, "model"), *machine = json_object_get(record, "machine");
    fprintf(out, "%s%s, %.4g M parameters, %.3g MiB; %s; load %.2f s, pack %.2f s\n", sm_cell_text(model, "name"),
            json_is_true(json_object_get(model, "synthetic")) ? " (SYNTHETIC WEIGHTS)" : "",
            sm_cell_number(model, "parameters") * 1e-6, sm_cell_number(model, "bytes") / 0x1p20,
            sm_cell_text(machine, "cpu"), sm_cell_number(record, "load_s"), sm_cell_number(record, "pack_s"));
}

static void print_md_columns(FILE *out)
{
    fputs("\n| recipe | kv  | max_seq | threads | test         |           t/s | padded t/s | ms, median |    p95 "
          "|    p99 | % of limit    |\n"
          "|--------|-----|--------:|--------:|--------------|--------------:|-----------:|-----------:|-------:"
          "|-------:|---------------|\n",
          out);
}

static void print_md_row(const struct row *row, FILE *out)
{
    char recipe[64], test[32], rate[32], tail[2][16] = {"", ""};
    const int decode = !strcmp(row->phase, "decode");
    snprintf(test, sizeof test, decode ? "tg%.0f @ %.0f" : "pp%.0f",
             decode ? sm_cell_number(row->record, "n_gen") : row->tokens, sm_cell_number(row->record, "n_depth"));
    snprintf(rate, sizeof rate, isfinite(row->rate.deviation) ? "%.1f ± %.1f" : "%.1f", row->rate.mean,
             row->rate.deviation);
    const struct sm_summary *each = decode ? &row->token : &row->time;
    if (decode) {
        snprintf(tail[0], sizeof tail[0], "%.2f", each->p95 * 1e-6);
        snprintf(tail[1], sizeof tail[1], "%.2f", each->p99 * 1e-6);
    }
    char limit[48] = "";
    if (isfinite(limit_share(row)))
        snprintf(limit, sizeof limit, "%3.0f %s", 100 * limit_share(row), sm_cell_text(row->record, "binding_ceiling"));
    const int wide = strstr(rate, "±") != NULL; /* two bytes, one column */
    fprintf(out, "| %-6s | %-3s | %7.0f | %7.0f | %-12s | %*s | %10.1f | %10.2f | %6s | %6s | %-13s |\n",
            sm_rows_recipe(row->record, recipe, sizeof recipe), sm_cell_text(row->record, "kv_type"),
            sm_cell_number(row->record, "max_seq"), sm_cell_number(row->record, "threads"), test, 13 + wide, rate,
            row->padded / row->tokens * row->rate.mean, each->median * 1e-6, tail[0], tail[1], limit);
}

/* By shape, then team, then phase: the order in which trials ran does not show. */
static int by_shape(const void *a, const void *b)
{
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    static const char *const keys[] = {"max_seq", "n_depth", "threads"};
    int order = strcmp(sm_cell_text(x, "recipe"), sm_cell_text(y, "recipe"));
    for (size_t i = 0; i < 3 && !order; i++) {
        const double p = sm_cell_number(x, keys[i]), q = sm_cell_number(y, keys[i]);
        order = (p > q) - (p < q);
        if (i == 0 && !order) order = strcmp(sm_cell_text(x, "kv_type"), sm_cell_text(y, "kv_type"));
        if (i == 0 && !order) order = strcmp(sm_cell_text(y, "phase"), sm_cell_text(x, "phase")); /* prefill first */
    }
    return order ? order : strcmp(sm_cell_text(x, "case"), sm_cell_text(y, "case"));
}

/* Whether a record is what the model does of itself, not one of the ways it is compared with. */
static bool is_own(const json_t *turn)
{
    const char *way = sm_cell_text(turn, "way");
    return !*way || !strcmp(way, "buckets") || !strcmp(way, "decode");
}

static void print_sessions(json_t **list, size_t count, FILE *out)
{
    json_t **turns = malloc((count + 1) * sizeof *turns);
    size_t used = 0;
    for (size_t i = 0; turns && i < count; i++)
        if (json_is_object(json_object_get(list[i], "turn"))) turns[used++] = list[i];
    if (turns) sm_rows_turns_print(turns, used, out);
    free(turns);
}

static void print_in_order(json_t **list, size_t count, enum sm_rows_format format, FILE *out)
{
    static const char *const phases[] = {"prefill", "append", "decode"};
    const json_t *last[3] = {NULL, NULL, NULL};
    int printed = 0, plain = 0;
    for (size_t i = 0; i < count; i++) {
        struct row row;
        if (!row_read(&row, list[i])) {
            const json_t *turn = json_object_get(list[i], "turn");
            for (int p = 0; p < 3; p++)
                if (!strcmp(row.phase, phases[p]) && is_own(turn)) last[p] = list[i];
            if (format == SM_ROWS_MD) {
                if (!printed) print_md_head(list[i], out);
                if (!json_is_object(turn) && !plain++) print_md_columns(out);
                if (!json_is_object(turn)) print_md_row(&row, out);
            } else {
                if (format == SM_ROWS_JSON && printed) fputs(",\n ", out);
                print_row(&row, format, !printed, out);
            }
            printed++;
        }
        row_free(&row);
    }
    if (format != SM_ROWS_MD) return;
    print_sessions(list, count, out);
    for (size_t i = 0; i < count; i++)
        if (strcmp(sm_cell_text(list[i], "status"), "ok"))
            fprintf(out, "%s: %s: %s\n", sm_cell_text(list[i], "status"), sm_cell_text(list[i], "case"),
                    sm_cell_text(list[i], "why"));
    const char *told = "";
    for (size_t i = 0; i < count; i++) /* once for each recipe */
        if (strcmp(sm_cell_text(list[i], "recipe"), told) && sm_conversions_print(list[i], out))
            told = sm_cell_text(list[i], "recipe");
    for (int p = 0; p < 3; p++)
        if (last[p]) sm_rows_steps_print(last[p], out);
}

void sm_rows_print(const json_t *records, enum sm_rows_format format, FILE *out)
{
    const size_t count = json_array_size(records);
    json_t **list = malloc((count + 1) * sizeof *list);
    for (size_t i = 0; list && i < count; i++) list[i] = json_array_get(records, i);
    if (list) qsort(list, count, sizeof *list, by_shape);
    if (format == SM_ROWS_JSON) fputs("[", out);
    if (list) print_in_order(list, count, format, out);
    if (format == SM_ROWS_JSON) fputs("]\n", out);
    free(list);
}
