/* The figures of what static shapes cost: the bucket curve of a whole model, padding and mask tax, the price of
 * max_seq. All from the "table" records of slotmark costs: of the newest one's model, recipe, KV type and team. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"

static const char *const attentions[] = {"literal", "skip"};

static const json_t *cost_of(const struct sm_result *r)
{
    return sm_json_part(r->json, "cost");
}

static int is_table(const struct sm_result *r)
{
    return !strcmp(sm_result_text(r, "kind"), "cost") && !strcmp(sm_json_text(cost_of(r), "role"), "table");
}

static int same_model(const struct sm_result *a, const struct sm_result *b)
{
    return !strcmp(sm_json_text(sm_json_part(a->json, "model"), "name"),
                   sm_json_text(sm_json_part(b->json, "model"), "name")) &&
           !strcmp(sm_result_text(a, "recipe"), sm_result_text(b, "recipe")) &&
           !strcmp(sm_result_text(a, "kv_type"), sm_result_text(b, "kv_type")) &&
           !(sm_result_number(a, "threads") < sm_result_number(b, "threads")) &&
           !(sm_result_number(a, "threads") > sm_result_number(b, "threads"));
}

/* The tables of the newest one's series by attention, NULL where there is none. Returns the newest, or NULL. */
static const struct sm_result *tables_of(const struct sm_results *results, const struct sm_result *of[2])
{
    const struct sm_result *newest = NULL;
    of[0] = of[1] = NULL;
    for (size_t i = 0; i < results->count; i++) {
        const struct sm_result *r = &results->at[i];
        if (!is_table(r)) continue;
        if (!newest || strcmp(sm_result_text(r, "started"), sm_result_text(newest, "started")) >= 0) newest = r;
    }
    for (size_t i = 0; newest && i < results->count; i++)
        for (int a = 0; a < 2; a++)
            if (is_table(&results->at[i]) && same_model(&results->at[i], newest) &&
                !strcmp(sm_json_text(cost_of(&results->at[i]), "attention"), attentions[a]))
                of[a] = &results->at[i];
    return newest;
}

/* "smollm2, native, KV f16, 2 threads, ...": what is held fixed. */
static void conditions_of(const struct sm_result *r, const char *more, struct sm_drawing *d)
{
    char model[64];
    const double threads = sm_result_number(r, "threads");
    sm_result_model(r, model, sizeof model);
    snprintf(d->subtitle, sizeof d->subtitle, "%s, %.24s, KV %.8s, %.0f thread%s%s%s", model,
             sm_result_text(r, "recipe"), sm_result_text(r, "kv_type"), threads > 0 && threads < 1e6 ? threads : 0,
             threads > 1 ? "s" : "", *more ? "; " : "", more);
}

static int is_size(double value)
{
    return value >= 1 && value <= 1e9;
}

/* One curve: what was measured at one max_seq, and its knee. Returns how many points. */
static size_t add_curve(struct sm_drawing *d, const struct sm_result *r, double max_seq, int series)
{
    char label[64];
    double flat = NAN, knee = NAN;
    size_t i, points = 0;
    json_t *p;
    json_array_foreach(sm_json_part(cost_of(r), "knees"), i, p) if (!(fabs(sm_json_number(p, "max_seq") - max_seq) > 0))
        knee = sm_json_number(p, "rows");
    snprintf(label, sizeof label, is_size(knee) ? "%.10s, max_seq %.0f: M* %.0f" : "%.10s, max_seq %.0f",
             sm_json_text(cost_of(r), "attention"), max_seq, knee);
    json_array_foreach(sm_json_part(cost_of(r), "curve"), i, p)
    {
        const double rows = sm_json_number(p, "rows"), ns = sm_json_number(p, "ns"), low = sm_json_number(p, "low_ns"),
                     high = sm_json_number(p, "high_ns");
        if (fabs(sm_json_number(p, "max_seq") - max_seq) > 0 || !is_size(rows) || !(ns >= low && low > 0 && high >= ns))
            continue;
        if (rows <= 1) flat = ns;
        sm_figure_table_row(&d->table, "ssigggggggs", "measured", label, series, rows, ns, low, high, ns / rows,
                            low / rows, high / rows, sm_result_text(r, "case"));
        points++;
    }
    if (points > 1 && flat > 0 && is_size(knee))
        sm_figure_table_row(&d->table, "ssigggggggs", "knee", label, series, knee, flat, flat, flat, flat / knee,
                            flat / knee, flat / knee, sm_result_text(r, "case"));
    return points;
}

/* What the machine's ceilings allow at best: a sweep of the weights, then arithmetic. */
static void add_limit(struct sm_drawing *d, const struct sm_result *r, double most)
{
    const json_t *limits = sm_json_part(cost_of(r), "limits");
    const double sweep = sm_json_number(limits, "sweep_ns"), row = sm_json_number(limits, "row_ns");
    char label[96];
    if (!(sweep > 0 && row > 0)) return;
    snprintf(label, sizeof label, "limit: %.36s, %.36s", sm_json_text(limits, "sweep"), sm_json_text(limits, "row"));
    for (double rows = 1; rows <= most; rows *= 1.1892071150027210667) { /* 2^(1/4) */
        const double ns = fmax(sweep, rows * row);
        sm_figure_table_row(&d->table, "ssigggggggs", "limit", label, 0, rows, ns, ns, ns, ns / rows, ns / rows,
                            ns / rows, sm_result_text(r, "case"));
    }
}

int sm_figure_costs_bucket(const struct sm_results *results, struct sm_drawing *d)
{
    const struct sm_result *of[2], *newest = tables_of(results, of);
    int series = 0;
    double greatest = 0;
    for (int a = 0; newest && a < 2; a++) {
        double drawn = 0;
        size_t i;
        json_t *p;
        if (!of[a]) continue;
        json_array_foreach(sm_json_part(cost_of(of[a]), "curve"), i, p)
        {
            const double max_seq = sm_json_number(p, "max_seq"), rows = sm_json_number(p, "rows");
            if (is_size(rows)) greatest = fmax(greatest, rows);
            if (!is_size(max_seq) || !(fabs(max_seq - drawn) > 0) || series >= 6) continue;
            drawn = max_seq;
            if (add_curve(d, of[a], max_seq, series)) series++;
        }
        sm_drawing_use(d, of[a]);
    }
    if (!series || greatest < 2) return -1;
    add_limit(d, newest, fmin(greatest, 65536));
    conditions_of(newest, "an append of so many rows", d);
    return 0;
}

/* Rows and columns of a map by name, in the order of their first occurrence. */
struct axis {
    double at[64];
    size_t count;
};

static size_t place_on(struct axis *axis, double value)
{
    size_t i = 0;
    while (i < axis->count && fabs(axis->at[i] - value) > 0) i++;
    if (i == axis->count && i < sizeof axis->at / sizeof *axis->at) axis->at[axis->count++] = value;
    return i;
}

/* The sets of one attention against numbers of tokens. Returns how many cells. */
static size_t add_padding(struct sm_drawing *d, const struct sm_result *r, int panel, const char *name)
{
    char panel_label[64];
    const char *sets[16];
    size_t count = 0, cells = 0, i;
    struct axis tokens = {0};
    json_t *p;
    snprintf(panel_label, sizeof panel_label, "%s attention", name);
    json_array_foreach(sm_json_part(cost_of(r), "padding"), i, p)
    {
        const char *set = sm_json_text(p, "set");
        const double n = sm_json_number(p, "tokens"), tax = sm_json_number(p, "tax");
        size_t y = 0;
        if (!*set || !is_size(n) || !(tax > 0 && tax < 1e6)) continue;
        while (y < count && strcmp(sets[y], set) != 0) y++;
        if (y == sizeof sets / sizeof *sets) continue;
        if (y == count) sets[count++] = set;
        const size_t x = place_on(&tokens, n);
        if (x == sizeof tokens.at / sizeof *tokens.at) continue;
        sm_figure_table_row(&d->table, "isisiggggs", panel, panel_label, (int)y, set, (int)x, n, tax,
                            sm_json_number(p, "ns"), sm_json_number(p, "exact_ns"), sm_result_text(r, "case"));
        cells++;
    }
    return cells;
}

int sm_figure_costs_padding(const struct sm_results *results, struct sm_drawing *d)
{
    const struct sm_result *of[2], *newest = tables_of(results, of);
    int panel = 0;
    for (int a = 0; newest && a < 2; a++) {
        if (!of[a] || !add_padding(d, of[a], panel, attentions[a])) continue;
        sm_drawing_use(d, of[a]);
        panel++;
    }
    if (!panel) return -1;
    conditions_of(newest, "against buckets made to measure", d);
    return 0;
}

int sm_figure_costs_mask(const struct sm_results *results, struct sm_drawing *d)
{
    const struct sm_result *of[2], *newest = tables_of(results, of);
    struct axis max_seqs = {0}, valids = {0};
    size_t cells = 0, i;
    json_t *p;
    if (!newest || !of[1]) return -1;
    json_array_foreach(sm_json_part(cost_of(of[1]), "mask"), i, p)
    {
        const double max_seq = sm_json_number(p, "max_seq"), valid = sm_json_number(p, "valid"),
                     tax = sm_json_number(p, "tax");
        char share[32];
        if (!is_size(max_seq) || !is_size(valid) || valid > max_seq || !(tax > 0 && tax < 1e6)) continue;
        /* shares are sixteenths and their doubles, and the current token; all but for the slots that a full cache keeps
         * free */
        const double parts = round(max_seq / fmax(valid - 1, 1)), shown = parts < 2 ? 1 : parts;
        snprintf(share, sizeof share, shown < 2 ? "all" : "1/%.0f", shown);
        const size_t y = place_on(&max_seqs, max_seq), x = place_on(&valids, shown);
        if (x == sizeof valids.at / sizeof *valids.at || y == sizeof max_seqs.at / sizeof *max_seqs.at) continue;
        sm_figure_table_row(&d->table, "igisggggs", (int)y, max_seq, (int)x, share, valid, tax,
                            sm_json_number(p, "literal_ns"), sm_json_number(p, "skip_ns"),
                            sm_result_text(of[1], "case"));
        cells++;
    }
    if (!cells) return -1;
    for (int a = 0; a < 2; a++)
        if (of[a]) sm_drawing_use(d, of[a]);
    conditions_of(newest, "a whole decode, literal over skip", d);
    return 0;
}

/* A decode by max_seq with one attention; how: 0 measured, 1 by the curve, 2 by the curve beyond what was measured. A
 * band that would reach nought ends at a tenth: the axis is logarithmic. */
static size_t add_times(struct sm_drawing *d, const struct sm_result *r, int series, const char *name)
{
    size_t points = 0, i;
    json_t *p;
    char label[64];
    snprintf(label, sizeof label, "%s attention", name);
    for (int by_curve = 0; by_curve < 2; by_curve++) json_array_foreach(sm_json_part(cost_of(r), "sizes"), i, p)
        {
            const double max_seq = sm_json_number(p, "max_seq"), ns = sm_json_number(p, by_curve ? "curve_ns" : "ns"),
                         low = by_curve ? fmax(sm_json_number(p, "curve_low"), ns / 10) : sm_json_number(p, "low_ns"),
                         high = sm_json_number(p, by_curve ? "curve_high" : "high_ns");
            const int how = by_curve + (by_curve && json_is_true(json_object_get(p, "extrapolated")));
            if (!is_size(max_seq) || !(ns > 0 && high >= low)) continue;
            sm_figure_table_row(&d->table, "isisggggis", 0, "a decode", series, label, max_seq, ns, low, high, how,
                                sm_result_text(r, "case"));
            points++;
        }
    return points;
}

/* What a decode's cache, or its plan, asks for. */
static void add_bytes(struct sm_drawing *d, const struct sm_result *r, int series, const char *name, const char *key)
{
    size_t i;
    json_t *p;
    json_array_foreach(sm_json_part(cost_of(r), "sizes"), i, p)
    {
        const double max_seq = sm_json_number(p, "max_seq"), bytes = sm_json_number(p, key);
        if (is_size(max_seq) && bytes > 0)
            sm_figure_table_row(&d->table, "isisggggis", 1, "memory", series, name, max_seq, bytes, bytes, bytes, 0,
                                sm_result_text(r, "case"));
    }
}

int sm_figure_costs_max_seq(const struct sm_results *results, struct sm_drawing *d)
{
    const struct sm_result *of[2], *newest = tables_of(results, of);
    size_t points = 0;
    char more[96] = "";
    for (int a = 0; newest && a < 2; a++) {
        if (!of[a]) continue;
        const double past = sm_json_number(json_array_get(sm_json_part(cost_of(of[a]), "sizes"), 0), "past");
        if (is_size(past)) snprintf(more, sizeof more, "always %.0f valid slots", past);
        points += add_times(d, of[a], a, attentions[a]);
        sm_drawing_use(d, of[a]);
    }
    if (!points) return -1;
    add_bytes(d, newest, 2, "cache", "cache_bytes"); /* the same for both */
    add_bytes(d, newest, 3, "plan of a decode", "arena_bytes");
    conditions_of(newest, more, d);
    return 0;
}
