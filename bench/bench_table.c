#include "bench_table.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench_counters.h"
#include "bench_rows.h"
#include "by_compilers.h"
#include "limit.h"

const char *const sm_bench_formats[] = {"md", "csv", "json", "jsonl", NULL};

const char *sm_bench_time_text(double ns, char *text, size_t bytes)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    size_t unit = 0;
    for (; unit < 3 && ns >= 1000; unit++) ns /= 1000;
    snprintf(text, bytes, "%.*f %s", ns < 9.995 ? 2 : ns < 99.95 ? 1 : 0, ns, units[unit]);
    return text;
}

static const char *number_text(double value, int digits, char *text, size_t bytes)
{
    if (isfinite(value))
        snprintf(text, bytes, "%.*f", digits, value);
    else
        snprintf(text, bytes, "%s", "");
    return text;
}

/* Three digits, so that columns stay narrow. */
static const char *short_text(double value, char *text, size_t bytes)
{
    return number_text(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, text, bytes);
}

/* Quartile to quartile in % of the median. */
static const char *spread_text(const struct sm_summary *s, char *text, size_t bytes)
{
    const double percent = 100 * (s->q75 - s->q25) / s->median;
    if (percent > 999)
        snprintf(text, bytes, ">999");
    else
        short_text(percent, text, bytes);
    return text;
}

/* The axes of one family's table that differ from row to row, each a column. */
struct axes {
    size_t count;
    const char *name[SM_MAX_DIMS];
    int width[SM_MAX_DIMS];
};

/* As column heads; the notes explain them. */
static const char *short_axis(const char *name)
{
    static const char *const table[][2] = {{"max_seq", "K"},   {"head_dim", "hd"}, {"heads", "h"},
                                           {"kv_heads", "kv"}, {"window", "win"},  {"softcap", "cap"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i][0], name)) return table[i][1];
    return name;
}

static json_int_t axis_value(const json_t *record, const char *axis)
{
    return json_integer_value(json_object_get(json_object_get(record, "shape"), axis));
}

static struct axes varying_axes(struct sm_row *const *rows, size_t begin, size_t end)
{
    struct axes axes = {0};
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(rows[begin]->record, "shape"), name, value)
    {
        bool differs = false;
        int width = (int)strlen(short_axis(name));
        for (size_t i = begin; i < end; i++) {
            const json_int_t v = axis_value(rows[i]->record, name);
            const int digits = snprintf(NULL, 0, "%lld", (long long)v);
            differs |= v != json_integer_value(value);
            if (digits > width) width = digits;
        }
        if (!differs || axes.count == SM_MAX_DIMS) continue;
        axes.name[axes.count] = name;
        axes.width[axes.count++] = width;
    }
    return axes;
}

static bool both_states(struct sm_row *const *rows, size_t begin, size_t end)
{
    for (size_t i = begin + 1; i < end; i++)
        if (strcmp(sm_row_text(rows[i]->record, "cache_state"), sm_row_text(rows[begin]->record, "cache_state")))
            return true;
    return false;
}

/* With the state of the caches behind it where a table has both. */
static const char *variant_text(const json_t *record, bool both, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s%s%s", sm_row_text(record, "variant"), both ? ", " : "",
             both ? sm_row_text(record, "cache_state") : "");
    return text;
}

static void print_row(const struct sm_row *row, const struct axes *axes, int variant_width, bool both, FILE *out)
{
    char variant[128];
    char time[32], spread[32], rate[32], bytes[32], share[64] = "", error[32];
    const json_t *r = row->record;
    const char *name = sm_row_text(r, "binding_ceiling");
    fprintf(out, "| %-*s |", variant_width, variant_text(r, both, variant, sizeof variant));
    for (size_t i = 0; i < axes->count; i++)
        fprintf(out, " %*lld", axes->width[i], (long long)axis_value(r, axes->name[i]));
    fprintf(out, "%s %1.0f ", axes->count ? " |" : "", sm_row_number(r, "threads"));
    if (!sm_row_ok(r)) {
        fprintf(out, "| %s: %s |\n", sm_row_text(r, "status"), sm_row_text(r, "why"));
        return;
    }
    if (isfinite(row->share))
        snprintf(share, sizeof share, "%3.0f%s%.*s", 100 * row->share, row->share > SM_LIMIT_IMPOSSIBLE ? "*" : " ",
                 sm_limit_shown(name), name);
    const struct sm_summary *s = &row->summary;
    fprintf(out, "| %7s | %4s | %5s | %5s | %-13s | %4s |\n", sm_bench_time_text(s->median, time, sizeof time),
            spread_text(s, spread, sizeof spread), short_text(row->ops_per_cycle, rate, sizeof rate),
            short_text(row->bytes_per_ns, bytes, sizeof bytes), share,
            number_text(sm_row_number(r, "error_after"), 2, error, sizeof error));
}

static void print_rule(const struct axes *axes, int variant_width, FILE *out)
{
    static const char dashes[] = "----------------------------------------------------------------------------------";
    int shape_width = 0;
    for (size_t i = 0; i < axes->count; i++) shape_width += 1 + axes->width[i];
    fprintf(out, "|:%.*s|%.*s%s--:|--------:|-----:|------:|------:|:--------------|-----:|\n", variant_width + 1,
            dashes, shape_width, dashes, axes->count ? ":|" : "");
}

static void print_family(struct sm_row *const *rows, size_t begin, size_t end, FILE *out)
{
    char constant[SM_ROW_SHAPE_BYTES], variant[128];
    int variant_width = 7;
    const bool both = both_states(rows, begin, end);
    const json_t *first = rows[begin]->record;
    const char *unit = sm_row_text(first, "ops_unit");
    for (size_t i = begin; i < end; i++) {
        const int width = (int)strlen(variant_text(rows[i]->record, both, variant, sizeof variant));
        if (width > variant_width) variant_width = width;
        if (!*unit) unit = sm_row_text(rows[i]->record, "ops_unit");
    }
    if (!*unit) unit = "none timed";
    const struct axes axes = varying_axes(rows, begin, end);
    sm_row_shape(rows, begin, end, first, false, constant, sizeof constant);
    fprintf(out, "\n**%s**%s%s (op: %s; %s)\n\n", sm_row_text(first, "family"), *constant ? ", all at " : "", constant,
            !strcmp(unit, "multiply-adds") ? "multiply-add"
            : !strcmp(unit, "elements")    ? "element"
                                           : unit,
            both ? "hot and cold" : sm_row_text(first, "cache_state"));
    fprintf(out, "| %-*s |", variant_width, "variant");
    for (size_t i = 0; i < axes.count; i++) fprintf(out, " %*s", axes.width[i], short_axis(axes.name[i]));
    fprintf(out, "%s t | time    | +-%%  | op/cy | GB/s  | %% of limit    | err  |\n", axes.count ? " |" : "");
    print_rule(&axes, variant_width, out);
    for (size_t i = begin; i < end; i++) print_row(rows[i], &axes, variant_width, both, out);
}

static void print_csv(const json_t *records, struct sm_row *const *rows, size_t count, FILE *out)
{
    fprintf(out, "family,group,variant,layout,isa,shape,threads,cache_state,status,median_ns,q25_ns,q75_ns,samples,ops,"
                 "bytes,ops_per_cycle,bytes_per_s,binding_ceiling,share_of_ceiling,error,error_after,why,counters,"
                 "compiler,time_to_first_compiler\n");
    for (size_t i = 0; i < count; i++) {
        const json_t *r = rows[i]->record;
        char shape[SM_ROW_SHAPE_BYTES];
        sm_row_shape(NULL, 0, 0, r, false, shape, sizeof shape);
        fprintf(out, "%s,%s,%s,%s,%s,%s,%.0f,%s,%s", sm_row_text(r, "family"), sm_row_text(r, "group"),
                sm_row_text(r, "variant"), sm_row_text(r, "layout"), sm_row_text(r, "isa"), shape,
                sm_row_number(r, "threads"), sm_row_text(r, "cache_state"), sm_row_text(r, "status"));
        const struct sm_summary *s = &rows[i]->summary;
        const double before[] = {s->median, s->q25, s->q75},
                     after[] = {sm_row_number(r, "ops"), sm_row_number(r, "bytes"), rows[i]->ops_per_cycle,
                                rows[i]->bytes_per_ns * 1e9};
        char text[64];
        for (size_t k = 0; k < 3; k++)
            fprintf(out, ",%s", s->count ? number_text(before[k], 3, text, sizeof text) : "");
        fprintf(out, ",%zu", s->count);
        for (size_t k = 0; k < 4; k++) fprintf(out, ",%s", number_text(after[k], 3, text, sizeof text));
        fprintf(out, ",%s,%s", sm_row_text(r, "binding_ceiling"), number_text(rows[i]->share, 4, text, sizeof text));
        fprintf(out, ",%s", number_text(sm_row_number(r, "error"), 4, text, sizeof text));
        fprintf(out, ",%s,\"%s\"", number_text(sm_row_number(r, "error_after"), 4, text, sizeof text),
                sm_row_text(r, "why"));
        char counters[1024];
        fprintf(out, ",%s,%s,%s\n", sm_bench_counters_text(r, counters, sizeof counters), sm_row_compiler(r),
                number_text(sm_by_compilers_ratio(records, r, NULL), 4, text, sizeof text));
    }
}

void sm_bench_table_print(json_t *records, enum sm_bench_format format, FILE *out)
{
    const size_t count = json_array_size(records);
    struct sm_row *storage = NULL, **rows = NULL;
    if (format == SM_BENCH_JSON || format == SM_BENCH_JSONL) {
        if (format == SM_BENCH_JSON) fputs("[\n", out);
        for (size_t i = 0; i < count; i++) {
            json_dumpf(json_array_get(records, i), out, JSON_COMPACT);
            fputs(format == SM_BENCH_JSON && i + 1 < count ? ",\n" : "\n", out);
        }
        if (format == SM_BENCH_JSON) fputs("]\n", out);
        return;
    }
    rows = sm_rows_sorted(records, &storage);
    if (!rows) return;
    if (format == SM_BENCH_CSV) {
        print_csv(records, rows, count, out);
    } else {
        for (size_t begin = 0, end; begin < count; begin = end) {
            for (end = begin + 1;
                 end < count && sm_row_family(rows[end]->record) == sm_row_family(rows[begin]->record);)
                end++;
            print_family(rows, begin, end, out);
        }
    }
    free(rows);
    free(storage);
}
