#include "bench_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES_MOST 4096

const char *sm_row_text(const json_t *record, const char *key)
{
    const char *text = json_string_value(json_object_get(record, key));
    return text ? text : "";
}

double sm_row_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

bool sm_row_ok(const json_t *record)
{
    return !strcmp(sm_row_text(record, "status"), "ok");
}

const char *sm_row_compiler(const json_t *record)
{
    return sm_row_text(json_object_get(json_object_get(record, "build"), "kernels"), "compiler");
}

struct sm_row sm_row_of(json_t *record)
{
    struct sm_row row = {.record = record, .ops_per_cycle = NAN, .bytes_per_ns = NAN, .share = NAN};
    double samples[SAMPLES_MOST];
    json_t *raw = json_object_get(record, "samples"), *witnesses = json_object_get(record, "witnesses");
    size_t count = json_array_size(raw);
    if (count > SAMPLES_MOST) count = SAMPLES_MOST;
    for (size_t i = 0; i < count; i++) samples[i] = json_number_value(json_array_get(raw, i));
    if (sm_summarise(samples, count, &row.summary)) return row;
    const double hz = sm_row_number(witnesses, "core_hz");
    const double ops = sm_row_number(record, "ops"), ns = row.summary.median;
    if (ops > 0) row.ops_per_cycle = ops / (ns * 1e-9 * hz * sm_row_number(record, "threads"));
    row.bytes_per_ns = sm_row_number(record, "bytes") / ns;
    const json_t *limit = json_object_get(json_object_get(record, "ceilings"), sm_row_text(record, "binding_ceiling"));
    const char *unit = sm_row_text(limit, "unit");
    const double value = sm_row_number(limit, "value");
    if (!strcmp(unit, "B/s"))
        row.share = row.bytes_per_ns * 1e9 / value;
    else if (limit)
        row.share = row.ops_per_cycle / value;
    return row;
}

/* The axes that differ among rows [begin, end), or (differ false) those that do not. */
void sm_row_shape(struct sm_row *const *rows, size_t begin, size_t end, const json_t *record, bool differ, char *text,
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

size_t sm_row_family(const json_t *record)
{
    for (size_t i = 0; i < sm_family_count(); i++)
        if (!strcmp(sm_family_at(i)->name, sm_row_text(record, "family"))) return i;
    return sm_family_count();
}

const struct sm_variant *sm_row_variant(const json_t *record)
{
    const struct sm_family *f = sm_family_named(sm_row_text(record, "family"));
    return f ? sm_variant_named(f, sm_row_text(record, "variant")) : NULL;
}

/* Families in the registry's order, then shape by shape, then the variants as they were listed. */
static int compare_rows(const void *a, const void *b)
{
    const json_t *x = (*(struct sm_row *const *)a)->record, *y = (*(struct sm_row *const *)b)->record;
    const size_t fx = sm_row_family(x), fy = sm_row_family(y);
    if (fx != fy) return fx < fy ? -1 : 1;
    const char *axis;
    json_t *value;
    json_object_foreach(json_object_get(x, "shape"), axis, value)
    {
        const json_int_t vx = json_integer_value(value),
                         vy = json_integer_value(json_object_get(json_object_get(y, "shape"), axis));
        if (vx != vy) return vx < vy ? -1 : 1;
    }
    const double tx = sm_row_number(x, "threads"), ty = sm_row_number(y, "threads");
    if (tx < ty || tx > ty) return tx < ty ? -1 : 1;
    const struct sm_variant *vx = sm_row_variant(x), *vy = sm_row_variant(y);
    if (vx && vy && vx != vy) return vx < vy ? -1 : 1;
    const int order = strcmp(sm_row_text(x, "variant"), sm_row_text(y, "variant"));
    const int state = strcmp(sm_row_text(y, "cache_state"), sm_row_text(x, "cache_state")); /* hot first */
    if (order || state) return order ? order : state;
    return *(struct sm_row *const *)a < *(struct sm_row *const *)b ? -1 : 1; /* compilers, as they were listed */
}

struct sm_row **sm_rows_sorted(json_t *records, struct sm_row **storage)
{
    const size_t count = json_array_size(records);
    struct sm_row *rows = calloc(count + 1, sizeof *rows), **order = calloc(count + 1, sizeof *order);
    if (rows && order) {
        for (size_t i = 0; i < count; i++) {
            rows[i] = sm_row_of(json_array_get(records, i));
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
