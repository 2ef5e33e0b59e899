/* The figures of whole models: tokens per second, where the time goes, every token's time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"

static const char *const phases[] = {"prefill", "append", "decode"};
enum { PHASES = sizeof phases / sizeof *phases };

static const char *model_name(const struct sm_result *r)
{
    return sm_json_text(sm_json_part(r->json, "model"), "name");
}

/* The name that most records have, of equals the first; NULL where there is none. */
static const char *most_frequent_model(struct sm_slice *slice)
{
    json_t *counts = json_object();
    const char *most = NULL;
    json_int_t most_count = 0;
    for (size_t i = 0; i < slice->count; i++) {
        const char *name = model_name(slice->at[i]);
        const json_int_t n = json_integer_value(json_object_get(counts, name)) + 1;
        if (json_object_set_new_nocheck(counts, name, json_integer(n))) slice->failed = 1;
    }
    for (size_t i = 0; i < slice->count; i++) {
        const json_int_t n = json_integer_value(json_object_get(counts, model_name(slice->at[i])));
        if (n <= most_count) continue;
        most = model_name(slice->at[i]);
        most_count = n;
    }
    json_decref(counts);
    return most;
}

/* Records of one model under one recipe and KV type: the one with the most of them, of equals the first. */
static void keep_one_model(struct sm_slice *slice)
{
    const char *name = most_frequent_model(slice);
    if (!name) return;
    size_t kept = 0;
    for (size_t i = 0; i < slice->count; i++)
        if (!strcmp(model_name(slice->at[i]), name)) slice->at[kept++] = slice->at[i];
    slice->count = kept;
    static const char *const keys[] = {"recipe", "kv_type", "scale_in"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const char *texts[SM_SLICE_NAMES], *most = NULL;
        size_t most_count = 0;
        const size_t n = sm_slice_texts(slice, keys[k], texts);
        for (size_t t = 0; t < n; t++) {
            struct sm_slice one = sm_slice_copy(slice);
            sm_slice_keep_text(&one, keys[k], texts[t]);
            if (one.count > most_count) {
                most = texts[t];
                most_count = one.count;
            }
            slice->failed |= one.failed;
            sm_slice_destroy(&one);
        }
        if (most) sm_slice_keep_text(slice, keys[k], most);
    }
}

static struct sm_slice model_records(const struct sm_results *results)
{
    struct sm_slice slice = sm_slice_kind(results, "profile");
    size_t kept = 0;
    for (size_t i = 0; i < slice.count; i++) /* sessions of turns are another story: each of theirs has a past */
        if (!json_is_object(json_object_get(slice.at[i]->json, "turn"))) slice.at[kept++] = slice.at[i];
    slice.count = kept;
    keep_one_model(&slice);
    return slice;
}

void sm_result_tokens(const struct sm_result *r, double *real, double *computed)
{
    const char *phase = sm_result_text(r, "phase");
    *real = *computed = 1;
    if (!strcmp(phase, "decode")) return;
    const double bucket = sm_result_number(r, "bucket"), max_seq = sm_result_number(r, "max_seq");
    *real = sm_result_number(r, "n_prompt");
    *computed = bucket > 0 ? bucket : max_seq;
}

static void model_subtitle(const struct sm_result *r, const char *more, char *text, size_t bytes)
{
    char model[64];
    const char *recipe = sm_result_text(r, "recipe"), *kv = sm_result_text(r, "kv_type");
    sm_result_model(r, model, sizeof model);
    snprintf(text, bytes, "%s%s%s%.20s%s%.12s%s%s", model,
             json_is_true(json_object_get(sm_json_part(r->json, "model"), "synthetic")) ? " (synthetic weights)" : "",
             *recipe ? ", recipe " : "", recipe, *kv ? ", KV " : "", kv, *more ? "; " : "", more);
}

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
        sm_table_row(&d->table, "isisggigggs", panel, phase, series, label, sm_result_number(r, "max_seq"), threads,
                     padded, tokens * 1e9 / r->median, tokens * 1e9 / r->q3, tokens * 1e9 / r->q1,
                     sm_result_text(r, "case"));
        points++;
    }
    return points > 0;
}

/* One record for each max_seq: of one prompt length where that was swept, else of what each max_seq was given. */
static void pick_max_seqs(struct sm_slice *slice)
{
    double values[SM_SLICE_NAMES];
    struct sm_slice strict = sm_slice_copy(slice);
    sm_slice_pick(&strict, "max_seq", "max_seq bucket"); /* the bucket of a prefill is max_seq */
    const int enough = sm_slice_values(&strict, "max_seq", values) == sm_slice_values(slice, "max_seq", values);
    slice->failed |= strict.failed;
    sm_slice_destroy(&strict);
    sm_slice_pick(slice, "max_seq", enough ? "max_seq bucket" : "max_seq bucket n_prompt n_depth");
    sm_slice_sort(slice, "max_seq");
    size_t kept = 0;
    for (size_t i = 0; i < slice->count; i++) /* of equals, the longest prompt */
        if (!kept || sm_result_number(slice->at[i], "max_seq") != sm_result_number(slice->at[kept - 1], "max_seq"))
            slice->at[kept++] = slice->at[i];
        else if (sm_result_number(slice->at[i], "n_prompt") > sm_result_number(slice->at[kept - 1], "n_prompt"))
            slice->at[kept - 1] = slice->at[i];
    slice->count = kept;
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
    struct sm_slice all = model_records(results);
    double threads[SM_SLICE_NAMES];
    const size_t n = sm_slice_values(&all, "threads", threads);
    int panel = 0;
    for (size_t p = 0; p < PHASES; p++) {
        int points = 0;
        for (size_t t = 0; t < n && t < 4; t++) {
            struct sm_slice curve = sm_slice_copy(&all);
            sm_slice_keep_text(&curve, "phase", phases[p]);
            sm_slice_keep_axis(&curve, "threads", threads[t]);
            pick_max_seqs(&curve);
            for (int padded = 0; padded < 2; padded++)
                points |= add_speed(d, &curve, panel, phases[p], 2 * (int)t + padded, threads[t], padded);
            if (curve.count) {
                char prompt[64] = "";
                prompt_text(&curve, prompt, sizeof prompt);
                if (!strcmp(phases[p], "prefill") || !*d->subtitle)
                    model_subtitle(curve.at[0], prompt, d->subtitle, sizeof d->subtitle);
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
        sm_table_row(&d->table, "isissigggggs", panel, panel_label, bar, bar_label, name ? name : "other steps", colour,
                     100 * from, 100 * (from + share), share, share * r->median / 1e6, r->median,
                     sm_result_text(r, "case"));
        from += share;
    }
}

int sm_figure_steps(const struct sm_results *results, struct sm_drawing *d)
{
    struct label labels[MAX_LABELS];
    struct sm_slice all = model_records(results);
    sm_slice_keep(&all, has_steps);
    sm_slice_usual(&all);
    const size_t known = rank_labels(&all, labels);
    const size_t named = known < NAMED_LABELS ? known : NAMED_LABELS;
    int panel = 0;
    for (size_t p = 0; p < PHASES; p++) {
        struct sm_slice bars = sm_slice_copy(&all);
        sm_slice_keep_text(&bars, "phase", phases[p]);
        pick_max_seqs(&bars);
        for (size_t i = 0; i < bars.count && i < 8; i++)
            add_bar(d, bars.at[i], panel, phases[p], (int)i, labels, named);
        if (bars.count) {
            char conditions[96];
            sm_result_conditions(bars.at[0], conditions, sizeof conditions);
            model_subtitle(bars.at[0], conditions, d->subtitle, sizeof d->subtitle);
        }
        panel += bars.count > 0;
        d->table.failed |= bars.failed;
        sm_slice_destroy(&bars);
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
            sm_table_row(&d->table, "isisiggggs", 0, "", series, label, (int)(i / length) + 1, (double)(i % length) + 1,
                         ns / 1e6, median, p95, sm_result_text(r, "case"));
    }
}

int sm_figure_tokens(const struct sm_results *results, struct sm_drawing *d)
{
    struct sm_slice all = model_records(results);
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
            model_subtitle(one.at[0], more, d->subtitle, sizeof d->subtitle);
            add_tokens(d, one.at[0], (int)t); /* more than one: other prompts of the same sweep */
        }
        d->table.failed |= one.failed;
        sm_slice_destroy(&one);
    }
    d->table.failed |= all.failed;
    sm_slice_destroy(&all);
    return d->table.rows ? 0 : -1;
}
