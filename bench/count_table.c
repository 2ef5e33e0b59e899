#include "count_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_rows.h"
#include "record.h"

static const struct {
    const char *name, *head;
    int width;
} columns[] = {{"instructions", "instructions", 12},
               {"branches", "branches", 9},
               {"memory_reads", "reads", 10},
               {"memory_writes", "writes", 10},
               {"sim_l1i_misses", "I1", 4},
               {"sim_l1d_misses", "D1", 8},
               {"sim_ll_misses", "LL", 8}};
#define COLUMNS (sizeof columns / sizeof *columns)

static const char *count_text(const json_t *record, const char *name, char *text, size_t bytes)
{
    size_t index;
    json_t *counter;
    *text = 0;
    json_array_foreach(json_object_get(record, "counters"), index, counter)
    {
        const json_t *value = json_object_get(counter, "value");
        if (!strcmp(sm_row_text(counter, "name"), name) && json_is_integer(value))
            snprintf(text, bytes, "%lld", (long long)json_integer_value(value));
    }
    return text;
}

static void print_row(struct sm_row *const *rows, size_t begin, size_t end, size_t i, int name_width, int shape_width,
                      FILE *out)
{
    const json_t *r = rows[i]->record;
    char shape[SM_ROW_SHAPE_BYTES], text[32], per[32] = "";
    sm_row_shape(rows, begin, end, r, true, shape, sizeof shape);
    fprintf(out, "| %-*s | %-*s | %1.0f | %-6s |", name_width, sm_row_text(r, "variant"), shape_width, shape,
            sm_row_number(r, "threads"), sm_row_text(r, "cache_state"));
    if (!sm_row_ok(r)) {
        fprintf(out, " %s: %s |\n", sm_row_text(r, "status"), sm_row_text(r, "why"));
        return;
    }
    for (size_t k = 0; k < COLUMNS; k++) {
        count_text(r, columns[k].name, text, sizeof text);
        fprintf(out, " %*s |", columns[k].width, text);
        if (k) continue;
        const double ops = sm_row_number(r, "ops");
        if (ops > 0) snprintf(per, sizeof per, "%.3f", strtod(text, NULL) / ops);
        fprintf(out, " %7s |", per);
    }
    fprintf(out, "\n");
}

static void print_rule(int width, bool left, FILE *out)
{
    fprintf(out, "%s", left ? ":" : "");
    for (int i = 0; i < width + 1; i++) fputc('-', out);
    fprintf(out, "%s|", left ? "" : ":");
}

static void print_family(struct sm_row *const *rows, size_t begin, size_t end, FILE *out)
{
    const json_t *first = rows[begin]->record;
    char shape[SM_ROW_SHAPE_BYTES];
    int name_width = 7, shape_width = 5;
    for (size_t i = begin; i < end; i++) {
        const int name = (int)strlen(sm_row_text(rows[i]->record, "variant"));
        sm_row_shape(rows, begin, end, rows[i]->record, true, shape, sizeof shape);
        const int wide = (int)strlen(shape);
        if (name > name_width) name_width = name;
        if (wide > shape_width) shape_width = wide;
    }
    sm_row_shape(rows, begin, end, first, false, shape, sizeof shape);
    fprintf(out, "\n**%s**%s%s (one call)\n\n", sm_row_text(first, "family"), *shape ? ", all at " : "", shape);
    fprintf(out, "| %-*s | %-*s | t | caches |", name_width, "variant", shape_width, "shape");
    for (size_t k = 0; k < COLUMNS; k++) {
        fprintf(out, " %*s |", columns[k].width, columns[k].head);
        if (!k) fprintf(out, "  per op |");
    }
    fprintf(out, "\n|");
    print_rule(name_width, true, out);
    print_rule(shape_width, true, out);
    fprintf(out, "--:|:-------|");
    for (size_t k = 0; k < COLUMNS; k++) {
        print_rule(columns[k].width, false, out);
        if (!k) print_rule(7, false, out);
    }
    fprintf(out, "\n");
    for (size_t i = begin; i < end; i++) print_row(rows, begin, end, i, name_width, shape_width, out);
}

static void print_csv(struct sm_row *const *rows, size_t count, FILE *out)
{
    char text[SM_ROW_SHAPE_BYTES];
    fprintf(out, "family,group,variant,layout,isa,shape,threads,cache_state,status");
    for (size_t k = 0; k < COLUMNS; k++) fprintf(out, ",%s", columns[k].name);
    fprintf(out, ",ops,bytes,provider,why\n");
    for (size_t i = 0; i < count; i++) {
        const json_t *r = rows[i]->record;
        sm_row_shape(NULL, 0, 0, r, false, text, sizeof text);
        fprintf(out, "%s,%s,%s,%s,%s,%s,%.0f,%s,%s", sm_row_text(r, "family"), sm_row_text(r, "group"),
                sm_row_text(r, "variant"), sm_row_text(r, "layout"), sm_row_text(r, "isa"), text,
                sm_row_number(r, "threads"), sm_row_text(r, "cache_state"), sm_row_text(r, "status"));
        for (size_t k = 0; k < COLUMNS; k++) fprintf(out, ",%s", count_text(r, columns[k].name, text, sizeof text));
        for (const char *const *key = (const char *const[]){"ops", "bytes", NULL}; *key; key++) {
            const double value = sm_row_number(r, *key);
            if (isfinite(value))
                fprintf(out, ",%.0f", value);
            else
                fprintf(out, ",");
        }
        fprintf(out, ",callgrind,\"%s\"\n", sm_row_text(r, "why"));
    }
}

static void print_cache(const json_t *tool, const char *key, const char *name, FILE *out)
{
    const json_t *cache = json_object_get(tool, key);
    fprintf(out, ", %s %.0f KiB %.0f ways", name, sm_row_number(cache, "bytes") / 1024, sm_row_number(cache, "ways"));
}

static void print_notes(const json_t *records, const char *path, FILE *out)
{
    size_t index, ok = 0, wrong = 0, skipped = 0;
    const json_t *record, *tool = NULL;
    json_array_foreach(records, index, record)
    {
        const char *status = sm_row_text(record, "status");
        ok += !strcmp(status, "ok");
        wrong += !strcmp(status, "error");
        skipped += !strcmp(status, "skipped");
        tool = json_object_get(record, "callgrind");
    }
    fprintf(out, "\nt threads: their parts are counted alone, one after another, and added; branches: jumps that are "
                 "conditional or\nindirect, no calls and returns; I1, D1, LL: misses of simulated caches");
    if (tool) {
        print_cache(tool, "i1", "I1", out);
        print_cache(tool, "d1", "D1", out);
        print_cache(tool, "ll", "LL", out);
        fprintf(out, ".\nhot: after two calls; cold: the operands have left these caches. Counted by %s's callgrind",
                sm_row_text(tool, "valgrind"));
    }
    fprintf(out, ".\n\n%zu cases counted, %zu wrong, %zu skipped\nrecords: %s\n", ok, wrong, skipped, path);
}

/* The last record of each case: a resumed file may hold an earlier try. */
static int keep(void *context, const json_t *record)
{
    if (strcmp(sm_row_text(record, "kind"), "count")) return 0;
    return json_object_set_new(context, sm_row_text(record, "case"), json_deep_copy(record));
}

int sm_count_show(const char *path, enum sm_bench_format format, char *why, size_t why_bytes)
{
    struct sm_records_summary summary;
    struct sm_row *storage = NULL, **rows = NULL;
    json_t *by_case = json_object(), *records = json_array(), *record;
    const char *id;
    const int result = sm_records_read(path, keep, by_case, &summary, why, why_bytes);
    json_object_foreach(by_case, id, record) json_array_append(records, record);
    json_decref(by_case);
    const size_t count = json_array_size(records);
    if (format == SM_BENCH_JSON || format == SM_BENCH_JSONL)
        sm_bench_table_print(records, format, stdout);
    else
        rows = sm_rows_sorted(records, &storage);
    if (rows && format == SM_BENCH_CSV) print_csv(rows, count, stdout);
    for (size_t begin = 0, end; rows && format == SM_BENCH_MD && begin < count; begin = end) {
        for (end = begin + 1; end < count && sm_row_family(rows[end]->record) == sm_row_family(rows[begin]->record);)
            end++;
        print_family(rows, begin, end, stdout);
    }
    print_notes(records, path, format == SM_BENCH_MD ? stdout : stderr);
    free(rows);
    free(storage);
    json_decref(records);
    return result;
}
