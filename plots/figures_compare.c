/* The figures of comparisons: changes with their intervals, and series of a history with the changes found in them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"

#define MAX_ROWS 28
#define MAX_SERIES 6
#define MAX_POINTS 400 /* of a series: the newest */

static const json_t *comparison_of(const struct sm_result *r)
{
    return sm_json_part(r->json, "comparison");
}

static double change_of(const struct sm_result *r)
{
    return sm_json_number(comparison_of(r), "change_percent");
}

/* 0 slower, 1 faster, 2 neither. */
static int side_of(const struct sm_result *r)
{
    const char *verdict = sm_json_text(comparison_of(r), "verdict");
    return !strncmp(verdict, "slower", 6) ? 0 : !strncmp(verdict, "faster", 6) ? 1 : 2;
}

/* Decided ones first, then by the size of the change. */
static int weight_order(const void *a, const void *b)
{
    const struct sm_result *x = *(const struct sm_result *const *)a, *y = *(const struct sm_result *const *)b;
    const int decided = (side_of(x) == 2) - (side_of(y) == 2);
    const double p = fabs(change_of(x)), q = fabs(change_of(y));
    if (decided) return decided;
    return p != q ? (p < q ? 1 : -1) : (x->order > y->order) - (x->order < y->order);
}

static int change_order(const void *a, const void *b)
{
    const struct sm_result *x = *(const struct sm_result *const *)a, *y = *(const struct sm_result *const *)b;
    const double p = change_of(x), q = change_of(y);
    return p != q ? (p < q ? 1 : -1) : (x->order > y->order) - (x->order < y->order);
}

/* The measured kernels of the newest comparison that measured some. */
static struct sm_slice measured(const struct sm_results *results, size_t *others)
{
    struct sm_slice slice = {.at = calloc(results->count + 1, sizeof *slice.at)};
    const char *between = NULL;
    slice.failed = !slice.at;
    *others = 0;
    for (size_t i = results->count; i-- > 0 && !between;)
        if (isfinite(change_of(&results->at[i]))) between = sm_json_text(comparison_of(&results->at[i]), "between");
    for (size_t i = 0; slice.at && between && i < results->count; i++) {
        const struct sm_result *r = &results->at[i];
        if (!comparison_of(r) || strcmp(sm_json_text(comparison_of(r), "between"), between) != 0) continue;
        if (isfinite(change_of(r)))
            slice.at[slice.count++] = r;
        else
            ++*others;
    }
    return slice;
}

/* Whether the axis [at, at + length) stands in every kernel's name. */
static int in_all(const struct sm_slice *rows, const char *at, size_t length)
{
    for (size_t i = 0; i < rows->count; i++) {
        int found = 0;
        for (const char *c = sm_json_text(comparison_of(rows->at[i]), "id"); c && !found; c = strpbrk(c, "/,")) {
            c += *c == '/' || *c == ',';
            found = !strncmp(c, at, length) && (!c[length] || c[length] == ',' || c[length] == '/');
        }
        if (!found) return 0;
    }
    return 1;
}

/* A kernel's name without the axes that all have alike. */
static void short_name(const struct sm_slice *rows, const struct sm_result *r, char *name, size_t bytes)
{
    const char *id = sm_json_text(comparison_of(r), "id"), *axes = strrchr(id, '/');
    size_t used = 0;
    char whole[160] = "";
    if (!axes || !strchr(axes, '=')) axes = id + strlen(id);
    snprintf(whole, sizeof whole, "%.*s", (int)(axes - id < 90 ? axes - id : 90), id);
    used = strlen(whole);
    for (const char *at = axes; *at && used + 2 < sizeof whole;) {
        const size_t length = strcspn(++at, ",");
        if (rows->count < 2 || !in_all(rows, at, length))
            used += (size_t)snprintf(whole + used, sizeof whole - used, "%c%.*s", strchr(whole, ' ') ? ',' : ' ',
                                     (int)(length < 40 ? length : 40), at);
        at += length;
    }
    sm_text_tidy(name, bytes, whole);
}

int sm_figure_compare(const struct sm_results *results, struct sm_drawing *d)
{
    size_t others, left_out = 0;
    struct sm_slice rows = measured(results, &others);
    qsort(rows.at, rows.count, sizeof *rows.at, weight_order);
    if (rows.count > MAX_ROWS) {
        left_out = rows.count - MAX_ROWS;
        rows.count = MAX_ROWS;
    }
    qsort(rows.at, rows.count, sizeof *rows.at, change_order);
    for (size_t i = 0; i < rows.count; i++) {
        const struct sm_result *r = rows.at[i];
        const json_t *c = comparison_of(r), *options = sm_json_part(c, "options");
        char name[120];
        short_name(&rows, r, name, sizeof name);
        sm_drawing_use(d, r);
        sm_figure_table_row(&d->table, "isgggsigggs", (int)i, name, change_of(r), sm_json_number(c, "low_percent"),
                            sm_json_number(c, "high_percent"), sm_json_text(c, "verdict"), side_of(r),
                            100 * sm_json_number(options, "tolerance"), sm_json_number(c, "a_ns"),
                            sm_json_number(c, "b_ns"), sm_result_text(r, "case"));
        snprintf(d->subtitle, sizeof d->subtitle, "%.200s; above 0 the second is slower", sm_json_text(c, "between"));
    }
    if (left_out || others)
        snprintf(
            d->finding, sizeof d->finding,
            "Not shown: %zu measured kernels whose change is smaller, and %zu that were not measured (their code is "
            "identical, or one side lacks them).",
            left_out, others);
    d->table.failed |= rows.failed;
    sm_slice_destroy(&rows);
    return d->table.rows ? 0 : -1;
}

static const json_t *trend_of(const struct sm_result *r)
{
    return sm_json_part(r->json, "trend");
}

/* The largest step of a series; 0 where it has none. */
static double largest_step(const struct sm_result *r)
{
    double most = 0;
    size_t i;
    json_t *change;
    json_array_foreach(json_object_get(trend_of(r), "changes"), i, change)
    {
        const double step = fabs(sm_json_number(change, "step_percent"));
        if (step > most) most = step;
    }
    return most;
}

static int step_order(const void *a, const void *b)
{
    const struct sm_result *x = *(const struct sm_result *const *)a, *y = *(const struct sm_result *const *)b;
    const double p = largest_step(x), q = largest_step(y);
    return p != q ? (p < q ? 1 : -1) : (x->order > y->order) - (x->order < y->order);
}

static struct sm_slice trends(const struct sm_results *results)
{
    struct sm_slice slice = {.at = calloc(results->count + 1, sizeof *slice.at)};
    slice.failed = !slice.at;
    for (size_t i = 0; slice.at && i < results->count; i++)
        if (json_array_size(json_object_get(trend_of(&results->at[i]), "points")))
            slice.at[slice.count++] = &results->at[i];
    qsort(slice.at, slice.count, sizeof *slice.at, step_order);
    return slice;
}

/* The rows of one series; x counts its points from 1, and those before the first one shown are left out. */
static void add_trend(struct sm_drawing *d, const struct sm_result *r, int panel, const char *panel_label)
{
    const json_t *points = json_object_get(trend_of(r), "points");
    const size_t n = json_array_size(points), skip = n > MAX_POINTS ? n - MAX_POINTS : 0;
    const char *name = sm_result_text(r, "case");
    size_t i;
    json_t *one;
    json_array_foreach(points, i, one)
    {
        if (i >= skip && isfinite(sm_json_number(one, "change_percent")))
            sm_figure_table_row(&d->table, "sisggsgggss", "point", panel, panel_label, (double)(i + 1), NAN,
                                sm_json_text(one, "build"), sm_json_number(one, "change_percent"),
                                sm_json_number(one, "low_percent"), sm_json_number(one, "high_percent"), "", name);
    }
    json_array_foreach(json_object_get(trend_of(r), "levels"), i, one)
    {
        const double first = sm_json_number(one, "first"), last = sm_json_number(one, "last");
        if (first >= 0 && last >= first && last < (double)n && last >= (double)skip)
            sm_figure_table_row(&d->table, "sisggsgggss", "level", panel, panel_label, fmax(first, (double)skip) + 0.6,
                                last + 1.4, "", sm_json_number(one, "level_percent"), NAN, NAN, "", name);
    }
    json_array_foreach(json_object_get(trend_of(r), "changes"), i, one)
    {
        const double first = sm_json_number(one, "first"), step = sm_json_number(one, "step_percent");
        char text[64];
        snprintf(text, sizeof text, "%.3g %% %.20s", step, sm_json_text(one, "state"));
        if (first >= (double)skip && first < (double)n && isfinite(step))
            sm_figure_table_row(&d->table, "sisggsgggss", "change", panel, panel_label, first + 0.5, NAN,
                                sm_json_text(one, "after"), step, NAN, NAN, text, name);
    }
}

int sm_figure_history(const struct sm_results *results, struct sm_drawing *d)
{
    struct sm_slice all = trends(results);
    for (size_t s = 0; s < all.count && s < MAX_SERIES; s++) {
        const struct sm_result *r = all.at[s];
        char label[64], kernel[400];
        snprintf(kernel, sizeof kernel, "%.390s", sm_json_text(trend_of(r), "kernel"));
        char *axes = strrchr(kernel, '/');
        if (axes && strchr(axes, '=')) *axes = ' ';
        sm_text_tidy(label, 46, kernel); /* what three panels have room for */
        snprintf(d->subtitle, sizeof d->subtitle, "change against %.40s; above 0 is slower",
                 sm_json_text(trend_of(r), "anchor"));
        sm_drawing_use(d, r);
        add_trend(d, r, (int)s, label);
    }
    if (all.count > MAX_SERIES)
        snprintf(d->finding, sizeof d->finding, "%zu more series, with smaller steps, are not shown.",
                 all.count - MAX_SERIES);
    d->table.failed |= all.failed;
    sm_slice_destroy(&all);
    return d->table.rows ? 0 : -1;
}
