#include "costs_print.h"

#include <math.h>
#include <string.h>

#include "cells.h"
#include "record.h"

#define MIB (1024.0 * 1024.0)

static const json_t *cost_of(const json_t *record)
{
    return json_object_get(record, "cost");
}

static const char *shown(char *cell, size_t bytes, const char *format, double value)
{
    return sm_cell_shown(cell, bytes, format, value);
}

/* "literal f16 t2": which series a row is of. */
static const char *series_name(const json_t *record, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s %s t%.0f", sm_cell_text(cost_of(record), "attention"), sm_cell_text(record, "kv_type"),
             sm_cell_number(record, "threads"));
    return text;
}

static void print_errors(const json_t *findings, FILE *out)
{
    size_t i, k;
    json_t *record, *p;
    char a[32], b[32], c[32], name[64];
    fprintf(out, "\nThe curve, judged by points held out from it (errors relative to what was measured):\n\n"
                 "| series          | phase   | points | held out | median error | worst | 90 %% within |\n"
                 "|-----------------|---------|-------:|---------:|-------------:|------:|------------:|\n");
    json_array_foreach(findings, i, record) json_array_foreach(json_object_get(cost_of(record), "phases"), k, p)
    {
        const double held_out = sm_cell_number(p, "held_out");
        fprintf(out, "| %-15s | %-7s | %6.0f | %8.0f | %12s | %5s | %11s |\n", series_name(record, name, sizeof name),
                sm_cell_text(p, "phase"), sm_cell_number(p, "points"), held_out,
                shown(a, sizeof a, "%.1f %%", 100 * sm_cell_number(p, "median_error")),
                shown(b, sizeof b, "%.1f %%", 100 * sm_cell_number(p, "worst_error")),
                shown(c, sizeof c, "%.1f %%", 100 * sm_cell_number(p, "band")));
    }
}

static void print_slopes(const json_t *findings, FILE *out)
{
    size_t i, k;
    json_t *record, *knee;
    char a[32], b[32], c[32], name[64];
    fprintf(
        out,
        "\nWhat a decode pays for a slot, and where an append bucket stops being free (the knee M*):\n\n"
        "| series          | ns per slot | ns per valid slot | at max_seq | knee, rows | within 10 %% of one row |\n"
        "|-----------------|------------:|------------------:|-----------:|-----------:|-----------------------:|\n");
    json_array_foreach(findings, i, record) json_array_foreach(json_object_get(cost_of(record), "knees"), k, knee)
    {
        fprintf(out, "| %-15s | %11s | %17s | %10.0f | %10s | %22.0f |\n", series_name(record, name, sizeof name),
                shown(a, sizeof a, "%.1f", sm_cell_number(cost_of(record), "slot_ns")),
                shown(b, sizeof b, "%.1f", sm_cell_number(cost_of(record), "valid_ns")),
                sm_cell_number(knee, "max_seq"), shown(c, sizeof c, "%.1f", sm_cell_number(knee, "rows")),
                sm_cell_number(knee, "free_rows"));
    }
}

static void print_curve(const json_t *findings, FILE *out)
{
    size_t i, k;
    json_t *record, *p;
    char name[64];
    fprintf(out, "\nThe bucket curve: a call of so many rows, 1 a decode:\n\n"
                 "| series          | max_seq | rows |  past |        ms | least, ms | curve, ms | ms a row |"
                 " plan, MiB |\n"
                 "|-----------------|--------:|-----:|------:|----------:|----------:|----------:|---------:|"
                 "----------:|\n");
    json_array_foreach(findings, i, record) json_array_foreach(json_object_get(cost_of(record), "curve"), k, p)
    {
        const double ns = sm_cell_number(p, "ns"), rows = sm_cell_number(p, "rows");
        fprintf(out, "| %-15s | %7.0f | %4.0f | %5.0f | %9.3f | %9.3f | %9.3f | %8.3f | %9.2f |\n",
                series_name(record, name, sizeof name), sm_cell_number(p, "max_seq"), rows, sm_cell_number(p, "past"),
                ns / 1e6, sm_cell_number(p, "least_ns") / 1e6, sm_cell_number(p, "curve_ns") / 1e6, ns / rows / 1e6,
                sm_cell_number(p, "arena_bytes") / MIB);
    }
}

/* One row for each number of tokens, a column for each set. */
static void print_padding(const json_t *record, FILE *out)
{
    const json_t *padding = json_object_get(cost_of(record), "padding");
    const char *sets[8];
    char name[64];
    size_t n = 0, i, k;
    json_t *p, *q;
    json_array_foreach(padding, i, p)
    {
        size_t known = 0;
        while (known < n && strcmp(sets[known], sm_cell_text(p, "set")) != 0) known++;
        if (known == n && n < 8) sets[n++] = sm_cell_text(p, "set");
    }
    if (!n) return;
    fprintf(out, "\nPadding tax (time in a set's buckets over time in buckets made for the tokens), %s:\n\n| tokens |",
            series_name(record, name, sizeof name));
    for (k = 0; k < n; k++) fprintf(out, " %s |", sets[k]);
    fprintf(out, "\n|-------:|");
    for (k = 0; k < n; k++)
        fprintf(out, "%.*s:|", (int)strlen(sets[k]) + 1, "--------------------------------------------");
    json_array_foreach(padding, i, p)
    {
        if (strcmp(sm_cell_text(p, "set"), sets[0]) != 0) continue;
        const double tokens = sm_cell_number(p, "tokens");
        fprintf(out, "\n| %6.0f |", tokens);
        for (k = 0; k < n; k++) {
            double tax = NAN;
            size_t j;
            char cell[32];
            json_array_foreach(padding, j, q) if (!strcmp(sm_cell_text(q, "set"), sets[k]) &&
                                                  sm_cell_number(q, "tokens") >= tokens &&
                                                  sm_cell_number(q, "tokens") <= tokens) tax = sm_cell_number(q, "tax");
            fprintf(out, " %*s |", (int)strlen(sets[k]), shown(cell, sizeof cell, "%.2f", tax));
        }
    }
    fprintf(out, "\n");
}

static void print_mask(const json_t *findings, FILE *out)
{
    size_t i, k, n = 0;
    json_t *record, *p;
    char name[64], cell[32];
    json_array_foreach(findings, i, record) json_array_foreach(json_object_get(cost_of(record), "mask"), k, p)
    {
        if (!n++)
            fprintf(out, "\nMask tax of a decode (literal over skip at the same valid length, by the curves; and as "
                         "measured):\n\n"
                         "| series          | max_seq | valid | literal, ms | skip, ms | mask tax | measured |\n"
                         "|-----------------|--------:|------:|------------:|---------:|---------:|---------:|\n");
        fprintf(out, "| %-15s | %7.0f | %5.0f | %11.3f | %8.3f | %8.2f | %8s |\n",
                series_name(record, name, sizeof name), sm_cell_number(p, "max_seq"), sm_cell_number(p, "valid"),
                sm_cell_number(p, "literal_ns") / 1e6, sm_cell_number(p, "skip_ns") / 1e6, sm_cell_number(p, "tax"),
                shown(cell, sizeof cell, "%.2f", sm_cell_number(p, "measured_tax")));
    }
}

static void print_sizes(const json_t *findings, FILE *out)
{
    size_t i, k;
    json_t *record, *p;
    char a[32], b[32], c[32], d[32], name[64];
    fprintf(
        out,
        "\nThe price of max_seq: a decode after %.0f valid slots, and its memory, which is exact (+: beyond what was "
        "measured):\n\n"
        "| series          | max_seq | measured, ms | curve, ms   | cache, MiB | plan, MiB |\n"
        "|-----------------|--------:|-------------:|------------:|-----------:|----------:|\n",
        sm_cell_number(json_array_get(json_object_get(cost_of(json_array_get(findings, 0)), "sizes"), 0), "past"));
    json_array_foreach(findings, i, record) json_array_foreach(json_object_get(cost_of(record), "sizes"), k, p)
    {
        const char *format = json_is_true(json_object_get(p, "extrapolated")) ? "%.3f +" : "%.3f";
        fprintf(out, "| %-15s | %7.0f | %12s | %11s | %10s | %9s |\n", series_name(record, name, sizeof name),
                sm_cell_number(p, "max_seq"), shown(a, sizeof a, "%.3f", sm_cell_number(p, "ns") / 1e6),
                shown(b, sizeof b, format, sm_cell_number(p, "curve_ns") / 1e6),
                shown(c, sizeof c, "%.1f", sm_cell_number(p, "cache_bytes") / MIB),
                shown(d, sizeof d, "%.2f", sm_cell_number(p, "arena_bytes") / MIB));
    }
}

/* Whether another record of the same series and phase has more rows: the tables show the largest. */
static bool is_outgrown(const json_t *steps, const json_t *record)
{
    size_t i;
    const json_t *o;
    char own[64], other[64];
    json_array_foreach(steps, i,
                       o) if (!strcmp(sm_cell_text(o, "phase"), sm_cell_text(record, "phase")) &&
                              !strcmp(series_name(o, other, sizeof other), series_name(record, own, sizeof own)) &&
                              sm_cell_number(o, "bucket") > sm_cell_number(record, "bucket")) return true;
    return false;
}

/* "full 1.20, sliding 3.41": ms of each kind of layer, where there are several. */
static void kinds_text(const json_t *record, char *text, size_t bytes)
{
    static const char *const kinds[] = {"full",    "full donor",    "full consumer",
                                        "sliding", "sliding donor", "sliding consumer"};
    size_t i, k, used = 0;
    const json_t *step, *part;
    *text = 0;
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        double ns = 0;
        json_array_foreach(json_object_get(record, "steps"), i, step) json_array_foreach(
            json_object_get(step, "parts"), k, part) if (!strcmp(sm_cell_text(part, "part"), kinds[kind])) ns +=
            sm_cell_number(part, "ns");
        if (ns > 0 && used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "%s%s %.2f", used ? ", " : "", kinds[kind], ns / 1e6);
    }
}

static void print_layers(const json_t *steps, FILE *out)
{
    size_t i, k, n = 0;
    const json_t *record, *step;
    char name[64], kinds[256], spread[16];
    json_array_foreach(steps, i, record)
    {
        double all = 0, attention = 0;
        if (is_outgrown(steps, record)) continue;
        json_array_foreach(json_object_get(record, "steps"), k, step)
        {
            const double ns = sm_cell_number(step, "ns");
            if (!(ns > 0)) continue;
            all += ns;
            if (!strcmp(sm_cell_text(step, "label"), "attention")) attention += ns;
        }
        kinds_text(record, kinds, sizeof kinds);
        if (!n++)
            fprintf(out, "\nWhere a call goes (the median of a few with a clock between the steps), how far such calls "
                         "differ (half "
                         "of what\nlies between their quartiles), and by kind of layer where they differ:\n\n"
                         "| series          | phase   | rows | max_seq | valid |       ms |   +-%% | attention | kinds "
                         "of layers, ms "
                         "|\n"
                         "|-----------------|---------|-----:|--------:|------:|---------:|------:|----------:|:-------"
                         "-------------"
                         "|\n");
        fprintf(out, "| %-15s | %-7s | %4.0f | %7.0f | %5.0f | %8.2f | %5s | %7.1f %% | %-19s |\n",
                series_name(record, name, sizeof name), sm_cell_text(record, "phase"), sm_cell_number(record, "bucket"),
                sm_cell_number(record, "max_seq"),
                sm_cell_number(record, "n_depth") + sm_cell_number(record, "n_prompt"), all / 1e6,
                shown(spread, sizeof spread, "%.1f", 100 * sm_cell_number(cost_of(record), "spread")),
                all > 0 ? 100 * attention / all : 0, kinds);
    }
}

void costs_print_findings(const json_t *findings, const json_t *steps, FILE *out)
{
    size_t i;
    json_t *record;
    if (!json_array_size(findings)) return;
    print_errors(findings, out);
    print_slopes(findings, out);
    print_curve(findings, out);
    json_array_foreach(findings, i, record) print_padding(record, out);
    print_mask(findings, out);
    print_layers(steps, out);
    print_sizes(findings, out);
}

static json_t *point_json(const struct sm_cost_series *s, const struct sm_cost_measured *m)
{
    char why[256];
    struct sm_cost c = {.ns = NAN};
    const struct sm_cost_call call = {m->phase, m->rows, m->max_seq, m->past, m->tokens};
    (void)sm_cost_predict(s, &call, &c, why, sizeof why);
    return json_pack("{s:s,s:s,s:s,s:s,s:I,s:s,s:I,s:I,s:I,s:I,s:b,s:I,s:f,s:f,s:f,s:f,s:o,s:f,s:f}", "model", s->model,
                     "recipe", s->recipe, "attention", sm_cost_attention_name(s->attention), "kv", sm_kv_name(s->kv),
                     "threads", (json_int_t)s->threads, "phase", sm_phase_name(m->phase), "rows", (json_int_t)m->rows,
                     "max_seq", (json_int_t)m->max_seq, "past", (json_int_t)m->past, "tokens", (json_int_t)m->tokens,
                     "held_out", m->held_out, "samples", (json_int_t)m->samples, "ns", m->ns, "least_ns", m->least,
                     "low_ns", m->low, "high_ns", m->high, "curve_ns", sm_record_number(c.ns), "arena_bytes",
                     m->arena_bytes, "cache_bytes", m->cache_bytes);
}

static void print_csv_row(const json_t *point, bool head, FILE *out)
{
    const char *key, *comma = "";
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)point, key, value)
    {
        fputs(comma, out);
        comma = ",";
        if (head)
            fputs(key, out);
        else if (json_is_string(value))
            fprintf(out, "%s", json_string_value(value));
        else if (json_is_integer(value))
            fprintf(out, "%lld", (long long)json_integer_value(value));
        else if (json_is_boolean(value))
            fputs(json_is_true(value) ? "1" : "0", out);
        else if (json_is_number(value))
            fprintf(out, "%.9g", json_number_value(value));
    }
    fputs("\n", out);
}

void costs_print_points(const struct sm_cost_table *table, enum costs_format format, FILE *out)
{
    json_t *all = json_array();
    size_t i;
    json_t *point;
    for (size_t t = 0; t < sm_cost_table_count(table); t++) {
        const struct sm_cost_series *s = sm_cost_table_at(table, t);
        for (size_t p = 0; p < s->count; p++) json_array_append_new(all, point_json(s, &s->measured[p]));
    }
    if (format == COSTS_JSON) {
        json_dumpf(all, out, JSON_INDENT(2));
        fputs("\n", out);
    }
    if (format == COSTS_CSV && json_array_size(all)) print_csv_row(json_array_get(all, 0), true, out);
    json_array_foreach(all, i, point)
    {
        if (format == COSTS_CSV) print_csv_row(point, false, out);
        if (format != COSTS_JSONL) continue;
        json_dumpf(point, out, JSON_COMPACT);
        fputs("\n", out);
    }
    json_decref(all);
}
