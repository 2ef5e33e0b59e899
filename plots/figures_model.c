/* The figures of whole models: tokens per second, every token's time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "models.h"

/* One curve; padded ones count the tokens computed. Returns whether it has points. */
static int add_speed(struct sm_drawing *d, struct sm_slice *curve, int panel, const char *phase, int series,
                     double threads, int padded)
{
    char label[64];
    int points = 0;
    snprintf(label, sizeof label, "%.0f thread%s%s", threads, threads > 1 ? "s" : "",
             padded ? ", padded tokens too" : "");
    for (size_t i = 0; i < curve->count; i++) {
        const struct sm_result *r = curve->at[i];
        double real, computed;
        sm_result_tokens(r, &real, &computed);
        const double tokens = padded ? computed : real;
        if (!(tokens > 0) || (padded && !(computed > real))) continue;
        sm_drawing_use(d, r);
        sm_figure_table_row(&d->table, "isisggigggs", panel, phase, series, label, sm_result_number(r, "max_seq"),
                            threads, padded, tokens * 1e9 / r->median, tokens * 1e9 / r->q3, tokens * 1e9 / r->q1,
                            sm_result_text(r, "case"));
        points++;
    }
    return points > 0;
}

/* "prompt of 512 tokens", or the range that the curve holds. */
static void prompt_text(const struct sm_slice *curve, char *text, size_t bytes)
{
    const double first = sm_result_number(curve->at[0], "n_prompt"),
                 last = sm_result_number(curve->at[curve->count - 1], "n_prompt");
    if (!(first > 0 && first < 1e9 && last > 0 && last < 1e9)) return;
    if (first < last || first > last)
        snprintf(text, bytes, "prompts of %.0f to %.0f tokens", first, last);
    else
        snprintf(text, bytes, "prompt of %.0f tokens", first);
}

int sm_figure_model(const struct sm_results *results, struct sm_drawing *d)
{
    struct sm_slice all = sm_model_slice(results);
    double threads[SM_SLICE_NAMES];
    const size_t n = sm_slice_values(&all, "threads", threads);
    int panel = 0;
    for (size_t p = 0; p < SM_PHASES; p++) {
        int points = 0;
        for (size_t t = 0; t < n && t < 4; t++) {
            struct sm_slice curve = sm_slice_copy(&all);
            sm_slice_keep_text(&curve, "phase", sm_phases[p]);
            sm_slice_keep_axis(&curve, "threads", threads[t]);
            sm_model_max_seqs(&curve);
            for (int padded = 0; padded < 2; padded++)
                points |= add_speed(d, &curve, panel, sm_phases[p], 2 * (int)t + padded, threads[t], padded);
            if (curve.count) {
                char prompt[64] = "";
                prompt_text(&curve, prompt, sizeof prompt);
                if (!strcmp(sm_phases[p], "prefill") || !*d->subtitle)
                    sm_model_subtitle(curve.at[0], prompt, d->subtitle, sizeof d->subtitle);
            }
            d->table.failed |= curve.failed;
            sm_slice_destroy(&curve);
        }
        panel += points;
    }
    d->table.failed |= all.failed;
    sm_slice_destroy(&all);
    return panel ? 0 : -1;
}

static int has_token_times(const struct sm_result *r)
{
    return json_array_size(json_object_get(r->json, "token_ns")) > 1;
}

/* One series: the tokens of a record's generations in order, with their median and 95th percentile. */
static void add_tokens(struct sm_drawing *d, const struct sm_result *r, int series)
{
    const json_t *times = json_object_get(r->json, "token_ns");
    const size_t n = json_array_size(times);
    double *sorted = malloc(n * sizeof *sorted);
    if (!sorted) {
        d->table.failed = 1;
        return;
    }
    size_t good = 0;
    for (size_t i = 0; i < n; i++) {
        const double ns = json_number_value(json_array_get(times, i));
        if (ns > 0) sorted[good++] = ns;
    }
    qsort(sorted, good, sizeof *sorted, sm_number_order);
    const double median = sm_result_quantile(sorted, good, 0.5) / 1e6,
                 p95 = sm_result_quantile(sorted, good, 0.95) / 1e6;
    free(sorted);
    const double threads = sm_result_number(r, "threads");
    char label[96];
    snprintf(label, sizeof label, "%.0f thread%s: median %.3g ms, 95th percentile %.3g ms", threads,
             threads > 1 ? "s" : "", median, p95);
    sm_drawing_use(d, r);
    const double gen = sm_result_number(r, "n_gen"); /* tokens of one generation; the array holds whole ones */
    const size_t length = gen >= 1 && gen <= (double)n ? (size_t)gen : n;
    for (size_t i = 0; i < n; i++) {
        const double ns = json_number_value(json_array_get(times, i));
        if (ns > 0)
            sm_figure_table_row(&d->table, "isisiggggs", 0, "", series, label, (int)(i / length) + 1,
                                (double)(i % length) + 1, ns / 1e6, median, p95, sm_result_text(r, "case"));
    }
}

int sm_figure_tokens(const struct sm_results *results, struct sm_drawing *d)
{
    struct sm_slice all = sm_model_slice(results);
    sm_slice_keep_text(&all, "phase", "decode");
    sm_slice_keep(&all, has_token_times);
    sm_slice_sort(&all, "max_seq");
    if (all.count) sm_slice_keep_axis(&all, "max_seq", sm_result_number(all.at[all.count - 1], "max_seq"));
    double threads[SM_SLICE_NAMES];
    const size_t n = sm_slice_values(&all, "threads", threads);
    for (size_t t = 0; t < n && t < 4; t++) {
        struct sm_slice one = sm_slice_copy(&all);
        sm_slice_keep_axis(&one, "threads", threads[t]);
        if (one.count) {
            char more[64];
            snprintf(more, sizeof more, "max_seq %.0f", sm_result_number(one.at[0], "max_seq"));
            sm_model_subtitle(one.at[0], more, d->subtitle, sizeof d->subtitle);
            add_tokens(d, one.at[0], (int)t); /* more than one: other prompts of the same sweep */
        }
        d->table.failed |= one.failed;
        sm_slice_destroy(&one);
    }
    d->table.failed |= all.failed;
    sm_slice_destroy(&all);
    return d->table.rows ? 0 : -1;
}

/* Against depth: the tokens of all generations that a shape was given, in bins of the past they have behind them. */

#define DEPTH_BINS 24
#define DEPTH_MOST 1e7 /* slots: more is no depth */

struct token {
    double depth, ns;
};

static int depth_order(const void *a, const void *b)
{
    const struct token *x = a, *y = b;
    if (x->depth < y->depth || x->depth > y->depth) return x->depth < y->depth ? -1 : 1;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

/* The tokens of all records of a slice, sorted by depth. NULL: no memory. */
static struct token *gather_tokens(const struct sm_slice *slice, size_t *count)
{
    size_t room = 1;
    for (size_t s = 0; s < slice->count; s++) room += json_array_size(json_object_get(slice->at[s]->json, "token_ns"));
    struct token *tokens = malloc(room * sizeof *tokens);
    *count = 0;
    for (size_t s = 0; tokens && s < slice->count; s++) {
        const json_t *times = json_object_get(slice->at[s]->json, "token_ns");
        const size_t n = json_array_size(times);
        const double gen = sm_result_number(slice->at[s], "n_gen"), start = sm_result_number(slice->at[s], "n_depth");
        const size_t length = gen >= 1 && gen <= (double)n ? (size_t)gen : n;
        for (size_t i = 0; i < n; i++) {
            const double ns = json_number_value(json_array_get(times, i)), depth = start + (double)(i % length);
            if (ns > 0 && depth >= 0 && depth < DEPTH_MOST) tokens[(*count)++] = (struct token){depth, ns};
        }
    }
    if (tokens) qsort(tokens, *count, sizeof *tokens, depth_order);
    return tokens;
}

static void add_depths(struct sm_drawing *d, const struct sm_slice *slice, int panel, const char *panel_label,
                       int series)
{
    size_t n;
    struct token *tokens = gather_tokens(slice, &n);
    double *sorted = malloc((n + 1) * sizeof *sorted);
    char label[48];
    snprintf(label, sizeof label, "max_seq %.0f", sm_result_number(slice->at[0], "max_seq"));
    d->table.failed |= !tokens || !sorted;
    for (size_t from = 0, to; tokens && sorted && from < n; from = to) {
        const double width = ceil((tokens[n - 1].depth - tokens[0].depth + 1) / DEPTH_BINS);
        const double end = tokens[0].depth + width * (floor((tokens[from].depth - tokens[0].depth) / width) + 1);
        for (to = from; to < n && tokens[to].depth < end; to++) sorted[to - from] = tokens[to].ns / 1e6;
        qsort(sorted, to - from, sizeof *sorted, sm_number_order);
        sm_figure_table_row(&d->table, "isisggggis", panel, panel_label, series, label,
                            (tokens[from].depth + tokens[to - 1].depth) / 2, sm_result_quantile(sorted, to - from, 0.5),
                            sm_result_quantile(sorted, to - from, 0.05), sm_result_quantile(sorted, to - from, 0.95),
                            (int)(to - from), sm_result_text(slice->at[0], "case"));
    }
    for (size_t i = 0; i < slice->count; i++) sm_drawing_use(d, slice->at[i]);
    free(sorted);
    free(tokens);
}

int sm_figure_depth(const struct sm_results *results, struct sm_drawing *d)
{
    struct sm_slice all = sm_model_slice_with(results, has_token_times);
    sm_slice_keep_text(&all, "phase", "decode");
    double threads[SM_SLICE_NAMES], lengths[SM_SLICE_NAMES];
    const size_t n = sm_slice_values(&all, "threads", threads);
    if (all.count) sm_model_subtitle(all.at[0], "each point some neighbouring tokens", d->subtitle, sizeof d->subtitle);
    for (size_t t = 0; t < n && t < 4; t++) {
        struct sm_slice team = sm_slice_copy(&all);
        char panel_label[32];
        sm_slice_keep_axis(&team, "threads", threads[t]);
        snprintf(panel_label, sizeof panel_label, "%.0f thread%s", threads[t], threads[t] > 1 ? "s" : "");
        const size_t shapes = sm_slice_values(&team, "max_seq", lengths);
        for (size_t s = 0; s < shapes && s < 8; s++) {
            struct sm_slice one = sm_slice_copy(&team);
            sm_slice_keep_axis(&one, "max_seq", lengths[s]);
            if (one.count) add_depths(d, &one, (int)t, panel_label, (int)s);
            d->table.failed |= one.failed;
            sm_slice_destroy(&one);
        }
        d->table.failed |= team.failed;
        sm_slice_destroy(&team);
    }
    d->table.failed |= all.failed;
    sm_slice_destroy(&all);
    return d->table.rows ? 0 : -1;
}
