/* Where a model's time goes: by step, and by step within each kind of layer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "models.h"

/* Where the time goes: labels get numbers by their share of all bars, so that a colour means the same in each. */

#define MAX_LABELS 64
#define NAMED_LABELS 7 /* the rest is "other steps" */

struct label {
    const char *name;
    double share;
};

static double steps_total(const struct sm_result *r)
{
    double total = 0;
    size_t i;
    json_t *step;
    json_array_foreach(json_object_get(r->json, "steps"), i, step)
    {
        const double ns = sm_json_number(step, "ns");
        if (ns > 0) total += ns;
    }
    return total;
}

static int has_steps(const struct sm_result *r)
{
    return steps_total(r) > 0;
}

static int share_order(const void *a, const void *b)
{
    const struct label *x = a, *y = b;
    if (x->share != y->share) return x->share < y->share ? 1 : -1;
    return strcmp(x->name, y->name);
}

static size_t rank_labels(const struct sm_slice *bars, struct label labels[MAX_LABELS])
{
    size_t n = 0;
    for (size_t b = 0; b < bars->count; b++) {
        const double total = steps_total(bars->at[b]);
        size_t i;
        json_t *step;
        json_array_foreach(json_object_get(bars->at[b]->json, "steps"), i, step)
        {
            const char *name = sm_json_text(step, "label");
            const double ns = sm_json_number(step, "ns");
            if (!(ns > 0) || !*name || !strcmp(name, "unexplained")) continue;
            size_t j = 0;
            while (j < n && strcmp(labels[j].name, name) != 0) j++;
            if (j == MAX_LABELS) continue;
            if (j == n) labels[n++] = (struct label){.name = name};
            labels[j].share += ns / total;
        }
    }
    qsort(labels, n, sizeof *labels, share_order);
    return n;
}

/* The share of one label in a bar; NULL: of all labels that have no number of their own. */
static double share_of(const struct sm_result *r, const char *name, const struct label *labels, size_t named)
{
    const double total = steps_total(r);
    double ns_sum = 0;
    size_t i;
    json_t *step;
    json_array_foreach(json_object_get(r->json, "steps"), i, step)
    {
        const char *label = sm_json_text(step, "label");
        const double ns = sm_json_number(step, "ns");
        int is_named = !strcmp(label, "unexplained");
        for (size_t j = 0; j < named; j++) is_named |= !strcmp(label, labels[j].name);
        if (ns > 0 && (name ? !strcmp(label, name) : !is_named)) ns_sum += ns;
    }
    return ns_sum / total;
}

/* The step of that label, for the ceiling that it is near; NULL: none, or several. */
static const json_t *step_of(const struct sm_result *r, const char *name)
{
    size_t i;
    json_t *step;
    json_array_foreach(json_object_get(r->json, "steps"), i, step)
    {
        if (name && !strcmp(sm_json_text(step, "label"), name)) return step;
    }
    return NULL;
}

static void add_bar(struct sm_drawing *d, const struct sm_result *r, int panel, const char *phase, int bar,
                    const struct label *labels, size_t named)
{
    char bar_label[64], panel_label[64];
    double from = 0;
    snprintf(bar_label, sizeof bar_label, "%.0f", sm_result_number(r, "max_seq"));
    snprintf(panel_label, sizeof panel_label, "%s: a %s", phase, !strcmp(phase, "decode") ? "token" : "call");
    sm_drawing_use(d, r);
    for (size_t l = 0; l < named + 2; l++) { /* then the other steps, then what no step explains */
        const char *name = l < named ? labels[l].name : l == named ? NULL : "unexplained";
        const int colour = l < named ? (int)l : l == named ? NAMED_LABELS : NAMED_LABELS + 1;
        const double share = share_of(r, name, labels, named);
        if (!(share > 0)) continue;
        const json_t *step = step_of(r, name);
        sm_figure_table_row(&d->table, "isissigggggsgs", panel, panel_label, bar, bar_label,
                            name ? name : "other steps", colour, 100 * from, 100 * (from + share), share,
                            share * r->median / 1e6, 100 * sm_json_number(step, "share"), sm_json_text(step, "ceiling"),
                            r->median, sm_result_text(r, "case"));
        from += share;
    }
}

int sm_figure_steps(const struct sm_results *results, struct sm_drawing *d)
{
    struct label labels[MAX_LABELS];
    struct sm_slice all = sm_model_slice(results);
    sm_slice_keep(&all, has_steps);
    sm_slice_usual(&all);
    const size_t known = rank_labels(&all, labels);
    const size_t named = known < NAMED_LABELS ? known : NAMED_LABELS;
    int panel = 0;
    for (size_t p = 0; p < SM_PHASES; p++) {
        struct sm_slice bars = sm_slice_copy(&all);
        sm_slice_keep_text(&bars, "phase", sm_phases[p]);
        sm_model_max_seqs(&bars);
        for (size_t i = 0; i < bars.count && i < 8; i++)
            add_bar(d, bars.at[i], panel, sm_phases[p], (int)i, labels, named);
        if (bars.count) {
            char conditions[96];
            sm_result_conditions(bars.at[0], conditions, sizeof conditions);
            sm_model_subtitle(bars.at[0], conditions, d->subtitle, sizeof d->subtitle);
        }
        panel += bars.count > 0;
        d->table.failed |= bars.failed;
        sm_slice_destroy(&bars);
    }
    d->table.failed |= all.failed;
    sm_slice_destroy(&all);
    return panel ? 0 : -1;
}

/* By kind of layer: what the attention of a layer sees, and whose keys and values it uses. */

#define MAX_KINDS 8
#define OUTSIDE "outside the layers"

/* The kinds in the order of the attention's parts, which has them all; then what is outside of layers. */
static size_t kinds_of(const struct sm_result *r, const char *kinds[MAX_KINDS])
{
    size_t n = 0, i, k;
    json_t *step, *part;
    json_array_foreach(json_object_get(r->json, "steps"), i, step)
    {
        json_array_foreach(json_object_get(step, "parts"), k, part)
        {
            const char *name = sm_json_text(part, "part");
            size_t j = 0;
            while (j < n && strcmp(kinds[j], name) != 0) j++;
            if (j == n && n + 1 < MAX_KINDS && *name) kinds[n++] = name;
        }
    }
    if (n) kinds[n++] = OUTSIDE;
    return n;
}

static int has_kinds(const struct sm_result *r)
{
    const char *kinds[MAX_KINDS];
    return steps_total(r) > 0 && kinds_of(r, kinds) > 2; /* one kind and what is outside are no comparison */
}

/* Of a step, ns in layers of one kind; outside: what is in no layer. */
static double part_ns(const json_t *step, const char *kind)
{
    const double all = sm_json_number(step, "ns");
    double inside = 0, of_kind = 0;
    size_t i;
    json_t *part;
    json_array_foreach(json_object_get(step, "parts"), i, part)
    {
        const double ns = sm_json_number(part, "ns");
        if (!(ns > 0)) continue;
        inside += ns;
        if (!strcmp(sm_json_text(part, "part"), kind)) of_kind += ns;
    }
    return strcmp(kind, OUTSIDE) != 0 ? of_kind : all > inside ? all - inside : 0;
}

/* How many layers are of that kind: each calls its attention once. */
static double layers_of(const struct sm_result *r, const char *kind)
{
    size_t i, k;
    json_t *step, *part;
    json_array_foreach(json_object_get(r->json, "steps"), i, step)
    {
        if (strcmp(sm_json_text(step, "label"), "attention") != 0) continue;
        json_array_foreach(json_object_get(step, "parts"), k, part)
        {
            if (!strcmp(sm_json_text(part, "part"), kind)) return sm_json_number(part, "calls");
        }
    }
    return NAN;
}

/* One bar: a kind, its steps side by side; of labels without a number, and of time that no step explains, the sums. */
static void add_kind(struct sm_drawing *d, const struct sm_result *r, int panel, const char *panel_label, int bar,
                     const char *kind, const struct label *labels, size_t named)
{
    double sums[NAMED_LABELS + 2] = {0}, from = 0;
    const double layers = layers_of(r, kind),
                 scale = r->median / steps_total(r) / 1e6; /* ns of the pass to ms of a call */
    char bar_label[64];
    if (layers >= 1 && layers < 1e4)
        snprintf(bar_label, sizeof bar_label, "%.0f × %.40s", layers, kind);
    else
        snprintf(bar_label, sizeof bar_label, "%.40s", kind);
    size_t i;
    json_t *step;
    json_array_foreach(json_object_get(r->json, "steps"), i, step)
    {
        const char *label = sm_json_text(step, "label");
        const double ns = part_ns(step, kind);
        size_t l = 0;
        while (l < named && strcmp(label, labels[l].name) != 0) l++;
        if (l == named) l = !strcmp(label, "unexplained") ? NAMED_LABELS + 1 : NAMED_LABELS;
        if (ns > 0) sums[l] += ns * scale;
    }
    for (size_t l = 0; l < NAMED_LABELS + 2; l++) {
        if (!(sums[l] > 0)) continue;
        sm_figure_table_row(&d->table, "isissiggggs", panel, panel_label, bar, bar_label,
                            l < named           ? labels[l].name
                            : l == NAMED_LABELS ? "other steps"
                                                : "unexplained",
                            (int)l, from, from + sums[l], sums[l], layers, sm_result_text(r, "case"));
        from += sums[l];
    }
}

int sm_figure_layers(const struct sm_results *results, struct sm_drawing *d)
{
    struct label labels[MAX_LABELS];
    struct sm_slice all = sm_model_slice_with(results, has_kinds);
    sm_slice_usual(&all);
    const size_t known = rank_labels(&all, labels), named = known < NAMED_LABELS ? known : NAMED_LABELS;
    int panel = 0;
    for (size_t p = 0; p < SM_PHASES; p++) {
        struct sm_slice one = sm_slice_copy(&all);
        sm_slice_keep_text(&one, "phase", sm_phases[p]);
        sm_model_max_seqs(&one);
        if (one.count) {
            const struct sm_result *r = one.at[one.count - 1]; /* of the largest max_seq */
            const char *kinds[MAX_KINDS];
            const size_t n = kinds_of(r, kinds);
            char more[160], conditions[96], panel_label[64];
            sm_result_conditions(r, conditions, sizeof conditions);
            snprintf(more, sizeof more, "max_seq %.0f; %.90s", sm_result_number(r, "max_seq"), conditions);
            sm_model_subtitle(r, more, d->subtitle, sizeof d->subtitle);
            snprintf(panel_label, sizeof panel_label, "%s: a %s", sm_phases[p],
                     !strcmp(sm_phases[p], "decode") ? "token" : "call");
            sm_drawing_use(d, r);
            for (size_t k = 0; k < n; k++) add_kind(d, r, panel, panel_label, (int)k, kinds[k], labels, named);
            panel++;
        }
        d->table.failed |= one.failed;
        sm_slice_destroy(&one);
    }
    d->table.failed |= all.failed;
    sm_slice_destroy(&all);
    return panel ? 0 : -1;
}
