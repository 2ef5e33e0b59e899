/* The figures of attention and of the cache it reads: max_seq, mask tax, cache write. */
#include <math.h>
#include <string.h>

#include "figure.h"

#define MAX_PANELS 6

static int is_decode(const struct sm_result *r)
{
    return !strcmp(sm_result_text(r, "group"), "attention") && sm_result_axis(r, "rows") == 1 &&
           sm_attention_is_plain(r);
}

/* One curve: the records of a slice that is already narrowed to one variant. */
static void add_times(struct sm_drawing *d, struct sm_slice *curve, const char *x, int panel, const char *panel_label,
                      int series, const char *series_label, int per_row)
{
    sm_slice_curve(curve, x);
    for (size_t i = 0; i < curve->count; i++) {
        const struct sm_result *r = curve->at[i];
        const double rows = per_row ? sm_result_axis(r, "rows") : 1;
        if (!(rows >= 1)) continue;
        sm_drawing_use(d, r);
        sm_figure_table_row(&d->table, "isisggggs", panel, panel_label, series, series_label, sm_result_axis(r, x),
                            r->median / rows, r->q1 / rows, r->q3 / rows, sm_result_text(r, "case"));
    }
}

/* The name of the variant all curves have, or "fastest variants". */
static void note_variant(char variant[64], const struct sm_result *r)
{
    const char *name = sm_result_text(r, "variant");
    if (!*variant)
        snprintf(variant, 64, "variant %.40s", name);
    else if (strncmp(variant, "variant ", 8) != 0 || strncmp(variant + 8, name, 40) != 0)
        snprintf(variant, 64, "fastest variants");
}

int sm_figure_attention(const struct sm_results *results, struct sm_drawing *d)
{
    struct sm_slice all = sm_slice_kind(results, "bench");
    sm_slice_keep(&all, is_decode);
    sm_slice_usual(&all);
    double head_dims[SM_SLICE_NAMES];
    const char *families[SM_SLICE_NAMES];
    const size_t panels = sm_slice_values(&all, "head_dim", head_dims);
    const size_t n = sm_slice_texts(&all, "family", families);
    const struct sm_result *shown = NULL;
    char variant[64] = "";
    for (size_t p = 0; p < panels && p < MAX_PANELS; p++) {
        char panel_label[64];
        snprintf(panel_label, sizeof panel_label, "head_dim %.0f", head_dims[p]);
        for (size_t f = 0; f < n; f++) {
            struct sm_slice curve = sm_slice_copy(&all);
            sm_slice_keep_text(&curve, "family", families[f]);
            sm_slice_keep_axis(&curve, "head_dim", head_dims[p]);
            sm_slice_pick(&curve, "max_seq", "max_seq");
            sm_slice_fastest(&curve, "max_seq");
            char label[96];
            if (curve.count) {
                shown = curve.at[0];
                note_variant(variant, shown);
                snprintf(label, sizeof label, "%s KV", sm_result_kv(shown));
                add_times(d, &curve, "max_seq", (int)p, panel_label, (int)f, label, 0);
            }
            d->table.failed |= curve.failed;
            sm_slice_destroy(&curve);
        }
    }
    if (shown) {
        char conditions[96];
        sm_result_conditions(shown, conditions, sizeof conditions);
        snprintf(d->subtitle, sizeof d->subtitle, "1 row, %.0f heads, %.0f KV heads, every slot valid, %s; %s",
                 sm_result_axis(shown, "heads"), sm_result_axis(shown, "kv_heads"), variant, conditions);
    }
    d->table.failed |= all.failed;
    sm_slice_destroy(&all);
    return shown ? 0 : -1;
}

static int is_mask_sweep(const struct sm_result *r)
{
    return !strcmp(sm_result_text(r, "group"), "attention") && !(sm_result_axis(r, "window") > 0) &&
           !(sm_result_axis(r, "softcap") > 0);
}

static int skips(const struct sm_result *r)
{
    return strstr(sm_result_text(r, "variant"), "skip") != NULL;
}

static int is_literal(const struct sm_result *r)
{
    return !skips(r);
}

/* The valid tokens of a record; a shape that says -1 means all that fit. */
static double valid_of(const struct sm_result *r)
{
    const double valid = sm_result_axis(r, "valid");
    return valid >= 0 ? valid : sm_result_axis(r, "max_seq") - sm_result_axis(r, "rows");
}

/* "literal 2.9 times skip at 256 of 2048": where the two curves are furthest apart. */
static void mask_finding(const struct sm_slice *literal, const struct sm_slice *skip, char *text, size_t bytes)
{
    double worst = 0, at = 0;
    for (size_t i = 0; i < literal->count; i++)
        for (size_t j = 0; j < skip->count; j++) {
            if (valid_of(literal->at[i]) != valid_of(skip->at[j])) continue;
            const double tax = literal->at[i]->median / skip->at[j]->median;
            if (tax > worst) {
                worst = tax;
                at = valid_of(literal->at[i]);
            }
        }
    if (worst > 0)
        snprintf(text, bytes,
                 "%s KV, %.0f of %.0f slots valid: computing every column takes %.2f times the time of "
                 "skipping.",
                 sm_result_kv(literal->at[0]), at, sm_result_axis(literal->at[0], "max_seq"), worst);
}

int sm_figure_mask(const struct sm_results *results, struct sm_drawing *d)
{
    static int (*const fits[])(const struct sm_result *r) = {is_literal, skips};
    static const char *const names[] = {"literal: every column", "skip: what the mask leaves"};
    struct sm_slice all = sm_slice_kind(results, "bench");
    sm_slice_keep(&all, is_mask_sweep);
    sm_slice_usual(&all);
    const char *families[SM_SLICE_NAMES];
    const size_t n = sm_slice_texts(&all, "family", families);
    int panels = 0;
    for (size_t f = 0; f < n && panels < MAX_PANELS; f++) {
        struct sm_slice curves[2], family = sm_slice_copy(&all);
        sm_slice_keep_text(&family, "family", families[f]);
        sm_slice_pick(&family, "valid", "valid");
        for (size_t c = 0; c < 2; c++) {
            curves[c] = sm_slice_copy(&family);
            sm_slice_keep(&curves[c], fits[c]);
            sm_slice_fastest(&curves[c], "valid");
        }
        if (curves[0].count > 1 && curves[1].count > 1) {
            const struct sm_result *r = curves[0].at[0];
            char label[96], conditions[96];
            sm_result_conditions(r, conditions, sizeof conditions);
            snprintf(label, sizeof label, "%s KV", sm_result_kv(r));
            snprintf(d->subtitle, sizeof d->subtitle, "max_seq %.0f, %.0f row%s, head_dim %.0f, %.0f heads; %s",
                     sm_result_axis(r, "max_seq"), sm_result_axis(r, "rows"), sm_result_axis(r, "rows") > 1 ? "s" : "",
                     sm_result_axis(r, "head_dim"), sm_result_axis(r, "heads"), conditions);
            mask_finding(&curves[0], &curves[1], d->finding, sizeof d->finding);
            for (int c = 0; c < 2; c++) add_times(d, &curves[c], "valid", panels, label, c, names[c], 0);
            panels++;
        }
        d->table.failed |= family.failed | curves[0].failed | curves[1].failed;
        sm_slice_destroy(&family);
        for (size_t c = 0; c < 2; c++) sm_slice_destroy(&curves[c]);
    }
    d->table.failed |= all.failed;
    sm_slice_destroy(&all);
    return panels ? 0 : -1;
}

int sm_figure_cache_write(const struct sm_results *results, struct sm_drawing *d)
{
    struct sm_slice all = sm_slice_kind(results, "bench");
    sm_slice_keep_text(&all, "group", "cache_write");
    sm_slice_usual(&all);
    const char *families[SM_SLICE_NAMES], *layouts[SM_SLICE_NAMES];
    const size_t n = sm_slice_texts(&all, "family", families), m = sm_slice_texts(&all, "layout", layouts);
    const struct sm_result *shown = NULL;
    char variant[64] = "";
    for (size_t f = 0; f < n && f < MAX_PANELS; f++) {
        struct sm_slice family = sm_slice_copy(&all);
        sm_slice_keep_text(&family, "family", families[f]);
        sm_slice_pick(&family, "rows", "rows valid");
        for (size_t l = 0; l < m; l++) {
            struct sm_slice curve = sm_slice_copy(&family);
            sm_slice_keep_text(&curve, "layout", layouts[l]);
            sm_slice_fastest(&curve, "rows");
            char panel_label[96], label[96];
            if (curve.count) {
                shown = curve.at[0];
                note_variant(variant, shown);
                snprintf(panel_label, sizeof panel_label, "%s cache", sm_result_kv(shown));
                snprintf(label, sizeof label, "%.40s layout", layouts[l]);
                add_times(d, &curve, "rows", (int)f, panel_label, (int)l, label, 1);
            }
            d->table.failed |= curve.failed;
            sm_slice_destroy(&curve);
        }
        d->table.failed |= family.failed;
        sm_slice_destroy(&family);
    }
    if (shown) {
        char conditions[96];
        sm_result_conditions(shown, conditions, sizeof conditions);
        snprintf(d->subtitle, sizeof d->subtitle, "max_seq %.0f, %.0f KV heads, head_dim %.0f, %s; %s",
                 sm_result_axis(shown, "max_seq"), sm_result_axis(shown, "kv_heads"), sm_result_axis(shown, "head_dim"),
                 variant, conditions);
    }
    d->table.failed |= all.failed;
    sm_slice_destroy(&all);
    return shown ? 0 : -1;
}
