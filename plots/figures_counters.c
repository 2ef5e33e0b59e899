/* What was counted: for each token of a model, or, where its machine has no counters, for each row of a kernel by bench
 * --count. Counters without a value have no bar: what was not counted is not 0. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "models.h"

#define MAX_BARS 12
#define MAX_COUNTERS 4

/* The value of one counter; NaN where it has none. */
static double counted(const struct sm_result *r, const char *name)
{
    size_t i;
    json_t *counter;
    json_array_foreach(json_object_get(r->json, "counters"), i, counter)
    {
        if (!strcmp(sm_json_text(counter, "name"), name)) return sm_json_number(counter, "value");
    }
    return NAN;
}

static int has_hardware(const struct sm_result *r)
{
    return counted(r, "instructions") > 0 || counted(r, "cycles") > 0;
}

static int has_any(const struct sm_result *r)
{
    size_t i;
    json_t *counter;
    json_array_foreach(json_object_get(r->json, "counters"), i, counter)
    {
        if (sm_json_number(counter, "value") > 0) return 1;
    }
    return 0;
}

static const char *unit_of(const struct sm_slice *bars, const char *name)
{
    for (size_t b = 0; b < bars->count; b++) {
        size_t i;
        json_t *counter;
        json_array_foreach(json_object_get(bars->at[b]->json, "counters"), i, counter)
        {
            if (!strcmp(sm_json_text(counter, "name"), name)) return sm_json_text(counter, "unit");
        }
    }
    return "";
}

/* What the count of one record is divided by: the tokens or rows of the call. */
static double tokens_of(const struct sm_result *r)
{
    double real, computed;
    if (!strcmp(sm_result_text(r, "kind"), "count")) return sm_result_axis(r, "rows");
    sm_result_tokens(r, &real, &computed);
    return real;
}

/* The counters that some bar has a positive value of: those asked for first, then others in their order. */
static size_t choose(const struct sm_slice *bars, const char *names[MAX_COUNTERS])
{
    static const char *const first[] = {"instructions",   "cycles",     "branches",  "memory_reads",
                                        "sim_l1d_misses", "l1d_misses", "task_clock"};
    size_t n = 0;
    for (size_t f = 0; f < sizeof first / sizeof *first && n < MAX_COUNTERS; f++) {
        int there = 0;
        for (size_t b = 0; b < bars->count; b++) there |= counted(bars->at[b], first[f]) > 0;
        if (there) names[n++] = first[f];
    }
    for (size_t b = 0; b < bars->count; b++) {
        size_t i;
        json_t *counter;
        json_array_foreach(json_object_get(bars->at[b]->json, "counters"), i, counter)
        {
            const char *name = sm_json_text(counter, "name");
            size_t j = 0;
            while (j < n && strcmp(names[j], name) != 0) j++;
            if (j == n && n < MAX_COUNTERS && sm_json_number(counter, "value") > 0) names[n++] = name;
        }
    }
    return n;
}

static void add_panels(struct sm_drawing *d, const struct sm_slice *bars, char labels[MAX_BARS][64])
{
    const char *names[MAX_COUNTERS];
    const size_t n = choose(bars, names);
    for (size_t c = 0; c < n; c++) {
        const char *unit = unit_of(bars, names[c]);
        const int counts_events = !strcmp(unit, "1") || !*unit;
        char panel_label[64];
        snprintf(panel_label, sizeof panel_label, "%.40s%s%.12s", names[c], counts_events ? "" : ", ",
                 counts_events ? "" : unit);
        for (size_t b = 0; b < bars->count; b++) {
            const struct sm_result *r = bars->at[b];
            const double value = counted(r, names[c]), tokens = tokens_of(r);
            if (value >= 0 && tokens > 0)
                sm_figure_table_row(&d->table, "isisggs", (int)c, panel_label, (int)b, labels[b], value / tokens,
                                    tokens, sm_result_text(r, "case"));
        }
    }
    for (size_t b = 0; b < bars->count; b++) sm_drawing_use(d, bars->at[b]);
}

static void add_models(struct sm_drawing *d, struct sm_slice *all)
{
    char labels[MAX_BARS][64];
    if (all->count > MAX_BARS) sm_slice_usual(all);
    if (all->count > MAX_BARS) all->count = MAX_BARS;
    for (size_t b = 0; b < all->count; b++) {
        const struct sm_result *r = all->at[b];
        snprintf(labels[b], sizeof *labels, "%.10s, max_seq %.0f, t%.0f", sm_result_text(r, "phase"),
                 sm_result_number(r, "max_seq"), sm_result_number(r, "threads"));
    }
    if (!all->count) return;
    sm_model_subtitle(all->at[0], "for each real token, all threads together", d->subtitle, sizeof d->subtitle);
    add_panels(d, all, labels);
}

static int is_no_reference(const struct sm_result *r)
{
    return strncmp(sm_result_text(r, "variant"), "ref", 3) != 0;
}

/* Counts of kernels: the family with the most of them; bars are named by what differs between them. */
static void add_kernels(struct sm_drawing *d, struct sm_slice *all)
{
    static const char *const axes[] = {"rows",   "max_seq", "valid", "head_dim", "heads",
                                       "window", "out",     "in",    "cols",     "threads"};
    enum { AXES = sizeof axes / sizeof *axes };
    const char *families[SM_SLICE_NAMES], *most = NULL;
    char labels[MAX_BARS][64];
    size_t most_count = 0;
    const size_t n = sm_slice_texts(all, "family", families);
    for (size_t f = 0; f < n; f++) {
        struct sm_slice one = sm_slice_copy(all);
        sm_slice_keep_text(&one, "family", families[f]);
        if (one.count > most_count) {
            most = families[f];
            most_count = one.count;
        }
        sm_slice_destroy(&one);
    }
    if (!most) return;
    sm_slice_keep_text(all, "family", most);
    struct sm_slice others = sm_slice_copy(all); /* beside a reference no other bar would be seen */
    sm_slice_keep(&others, is_no_reference);
    if (others.count) sm_slice_keep(all, is_no_reference);
    all->failed |= others.failed;
    sm_slice_destroy(&others);
    sm_slice_sort(all, "rows");
    if (all->count > MAX_BARS) all->count = MAX_BARS;
    double values[SM_SLICE_NAMES];
    for (size_t b = 0; b < all->count; b++) {
        size_t used = (size_t)snprintf(labels[b], sizeof *labels, "%.24s", sm_result_text(all->at[b], "variant"));
        for (size_t a = 0; a < AXES; a++)
            if (sm_slice_values(all, axes[a], values) > 1 && used + 1 < sizeof *labels)
                used +=
                    (size_t)snprintf(labels[b] + used, sizeof *labels - used, " %s=%.6g",
                                     strcmp(axes[a], "threads") ? axes[a] : "t", sm_result_axis(all->at[b], axes[a]));
    }
    snprintf(d->subtitle, sizeof d->subtitle, "%.60s, for each row of a call: counted under valgrind", most);
    add_panels(d, all, labels);
}

/* Records that carry no time, unlike those of other figures. */
static struct sm_slice counts(const struct sm_results *results)
{
    struct sm_slice slice = {.at = calloc(results->count + 1, sizeof *slice.at)};
    slice.failed = !slice.at;
    for (size_t i = 0; slice.at && i < results->count; i++)
        if (!strcmp(sm_result_text(&results->at[i], "kind"), "count") && has_any(&results->at[i]))
            slice.at[slice.count++] = &results->at[i];
    return slice;
}

int sm_figure_counters(const struct sm_results *results, struct sm_drawing *d)
{
    struct sm_slice hardware = sm_model_slice_with(results, has_hardware), kernels = counts(results),
                    software = sm_model_slice_with(results, has_any);
    if (hardware.count)
        add_models(d, &hardware);
    else if (kernels.count)
        add_kernels(d, &kernels);
    else
        add_models(d, &software);
    d->table.failed |= hardware.failed | kernels.failed | software.failed;
    sm_slice_destroy(&hardware);
    sm_slice_destroy(&kernels);
    sm_slice_destroy(&software);
    return d->table.rows ? 0 : -1;
}
