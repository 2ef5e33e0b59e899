#include "bench_table.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "registry.h"
#include "stats.h"

#define SHAPE_BYTES 200
#define SAMPLES_MOST 4096

const char *const sm_bench_formats[] = {"md", "csv", "json", "jsonl", NULL};

/* What a row shows, computed from the raw samples of a record. NAN: not there. */
struct row {
    json_t *record;
    struct sm_summary summary;
    double ops_per_cycle, bytes_per_ns, share;
};

static const char *text_of(const json_t *record, const char *key)
{
    const char *text = json_string_value(json_object_get(record, key));
    return text ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static bool is_ok(const json_t *record)
{
    return !strcmp(text_of(record, "status"), "ok");
}

static struct row row_of(json_t *record)
{
    struct row row = {.record = record, .ops_per_cycle = NAN, .bytes_per_ns = NAN, .share = NAN};
    double samples[SAMPLES_MOST];
    json_t *raw = json_object_get(record, "samples"), *witnesses = json_object_get(record, "witnesses");
    size_t count = json_array_size(raw);
    if (count > SAMPLES_MOST) count = SAMPLES_MOST;
    for (size_t i = 0; i < count; i++) samples[i] = json_number_value(json_array_get(raw, i));
    if (sm_summarise(samples, count, &row.summary)) return row;
    const double hz = (number_of(witnesses, "core_hz_before") + number_of(witnesses, "core_hz_after")) / 2;
    const double ops = number_of(record, "ops"), ns = row.summary.median;
    if (ops > 0) row.ops_per_cycle = ops / (ns * 1e-9 * hz * number_of(record, "threads"));
    row.bytes_per_ns = number_of(record, "bytes") / ns;
    const json_t *limit = json_object_get(json_object_get(record, "ceilings"), text_of(record, "binding_ceiling"));
    const char *unit = text_of(limit, "unit");
    const double value = number_of(limit, "value");
    if (!strcmp(unit, "B/s"))
        row.share = row.bytes_per_ns * 1e9 / value;
    else if (limit)
        row.share = row.ops_per_cycle / value;
    return row;
}

const char *sm_bench_time_text(double ns, char *text, size_t bytes)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    size_t unit = 0;
    for (; unit < 3 && ns >= 1000; unit++) ns /= 1000;
    snprintf(text, bytes, "%.*f %s", ns < 10 ? 2 : ns < 100 ? 1 : 0, ns, units[unit]);
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

/* The axes that differ among rows [begin, end), or (differ false) those that do not. */
static void shape_text(struct row *const *rows, size_t begin, size_t end, const json_t *record, bool differ, char *text,
                       size_t bytes)
{
    const char *axis;
    json_t *value;
    size_t used = 0;
    *text = 0;
    json_object_foreach(json_object_get(record, "shape"), axis, value)
    {
        bool differs = false;
        for (size_t i = begin; i < end && !differs; i++)
            differs = !json_equal(json_object_get(json_object_get(rows[i]->record, "shape"), axis), value);
        if (differs != differ || used >= bytes) continue;
        used += (size_t)snprintf(text + used, bytes - used, "%s%s=%lld", used ? " " : "", axis,
                                 (long long)json_integer_value(value));
    }
}

static size_t family_place(const json_t *record)
{
    for (size_t i = 0; i < sm_family_count(); i++)
        if (!strcmp(sm_family_at(i)->name, text_of(record, "family"))) return i;
    return sm_family_count();
}

/* Families in the registry's order, then shape by shape, then the variants as they were listed. */
static int compare_rows(const void *a, const void *b)
{
    const json_t *x = (*(struct row *const *)a)->record, *y = (*(struct row *const *)b)->record;
    const size_t fx = family_place(x), fy = family_place(y);
    if (fx != fy) return fx < fy ? -1 : 1;
    const char *axis;
    json_t *value;
    json_object_foreach(json_object_get(x, "shape"), axis, value)
    {
        const json_int_t vx = json_integer_value(value),
                         vy = json_integer_value(json_object_get(json_object_get(y, "shape"), axis));
        if (vx != vy) return vx < vy ? -1 : 1;
    }
    const double tx = number_of(x, "threads"), ty = number_of(y, "threads");
    if (tx < ty || tx > ty) return tx < ty ? -1 : 1;
    return strcmp(text_of(x, "variant"), text_of(y, "variant"));
}

static struct row **sorted_rows(json_t *records, struct row **storage)
{
    const size_t count = json_array_size(records);
    struct row *rows = calloc(count + 1, sizeof *rows), **order = calloc(count + 1, sizeof *order);
    if (rows && order) {
        for (size_t i = 0; i < count; i++) {
            rows[i] = row_of(json_array_get(records, i));
            order[i] = &rows[i];
        }
        qsort(order, count, sizeof *order, compare_rows);
        *storage = rows;
        return order;
    }
    free(rows);
    free(order);
    return NULL;
}

static void print_row(const struct row *row, const char *shape, int shape_width, int variant_width, FILE *out)
{
    char time[32], spread[32], rate[32], bytes[32], share[64] = "", error[32];
    const json_t *r = row->record;
    fprintf(out, "| %-*s | %-*s | %2.0f ", variant_width, text_of(r, "variant"), shape_width, shape,
            number_of(r, "threads"));
    if (!is_ok(r)) {
        fprintf(out, "| %s: %s |\n", text_of(r, "status"), text_of(r, "why"));
        return;
    }
    if (isfinite(row->share))
        snprintf(share, sizeof share, "%3.0f%s%s", 100 * row->share, row->share > 1.05 ? "* " : " ",
                 text_of(r, "binding_ceiling"));
    fprintf(out, "| %8s | %5s | %6s | %6s | %-24s | %5s |\n",
            sm_bench_time_text(row->summary.median, time, sizeof time),
            number_text(100 * (row->summary.q75 - row->summary.q25) / row->summary.median, 1, spread, sizeof spread),
            number_text(row->ops_per_cycle, row->ops_per_cycle < 10 ? 2 : 1, rate, sizeof rate),
            number_text(row->bytes_per_ns, row->bytes_per_ns < 10 ? 2 : 1, bytes, sizeof bytes), share,
            number_text(number_of(r, "error_after"), 2, error, sizeof error));
}

static void print_family(struct row *const *rows, size_t begin, size_t end, FILE *out)
{
    char shape[SHAPE_BYTES];
    int shape_width = 5, variant_width = 7;
    const json_t *first = rows[begin]->record;
    const char *unit = text_of(first, "ops_unit");
    for (size_t i = begin; i < end; i++) {
        shape_text(rows, begin, end, rows[i]->record, true, shape, sizeof shape);
        if ((int)strlen(shape) > shape_width) shape_width = (int)strlen(shape);
        const int width = (int)strlen(text_of(rows[i]->record, "variant"));
        if (width > variant_width) variant_width = width;
        if (!*unit) unit = text_of(rows[i]->record, "ops_unit");
    }
    shape_text(rows, begin, end, first, false, shape, sizeof shape);
    fprintf(out, "\n**%s**%s%s (op: %s; %s)\n\n", text_of(first, "family"), *shape ? ", all at " : "", shape,
            !strcmp(unit, "multiply-adds") ? "multiply-add"
            : !strcmp(unit, "elements")    ? "element"
                                           : unit,
            text_of(first, "cache_state"));
    fprintf(out, "| %-*s | %-*s |  t | time     | +-%%   | op/cyc | GB/s   | %% of limit               | error |\n",
            variant_width, "variant", shape_width, "shape");
    fprintf(out, "|:%.*s|:%.*s|---:|---------:|------:|-------:|-------:|:-------------------------|------:|\n",
            variant_width + 1, "------------------------------------------------------------", shape_width + 1,
            "----------------------------------------------------------------------------------------------------");
    for (size_t i = begin; i < end; i++) {
        shape_text(rows, begin, end, rows[i]->record, true, shape, sizeof shape);
        print_row(rows[i], shape, shape_width, variant_width, out);
    }
}

static void print_csv(struct row *const *rows, size_t count, FILE *out)
{
    fprintf(out, "family,group,variant,layout,isa,shape,threads,cache_state,status,median_ns,q25_ns,q75_ns,samples,ops,"
                 "bytes,ops_per_cycle,bytes_per_s,binding_ceiling,share_of_ceiling,error,error_after,why\n");
    for (size_t i = 0; i < count; i++) {
        const json_t *r = rows[i]->record;
        char shape[SHAPE_BYTES];
        shape_text(NULL, 0, 0, r, false, shape, sizeof shape);
        fprintf(out, "%s,%s,%s,%s,%s,%s,%.0f,%s,%s", text_of(r, "family"), text_of(r, "group"), text_of(r, "variant"),
                text_of(r, "layout"), text_of(r, "isa"), shape, number_of(r, "threads"), text_of(r, "cache_state"),
                text_of(r, "status"));
        const struct sm_summary *s = &rows[i]->summary;
        const double before[] = {s->median, s->q25, s->q75},
                     after[] = {number_of(r, "ops"), number_of(r, "bytes"), rows[i]->ops_per_cycle,
                                rows[i]->bytes_per_ns * 1e9};
        char text[64];
        for (size_t k = 0; k < 3; k++)
            fprintf(out, ",%s", s->count ? number_text(before[k], 3, text, sizeof text) : "");
        fprintf(out, ",%zu", s->count);
        for (size_t k = 0; k < 4; k++) fprintf(out, ",%s", number_text(after[k], 3, text, sizeof text));
        fprintf(out, ",%s,%s", text_of(r, "binding_ceiling"), number_text(rows[i]->share, 4, text, sizeof text));
        fprintf(out, ",%s", number_text(number_of(r, "error"), 4, text, sizeof text));
        fprintf(out, ",%s,\"%s\"\n", number_text(number_of(r, "error_after"), 4, text, sizeof text), text_of(r, "why"));
    }
}

void sm_bench_table_print(json_t *records, enum sm_bench_format format, FILE *out)
{
    const size_t count = json_array_size(records);
    struct row *storage = NULL, **rows = NULL;
    if (format == SM_BENCH_JSON || format == SM_BENCH_JSONL) {
        if (format == SM_BENCH_JSON) fputs("[\n", out);
        for (size_t i = 0; i < count; i++) {
            json_dumpf(json_array_get(records, i), out, JSON_COMPACT);
            fputs(format == SM_BENCH_JSON && i + 1 < count ? ",\n" : "\n", out);
        }
        if (format == SM_BENCH_JSON) fputs("]\n", out);
        return;
    }
    rows = sorted_rows(records, &storage);
    if (!rows) return;
    if (format == SM_BENCH_CSV) {
        print_csv(rows, count, out);
    } else {
        for (size_t begin = 0, end; begin < count; begin = end) {
            for (end = begin + 1; end < count && family_place(rows[end]->record) == family_place(rows[begin]->record);)
                end++;
            print_family(rows, begin, end, out);
        }
    }
    free(rows);
    free(storage);
}

static bool same_place(const json_t *a, const json_t *b)
{
    return !strcmp(text_of(a, "family"), text_of(b, "family")) &&
           json_equal(json_object_get(a, "shape"), json_object_get(b, "shape")) &&
           json_equal(json_object_get(a, "threads"), json_object_get(b, "threads")) &&
           !strcmp(text_of(a, "cache_state"), text_of(b, "cache_state"));
}

static const struct sm_variant *variant_of(const json_t *record)
{
    const struct sm_family *f = sm_family_named(text_of(record, "family"));
    return f ? sm_variant_named(f, text_of(record, "variant")) : NULL;
}

/* Whether b is listed before a, could be used in its place, and was clearly faster: quartiles apart, and 5 %. */
static bool out_of_order(const struct row *a, const struct row *b)
{
    const struct sm_variant *va = variant_of(a->record), *vb = variant_of(b->record);
    if (!va || !vb || vb >= va || va->layout->format != vb->layout->format) return false;
    if (!va->layout->pack && strcmp(va->layout->name, vb->layout->name)) return false;
    return b->summary.q75 < a->summary.q25 && b->summary.median < 0.95 * a->summary.median;
}

static void print_order(struct row *const *rows, size_t count, FILE *out)
{
    bool said = false;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            if (!is_ok(rows[i]->record) || !is_ok(rows[j]->record)) continue;
            if (!same_place(rows[i]->record, rows[j]->record) || !out_of_order(rows[i], rows[j])) continue;
            char shape[SHAPE_BYTES], slow[32], fast[32];
            shape_text(NULL, 0, 0, rows[i]->record, false, shape, sizeof shape);
            if (!said)
                fprintf(out,
                        "\nslower than a variant that the list puts before it (dispatch takes the last that fits):\n");
            said = true;
            fprintf(out, "  %s %s t%.0f: %s %s, %s %s\n", text_of(rows[i]->record, "family"), shape,
                    number_of(rows[i]->record, "threads"), text_of(rows[i]->record, "variant"),
                    sm_bench_time_text(rows[i]->summary.median, slow, sizeof slow), text_of(rows[j]->record, "variant"),
                    sm_bench_time_text(rows[j]->summary.median, fast, sizeof fast));
        }
    }
}

void sm_bench_table_notes(json_t *records, FILE *out)
{
    size_t ok = 0, wrong = 0, skipped = 0, disturbed = 0, index, flag_index;
    bool beyond = false;
    json_t *record, *flag;
    struct row *storage = NULL, **rows = sorted_rows(records, &storage);
    if (rows) print_order(rows, json_array_size(records), out);
    free(rows);
    free(storage);
    json_array_foreach(records, index, record)
    {
        const char *status = text_of(record, "status");
        ok += !strcmp(status, "ok");
        wrong += !strcmp(status, "error");
        skipped += !strcmp(status, "skipped");
        bool raised = false;
        json_array_foreach(json_object_get(json_object_get(record, "witnesses"), "flags"), flag_index, flag)
        {
            const char *name = json_string_value(flag);
            raised |= name && (!strcmp(name, "preempted") || !strcmp(name, "stolen") || !strcmp(name, "clock_drift"));
        }
        disturbed += raised;
        beyond |= is_ok(record) && row_of(record).share > 1.05;
    }
    if (beyond)
        fprintf(out,
                "\n* the rate counts every column of the static shape; a variant may leave out what the mask hides\n");
    fprintf(out, "\n%zu cases timed, %zu wrong, %zu skipped", ok, wrong, skipped);
    if (disturbed)
        fprintf(out, "; %zu were disturbed (preempted, stolen time or clock drift: see their flags)", disturbed);
    fprintf(out, "\n");
}
