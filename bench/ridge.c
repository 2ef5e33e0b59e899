#include "ridge.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench_rows.h"
#include "record.h"

static double bytes_of_rows(const struct sm_bench_case *c, int axis, int64_t rows)
{
    struct sm_shape shape = c->shape;
    shape.dim[axis] = rows;
    return c->workload->bytes(&shape);
}

double sm_ridge_rows(const struct sm_bench_case *c, double bandwidth, double arithmetic)
{
    const int axis = sm_dim_index(c->family, "rows");
    if (axis < 0 || !(bandwidth > 0) || !(arithmetic > 0)) return NAN;
    struct sm_shape one = c->shape;
    one.dim[axis] = 1;
    const double first = bytes_of_rows(c, axis, 1), each = bytes_of_rows(c, axis, 2) - first;
    const double growth = c->workload->ops(&one) / arithmetic - each / bandwidth;
    return growth > 0 ? (first - each) / bandwidth / growth : NAN;
}

void sm_ridge_record(struct sm_record *record, const struct sm_bench_case *c, const struct sm_ceilings *ceilings,
                     const char *scheme, double core_hz)
{
    const int axis = sm_dim_index(c->family, "rows");
    const struct sm_ceiling *most = sm_ceiling_named(ceilings, scheme);
    if (strcmp(c->family->group, "matmul") || axis < 0 || !most) return;
    const double arithmetic = most->value * core_hz * (double)c->threads;
    char memory[32];
    snprintf(memory, sizeof memory, "%s_read",
             c->cold ? "dram" : sm_ceilings_level(bytes_of_rows(c, axis, 1), (int)c->threads));
    const struct sm_ceiling *near = sm_ceiling_named(ceilings, memory), *far = sm_ceiling_named(ceilings, "dram_read");
    json_t *ridge = json_pack("{s:s,s:s}", "memory", memory, "scheme", scheme);
    json_object_set_new(ridge, "rows", sm_record_number(near ? sm_ridge_rows(c, near->value, arithmetic) : NAN));
    json_object_set_new(ridge, "dram_rows", sm_record_number(far ? sm_ridge_rows(c, far->value, arithmetic) : NAN));
    sm_record_set_json(record, "ridge", ridge);
}

/* The same matrix by the same code and team; whatever its rows. */
static bool same_matrix(const json_t *a, const json_t *b)
{
    const json_t *x = json_object_get(a, "shape"), *y = json_object_get(b, "shape");
    const char *axis;
    json_t *value;
    if (strcmp(sm_row_text(a, "family"), sm_row_text(b, "family")) ||
        strcmp(sm_row_text(a, "variant"), sm_row_text(b, "variant")) ||
        strcmp(sm_row_compiler(a), sm_row_compiler(b)) ||
        strcmp(sm_row_text(a, "cache_state"), sm_row_text(b, "cache_state")) ||
        !json_equal(json_object_get(a, "threads"), json_object_get(b, "threads")))
        return false;
    json_object_foreach((json_t *)(uintptr_t)x, axis, value)
    {
        if (strcmp(axis, "rows") && !json_equal(value, json_object_get(y, axis))) return false;
    }
    return true;
}

static double rows_of(const struct sm_row *row)
{
    return sm_row_number(json_object_get(row->record, "shape"), "rows");
}

static void text_of(double rows, char *text, size_t bytes)
{
    snprintf(text, bytes, "%.*f", rows < 9.95 ? 1 : 0, rows);
    if (!isfinite(rows)) snprintf(text, bytes, "none");
}

static void print_matrix(struct sm_row *const *same, size_t count, FILE *out)
{
    const struct sm_row *fewest = same[0];
    double per_row = INFINITY, most = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows_of(same[i]) < rows_of(fewest)) fewest = same[i];
        per_row = fmin(per_row, same[i]->summary.median / rows_of(same[i]));
        most = fmax(most, rows_of(same[i]));
    }
    const json_t *r = fewest->record, *ridge = json_object_get(r, "ridge"), *shape = json_object_get(r, "shape");
    char near[32], far[32], knee[32];
    text_of(sm_row_number(ridge, "rows"), near, sizeof near);
    text_of(sm_row_number(ridge, "dram_rows"), far, sizeof far);
    const double at = fewest->summary.median / per_row;
    text_of(at, knee, sizeof knee);
    if (at > 0.9 * most) snprintf(knee, sizeof knee, "not before %.0f", most); /* the time has hardly grown */
    const char *compiler = sm_row_compiler(r);
    fprintf(out, "  %s %s%s%s %.0fx%.0f t=%.0f: %s of %s, %s of DRAM; knee %s (%.0f to %.0f rows)\n",
            sm_row_text(r, "family"), sm_row_text(r, "variant"), *compiler ? ", " : "", compiler,
            sm_row_number(shape, "out"), sm_row_number(shape, "in"), sm_row_number(r, "threads"), near,
            sm_row_text(ridge, "memory"), far, knee, rows_of(fewest), most);
}

void sm_ridge_print(json_t *records, FILE *out)
{
    struct sm_row *storage = NULL, **rows = sm_rows_sorted(records, &storage);
    const size_t count = json_array_size(records);
    struct sm_row **same = calloc(count + 1, sizeof *same);
    bool *told = calloc(count + 1, sizeof *told), any = false;
    for (size_t i = 0; rows && same && told && i < count; i++) {
        size_t found = 0;
        for (size_t j = i; j < count; j++) {
            const json_t *r = rows[j]->record;
            if (told[j] || !sm_row_ok(r) || !rows[j]->summary.count || !json_is_object(json_object_get(r, "ridge")) ||
                !same_matrix(rows[i]->record, r))
                continue;
            told[j] = true;
            same[found++] = rows[j];
        }
        if (found < 2) continue;
        if (!any)
            fputs("\nrows at which arithmetic takes as long as reading the weights (M*), and where the time "
                  "begins to grow:\n",
                  out);
        any = true;
        print_matrix(same, found, out);
    }
    free(told);
    free(same);
    free(rows);
    free(storage);
}
