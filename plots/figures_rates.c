/* The figures of rates: the bucket curve, matmul under its ceilings, softcap, the ceilings themselves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"

#define MAX_PANELS 6
#define KNEE 1.1 /* the knee: the first bucket whose row costs at most this times the cheapest row */

static int has_bucket(const struct sm_result *r)
{
    const char *group = sm_result_text(r, "group");
    if (!strcmp(group, "attention")) return sm_attention_is_plain(r);
    return !strcmp(group, "matmul");
}

static double rows_of(const struct sm_result *r)
{
    return sm_result_axis(r, "rows");
}

/* The knee of a curve sorted by rows, or its count when there is no row. */
static size_t knee_of(const struct sm_slice *curve)
{
    double best = INFINITY;
    for (size_t i = 0; i < curve->count; i++) best = fmin(best, curve->at[i]->median / rows_of(curve->at[i]));
    size_t i = 0;
    while (i < curve->count && curve->at[i]->median / rows_of(curve->at[i]) > KNEE * best) i++;
    return i;
}

static void bucket_shape(const struct sm_result *r, char *shape, size_t bytes)
{
    if (!strcmp(sm_result_text(r, "group"), "attention"))
        snprintf(shape, bytes, "max_seq %.0f, head_dim %.0f", sm_result_axis(r, "max_seq"),
                 sm_result_axis(r, "head_dim"));
    else
        snprintf(shape, bytes, "%.0f → %.0f", sm_result_axis(r, "in"), sm_result_axis(r, "out"));
}

/* The names of curves leave out the shape where all of their group have the same: then the subtitle has it. */
struct bucket_names {
    char shapes[2][64]; /* of attention, of matmul; "" so far */
};

static void bucket_label(struct bucket_names *names, const struct sm_result *r, char *label, size_t bytes)
{
    const int attention = !strcmp(sm_result_text(r, "group"), "attention");
    char shape[64], *common = names->shapes[!attention];
    bucket_shape(r, shape, sizeof shape);
    if (!*common) memcpy(common, shape, sizeof shape);
    const int differs = strcmp(common, shape) != 0;
    snprintf(label, bytes, "%.40s%s%s%s", attention ? "attention, KV " : sm_result_text(r, "family"),
             attention ? sm_result_kv(r) : "", differs ? ", " : "", differs ? shape : "");
}

int sm_figure_bucket(const struct sm_results *results, struct sm_drawing *d)
{
    struct sm_slice all = sm_slice_kind(results, "bench");
    sm_slice_keep(&all, has_bucket);
    sm_slice_usual(&all);
    const char *families[SM_SLICE_NAMES];
    const size_t n = sm_slice_texts(&all, "family", families);
    struct bucket_names names = {0};
    char conditions[96] = "";
    int series = 0;
    for (size_t f = 0; f < n && series < 8; f++) {
        struct sm_slice curve = sm_slice_copy(&all);
        sm_slice_keep_text(&curve, "family", families[f]);
        sm_slice_pick(&curve, "rows", "rows");
        sm_slice_fastest(&curve, "rows");
        sm_slice_curve(&curve, "rows");
        d->table.failed |= curve.failed;
        if (curve.count > 1) {
            const size_t knee = knee_of(&curve);
            char label[160];
            bucket_label(&names, curve.at[0], label, sizeof label);
            sm_result_conditions(curve.at[0], conditions, sizeof conditions);
            for (size_t i = 0; i < curve.count; i++) {
                const struct sm_result *r = curve.at[i];
                const double rows = rows_of(r);
                sm_drawing_use(d, r);
                sm_figure_table_row(&d->table, "isisgggggggis", 0, "", series, label, rows, r->median, r->q1, r->q3,
                                    r->median / rows, r->q1 / rows, r->q3 / rows, i == knee, sm_result_text(r, "case"));
            }
            series++;
        }
        sm_slice_destroy(&curve);
    }
    snprintf(d->subtitle, sizeof d->subtitle, "%s%s%s%s%s%sfastest variants; %.60s",
             *names.shapes[0] ? "attention: " : "", names.shapes[0], *names.shapes[0] ? "; " : "",
             *names.shapes[1] ? "matmul: " : "", names.shapes[1], *names.shapes[1] ? "; " : "", conditions);
    d->table.failed |= all.failed;
    sm_slice_destroy(&all);
    return series ? 0 : -1;
}

/* Operations per core cycle where every record knows its clock (a fixed unit for all), else per nanosecond. */
static int in_cycles(const struct sm_slice *slice)
{
    for (size_t i = 0; i < slice->count; i++)
        if (!(sm_result_core_hz(slice->at[i]) > 1e6 && sm_result_core_hz(slice->at[i]) < 1e11)) return 0;
    return slice->count > 0;
}

static double rate_of(const struct sm_result *r, double ns, int cycles)
{
    const double per_ns = sm_result_number(r, "ops") / ns;
    return cycles ? per_ns * 1e9 / sm_result_core_hz(r) : per_ns;
}

static const char *unit_of(int cycles)
{
    return cycles ? "core cycle" : "ns";
}

/* The rate that a ceiling allows at this record's shape; NaN when it says nothing about it. */
static double allowed(const struct sm_result *r, const json_t *ceiling, int cycles)
{
    const double value = sm_json_number(ceiling, "value");
    const char *unit = sm_json_text(ceiling, "unit");
    const double threads = sm_json_number(ceiling, "threads");
    if (!(value > 0) || (threads > 0 && threads != sm_result_number(r, "threads"))) return NAN;
    if (!strcmp(unit, "B/s")) return rate_of(r, sm_result_number(r, "bytes") / value * 1e9, cycles);
    if (!strcmp(unit, "multiply-adds/cycle")) return cycles ? value : value * sm_result_core_hz(r) / 1e9;
    return NAN;
}

/* The row of a ceiling's curve that bears its name: the last of a flat one; of a slope, the one that comes
 * nearest to the best measured rate, where there is room beside it. */
static size_t name_at(const struct sm_slice *panel, const json_t *ceiling, int cycles)
{
    double best = 0, nearest = INFINITY;
    size_t at = panel->count - 1;
    for (size_t i = 0; i < panel->count; i++) best = fmax(best, rate_of(panel->at[i], panel->at[i]->median, cycles));
    for (size_t i = 0; i < panel->count; i++) {
        const double rate = allowed(panel->at[i], ceiling, cycles);
        const double off = fabs(log(rate / best));
        if (strcmp(sm_json_text(ceiling, "unit"), "B/s") != 0 || !(off < nearest)) continue;
        nearest = off;
        at = i;
    }
    return at;
}

/* The ceilings that bind some record of the panel (sorted by rows), each a curve over its rows. */
static void add_ceilings(struct sm_drawing *d, const struct sm_slice *panel, int number, const char *panel_label,
                         int cycles)
{
    const char *names[SM_SLICE_NAMES];
    const size_t n = sm_slice_texts(panel, "binding_ceiling", names);
    for (size_t c = 0; c < n; c++) {
        const json_t *ceiling = sm_json_part(sm_json_part(panel->at[0]->json, "ceilings"), names[c]);
        const size_t named = name_at(panel, ceiling, cycles);
        const int slope = !strcmp(sm_json_text(ceiling, "unit"), "B/s"); /* rises with rows */
        double last = -1;
        for (size_t i = 0; i < panel->count; i++) {
            const double rate = allowed(panel->at[i], ceiling, cycles);
            if (!(rate > 0) || rows_of(panel->at[i]) == last) continue;
            last = rows_of(panel->at[i]);
            sm_figure_table_row(&d->table, "sisisggggsss", slope ? "slope" : "ceiling", number, panel_label, (int)c,
                                names[c], last, rate, NAN, NAN, last == rows_of(panel->at[named]) ? names[c] : "",
                                unit_of(cycles), "");
        }
    }
}

static void add_matmul(struct sm_drawing *d, struct sm_slice *curve, int panel, const char *panel_label, int series,
                       const char *variant, int cycles)
{
    sm_slice_curve(curve, "rows");
    for (size_t i = 0; i < curve->count; i++) {
        const struct sm_result *r = curve->at[i];
        sm_drawing_use(d, r);
        sm_figure_table_row(&d->table, "sisisggggsss", "measured", panel, panel_label, series, variant, rows_of(r),
                            rate_of(r, r->median, cycles), rate_of(r, r->q3, cycles), rate_of(r, r->q1, cycles), "",
                            unit_of(cycles), sm_result_text(r, "case"));
    }
}

static int is_matmul(const struct sm_result *r)
{
    return !strcmp(sm_result_text(r, "group"), "matmul") && sm_result_number(r, "ops") > 0;
}

int sm_figure_matmul(const struct sm_results *results, struct sm_drawing *d)
{
    struct sm_slice all = sm_slice_kind(results, "bench");
    sm_slice_keep(&all, is_matmul);
    sm_slice_usual(&all);
    const int cycles = in_cycles(&all);
    const char *families[SM_SLICE_NAMES], *variants[SM_SLICE_NAMES];
    const size_t n = sm_slice_texts(&all, "family", families), m = sm_slice_texts(&all, "variant", variants);
    const struct sm_result *shown = NULL;
    for (size_t f = 0; f < n && f < MAX_PANELS; f++) {
        struct sm_slice panel = sm_slice_copy(&all);
        sm_slice_keep_text(&panel, "family", families[f]);
        sm_slice_pick(&panel, "rows", "rows");
        sm_slice_sort(&panel, "rows");
        char label[160];
        if (panel.count) {
            shown = panel.at[0];
            const int prefix = !strncmp(families[f], "matmul_", 7) ? 7 : 0;
            snprintf(label, sizeof label, "%.40s, %.0f → %.0f", families[f] + prefix, sm_result_axis(shown, "in"),
                     sm_result_axis(shown, "out"));
            add_ceilings(d, &panel, (int)f, label, cycles);
        }
        for (size_t v = 0; v < m; v++) {
            struct sm_slice curve = sm_slice_copy(&panel);
            sm_slice_keep_text(&curve, "variant", variants[v]);
            add_matmul(d, &curve, (int)f, label, (int)v, variants[v], cycles);
            d->table.failed |= curve.failed;
            sm_slice_destroy(&curve);
        }
        d->table.failed |= panel.failed;
        sm_slice_destroy(&panel);
    }
    if (shown) {
        char conditions[96];
        sm_result_conditions(shown, conditions, sizeof conditions);
        snprintf(d->subtitle, sizeof d->subtitle, "%s%s", conditions,
                 cycles ? "; core cycles by the clock measured beside each case" : "");
    }
    d->table.failed |= all.failed;
    sm_slice_destroy(&all);
    return shown ? 0 : -1;
}

static int is_softcap(const struct sm_result *r)
{
    return !strcmp(sm_result_text(r, "group"), "softcap") && sm_result_number(r, "ops") > 0;
}

static void add_elements(struct sm_drawing *d, struct sm_slice *curve, int panel, const char *panel_label, int series,
                         const char *label)
{
    sm_slice_curve(curve, "cols");
    for (size_t i = 0; i < curve->count; i++) {
        const struct sm_result *r = curve->at[i];
        if (!isfinite(rate_of(r, r->q1, 0))) continue;
        sm_drawing_use(d, r);
        sm_figure_table_row(&d->table, "isisggggs", panel, panel_label, series, label, sm_result_axis(r, "cols"),
                            rate_of(r, r->median, 0), rate_of(r, r->q3, 0), rate_of(r, r->q1, 0),
                            sm_result_text(r, "case"));
    }
}

/* A panel for each count of rows: 1 for the logits of a vocabulary, more for attention scores. */
int sm_figure_softcap(const struct sm_results *results, struct sm_drawing *d)
{
    struct sm_slice all = sm_slice_kind(results, "bench");
    sm_slice_keep(&all, is_softcap);
    sm_slice_usual(&all);
    double rows[SM_SLICE_NAMES];
    const char *families[SM_SLICE_NAMES], *variants[SM_SLICE_NAMES];
    const size_t panels = sm_slice_values(&all, "rows", rows), n = sm_slice_texts(&all, "family", families);
    const size_t m = sm_slice_texts(&all, "variant", variants);
    int shown = 0;
    for (size_t p = 0; p < panels && shown < MAX_PANELS; p++) {
        int series = 0, before = (int)d->table.rows;
        char panel_label[64], label[96];
        snprintf(panel_label, sizeof panel_label, "%.0f row%s", rows[p], rows[p] > 1 ? "s" : "");
        for (size_t k = 0; k < n * m; k++) {
            struct sm_slice curve = sm_slice_copy(&all);
            sm_slice_keep_axis(&curve, "rows", rows[p]);
            sm_slice_keep_text(&curve, "family", families[k / m]);
            sm_slice_keep_text(&curve, "variant", variants[k % m]);
            snprintf(label, sizeof label, "%.40s %.40s", families[k / m], variants[k % m]);
            if (curve.count) {
                sm_result_conditions(curve.at[0], d->subtitle, sizeof d->subtitle);
                add_elements(d, &curve, shown, panel_label, (int)k, label);
                series++;
            }
            d->table.failed |= curve.failed;
            sm_slice_destroy(&curve);
        }
        shown += series > 0 && (int)d->table.rows > before;
    }
    d->table.failed |= all.failed;
    sm_slice_destroy(&all);
    return shown ? 0 : -1;
}

struct ceiling {
    const char *name, *unit;
    double value, threads;
    const struct sm_result *from;
};

#define MAX_CEILINGS 80

static int a_cycle(const char *unit)
{
    const char *slash = strchr(unit, '/');
    return slash && !strcmp(slash, "/cycle");
}

static int is_function(const char *ceiling)
{
    return !strncmp(ceiling, "exp_", 4) || !strncmp(ceiling, "tanh_", 5) || !strncmp(ceiling, "narrow", 6);
}

/* The newest value of each ceiling, over all records. */
static size_t gather_ceilings(const struct sm_results *results, struct ceiling found[MAX_CEILINGS])
{
    size_t n = 0;
    for (size_t i = 0; i < results->count; i++) {
        const struct sm_result *r = &results->at[i];
        json_t *all = json_object_get(r->json, "ceilings"), *one;
        const char *name;
        json_object_foreach(all, name, one)
        {
            const struct ceiling c = {.name = name,
                                      .unit = sm_json_text(one, "unit"),
                                      .value = sm_json_number(one, "value"),
                                      .threads = sm_json_number(one, "threads"),
                                      .from = r};
            if (!(c.value > 0) || !*c.unit || !*name) continue;
            if (strcmp(c.unit, "B/s") != 0 && !a_cycle(c.unit))
                continue; /* the same schemes a second, a team's costs */
            if (is_function(name) && !strcmp(c.unit, "multiply-adds/cycle"))
                continue; /* in the multiply-adds that an attention of some head_dim makes beside each value */
            size_t j = 0;
            while (j < n && (strcmp(found[j].name, name) != 0 || found[j].threads != c.threads)) j++;
            if (j == MAX_CEILINGS) continue;
            if (j == n)
                n++;
            else if (strcmp(sm_result_text(found[j].from, "started"), sm_result_text(r, "started")) > 0)
                continue;
            found[j] = c;
        }
    }
    return n;
}

static int ceiling_order(const void *a, const void *b)
{
    const struct ceiling *x = a, *y = b;
    if (a_cycle(x->unit) != a_cycle(y->unit)) return a_cycle(x->unit) - a_cycle(y->unit);
    const int unit = strcmp(y->unit, x->unit); /* multiply-adds before values */
    if (unit) return unit;
    const int value = (x->value < y->value) - (x->value > y->value);
    return value ? value : strcmp(x->name, y->name);
}

int sm_figure_ceilings(const struct sm_results *results, struct sm_drawing *d)
{
    struct ceiling found[MAX_CEILINGS];
    const size_t n = gather_ceilings(results, found);
    qsort(found, n, sizeof *found, ceiling_order);
    int panel = -1, bar = 0;
    for (size_t i = 0; i < n; i++) {
        const int bytes = !a_cycle(found[i].unit);
        if (i == 0 || bytes != !a_cycle(found[i - 1].unit)) {
            panel++;
            bar = 0;
        }
        char name[80], threads[24] = "";
        if (found[i].threads > 1 && found[i].threads < 1e6)
            snprintf(threads, sizeof threads, ", %.0f threads", found[i].threads);
        snprintf(name, sizeof name, "%.40s%s", found[i].name, threads);
        sm_figure_table_row(&d->table, "isisgsg", panel, bytes ? "GB/s" : "a cycle: multiply-adds; functions", bar++,
                            name, bytes ? found[i].value / 1e9 : found[i].value, bytes ? "GB/s" : found[i].unit,
                            found[i].threads);
        sm_drawing_use(d, found[i].from);
    }
    d->synthetic = 0; /* whatever model was being run beside it */
    snprintf(d->subtitle, sizeof d->subtitle, "one thread unless said otherwise");
    return n ? 0 : -1;
}
