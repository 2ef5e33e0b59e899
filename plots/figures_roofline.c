/* The roofline: every kernel's rate over the work it does with a byte, under the measured ceilings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"

#define MAX_ROOFS 12
#define MAX_SERIES 16
#define PANELS 2
#define NEAR 1.6      /* nearer than that, two names would lie on each other */
#define LABEL_MOST 40 /* characters that half a picture has room for */

static const char *const groups[PANELS] = {"matmul", "attention"};

static int on_the_roof(const struct sm_result *r)
{
    return !sm_result_leaves_out(r) && sm_result_number(r, "ops") > 0 && sm_result_number(r, "bytes") > 0 &&
           !strcmp(sm_result_text(r, "ops_unit"), "multiply-adds") && strncmp(sm_result_text(r, "variant"), "ref", 3);
}

static double intensity(const struct sm_result *r)
{
    return sm_result_number(r, "ops") / sm_result_number(r, "bytes");
}

static double core_ghz(const struct sm_result *r)
{
    const double hz = sm_result_core_hz(r);
    return hz > 1e6 && hz < 1e11 ? hz / 1e9 : NAN;
}

struct roof {
    const char *name;
    double value; /* GB/s of memory, else multiply-adds/ns */
    int memory;
    char label[120]; /* "": another has it */
};

static int roof_order(const void *a, const void *b)
{
    const struct roof *x = a, *y = b;
    if (x->memory != y->memory) return y->memory - x->memory;
    if (x->value != y->value) return x->value < y->value ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* The name of the highest of roofs that lie near to each other, with the others' where there is room, else their count.
 */
static void label_roofs(struct roof *roofs, size_t n)
{
    for (size_t first = 0, end; first < n; first = end) {
        char *label = roofs[first].label;
        const size_t bytes = sizeof roofs[first].label;
        snprintf(label, bytes, "%.50s", roofs[first].name);
        for (end = first + 1; end < n; end++) {
            if (roofs[end].memory != roofs[first].memory || roofs[end].value * NEAR < roofs[first].value) break;
            const size_t used = strlen(label);
            snprintf(label + used, bytes - used, ", %.50s", roofs[end].name);
        }
        if (end > first + 1 && strlen(label) > LABEL_MOST)
            snprintf(label, bytes, "%.50s and %zu just below", roofs[first].name, end - first - 1);
    }
}

/* The ceilings that bind some record of a panel, each as the first of them has it: it was measured once for the run.
 * Arithmetic is counted in cycles and drawn at the fastest clock that was seen beside a case. */
static size_t gather_roofs(const struct sm_slice *panel, struct roof roofs[MAX_ROOFS])
{
    size_t n = 0;
    double ghz = NAN;
    for (size_t i = 0; i < panel->count; i++) ghz = fmax(ghz, core_ghz(panel->at[i]));
    for (size_t i = 0; i < panel->count; i++) {
        const char *name = sm_result_text(panel->at[i], "binding_ceiling");
        const json_t *one = sm_json_part(sm_json_part(panel->at[i]->json, "ceilings"), name);
        const char *unit = sm_json_text(one, "unit");
        const int memory = !strcmp(unit, "B/s");
        if (!memory && strcmp(unit, "multiply-adds/cycle") != 0) continue;
        if (sm_json_number(one, "threads") != sm_result_number(panel->at[i], "threads")) continue;
        const double value = memory ? sm_json_number(one, "value") / 1e9 : sm_json_number(one, "value") * ghz;
        size_t j = 0;
        while (j < n && strcmp(roofs[j].name, name) != 0) j++;
        if (j < n || n == MAX_ROOFS || !(value > 0 && value < 1e9)) continue;
        roofs[n++] = (struct roof){.name = name, .value = value, .memory = memory};
    }
    qsort(roofs, n, sizeof *roofs, roof_order);
    label_roofs(roofs, n);
    return n;
}

/* One end of a roof; label: at the end that bears it. */
static void roof_row(struct sm_drawing *d, int panel, const struct roof *roof, int number, double x, double rate,
                     const char *label)
{
    sm_figure_table_row(&d->table, "sisisggggsss", roof->memory ? "slope" : "ceiling", panel, groups[panel], number,
                        roof->name, x, rate, NAN, NAN, label, "", "");
}

/* Each memory's slope ends at the highest arithmetic; each arithmetic begins at the fastest memory's slope. */
static void add_roofs(struct sm_drawing *d, const struct sm_slice *panel, int number)
{
    struct roof roofs[MAX_ROOFS];
    const size_t n = gather_roofs(panel, roofs);
    double peak = 0, fastest = 0, from = INFINITY, to = 0;
    for (size_t i = 0; i < n; i++) {
        if (roofs[i].memory)
            fastest = fmax(fastest, roofs[i].value);
        else
            peak = fmax(peak, roofs[i].value);
    }
    for (size_t i = 0; i < panel->count; i++) {
        from = fmin(from, intensity(panel->at[i]));
        to = fmax(to, intensity(panel->at[i]));
    }
    for (size_t i = 0; i < n; i++) {
        const double ridge = roofs[i].memory ? peak / roofs[i].value : fastest > 0 ? roofs[i].value / fastest : from;
        if (roofs[i].memory) {
            const double end = peak > 0 ? fmin(ridge, 2 * to) : to;
            if (!(end > from / 1.5)) continue; /* all of it is left of the picture */
            roof_row(d, number, &roofs[i], (int)i, from / 1.5, from / 1.5 * roofs[i].value, roofs[i].label);
            roof_row(d, number, &roofs[i], (int)i, end, end * roofs[i].value, "");
        } else {
            roof_row(d, number, &roofs[i], (int)i, fmin(ridge, to), roofs[i].value, "");
            roof_row(d, number, &roofs[i], (int)i, fmax(2 * to, 1.01 * ridge), roofs[i].value, roofs[i].label);
        }
    }
}

static int add_points(struct sm_drawing *d, struct sm_slice *panel, int number, int series)
{
    const char *families[SM_SLICE_NAMES];
    const size_t n = sm_slice_texts(panel, "family", families);
    for (size_t f = 0; f < n && series < MAX_SERIES; f++, series++) {
        for (size_t i = 0; i < panel->count; i++) {
            const struct sm_result *r = panel->at[i];
            const double ops = sm_result_number(r, "ops");
            if (strcmp(sm_result_text(r, "family"), families[f]) != 0) continue;
            sm_drawing_use(d, r);
            sm_figure_table_row(&d->table, "sisisggggsss", "measured", number, groups[number], series, families[f],
                                intensity(r), ops / r->median, ops / r->q3, ops / r->q1,
                                sm_result_text(r, "binding_ceiling"), sm_result_text(r, "variant"),
                                sm_result_text(r, "case"));
        }
    }
    return series;
}

int sm_figure_roofline(const struct sm_results *results, struct sm_drawing *d)
{
    struct sm_slice all = sm_slice_kind(results, "bench");
    sm_slice_keep(&all, on_the_roof);
    sm_slice_usual(&all);
    int series = 0, panels = 0;
    for (int p = 0; p < PANELS; p++) {
        struct sm_slice panel = sm_slice_copy(&all);
        sm_slice_keep_text(&panel, "group", groups[p]);
        if (panel.count) {
            add_roofs(d, &panel, p);
            series = add_points(d, &panel, p, series);
            sm_result_conditions(panel.at[0], d->subtitle, sizeof d->subtitle);
            panels++;
        }
        d->table.failed |= panel.failed;
        sm_slice_destroy(&panel);
    }
    d->table.failed |= all.failed;
    sm_slice_destroy(&all);
    return panels ? 0 : -1;
}
