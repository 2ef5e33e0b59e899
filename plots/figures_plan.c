/* The figures of plans and turns: the best time for each number of plans beside the usual sets, and the time to first
 * token turn by turn. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "models.h"

#define MOST_PANELS 4
#define MOST_TURNS 24 /* of a session, that are drawn */
#define MOST_SETS 8

static const json_t *plan_of(const struct sm_result *r)
{
    return sm_json_part(r->json, "plan");
}

static int has_role(const struct sm_result *r, const char *role)
{
    return !strcmp(sm_result_text(r, "kind"), "plan") && !strcmp(sm_json_text(plan_of(r), "role"), role);
}

/* "short-chat" of ".../short-chat.turns". */
static void file_name(const char *path, char *text, size_t bytes)
{
    const char *slash = strrchr(path, '/');
    snprintf(text, bytes, "%.60s", slash && slash[1] ? slash + 1 : path);
    char *ending = strstr(text, ".turns");
    if (ending && !ending[6]) *ending = 0;
}

static const char *value_key(const char *objective)
{
    return !strcmp(objective, "p95") ? "p95_ns" : !strcmp(objective, "ttft") ? "ttft_ns" : "mean_ns";
}

static void sizes_text(const json_t *sizes, char *text, size_t bytes)
{
    size_t i, used = 0;
    json_t *size;
    *text = 0;
    json_array_foreach(sizes, i, size)
    {
        const double rows = json_number_value(size);
        if (!(rows >= 1 && rows <= 1e7) || used >= bytes) continue;
        used += (size_t)snprintf(text + used, bytes - used, "%s%.0f", used ? "," : "", rows);
    }
    if (!used) snprintf(text, bytes, "none");
}

/* One set as a point, with its time beside it where `noted`. Returns its time in ms, 0 where it has none. */
static double add_set(struct sm_drawing *d, const struct sm_result *r, const json_t *set, int panel, const char *label,
                      int series, double noted_from)
{
    char prefill[128], append[128], point[32] = "";
    const double plans = sm_json_number(set, "plans"),
                 ms = 1e-6 * sm_json_number(set, value_key(sm_json_text(plan_of(r), "objective")));
    if (!(plans >= 2 && plans <= 64) || !(ms > 0 && ms < 1e12)) return 0;
    sizes_text(sm_json_part(set, "prefill"), prefill, sizeof prefill);
    sizes_text(sm_json_part(set, "append"), append, sizeof append);
    if (ms >= noted_from) snprintf(point, sizeof point, ms < 99.5 ? "%.3g" : "%.0f", ms);
    sm_figure_table_row(&d->table, "isisggssss", panel, label, series,
                        series ? sm_json_text(set, "name") : "best of all sets", plans, ms, prefill, append, point,
                        sm_result_text(r, "case"));
    return ms;
}

/* The usual sets that any record has, by name: a series each. */
struct series_names {
    const char *name[MOST_SETS];
    size_t count;
};

static int series_of(struct series_names *names, const char *name)
{
    size_t i = 0;
    while (i < names->count && strcmp(names->name[i], name)) i++;
    if (i == MOST_SETS) return -1;
    if (i == names->count) names->name[names->count++] = name;
    return (int)i + 1;
}

static int add_plan(struct sm_drawing *d, const struct sm_result *r, int panel, struct series_names *names)
{
    static const char *const whats[] = {"mean time of a turn", "95th percentile of TTFT", "mean TTFT"};
    const char *objective = sm_json_text(plan_of(r), "objective");
    const char *what = whats[!strcmp(objective, "p95") ? 1 : !strcmp(objective, "ttft") ? 2 : 0];
    const json_t *curve = sm_json_part(plan_of(r), "curve");
    char file[64], label[128];
    size_t i;
    json_t *set;
    double best = 0;
    file_name(sm_json_text(sm_json_part(plan_of(r), "turns"), "file"), file, sizeof file);
    snprintf(label, sizeof label, "%s: %s", file, what);
    json_array_foreach(curve, i, set)
    {
        const double ms = add_set(d, r, set, panel, label, 0, i < 2 || i + 1 == json_array_size(curve) ? 0 : INFINITY);
        if (ms > 0) best = ms;
    }
    if (!(best > 0)) return 0;
    json_array_foreach(sm_json_part(plan_of(r), "usual"), i, set)
    {
        const int series = series_of(names, sm_json_text(set, "name"));
        if (series > 0) add_set(d, r, set, panel, label, series, 1.3 * best);
    }
    sm_drawing_use(d, r);
    return 1;
}

/* Whether an earlier record, which stands for it, is a plan of the same turns for the same aim. */
static int is_again(const struct sm_results *results, size_t at)
{
    for (size_t i = at + 1; i < results->count; i++) {
        const struct sm_result *a = &results->at[at], *b = &results->at[i];
        if (has_role(b, "plan") &&
            !strcmp(sm_json_text(plan_of(a), "objective"), sm_json_text(plan_of(b), "objective")) &&
            !strcmp(sm_json_text(sm_json_part(plan_of(a), "turns"), "file"),
                    sm_json_text(sm_json_part(plan_of(b), "turns"), "file")))
            return 1;
    }
    return 0;
}

int sm_figure_plan(const struct sm_results *results, struct sm_drawing *d)
{
    const struct sm_result *last = NULL;
    struct series_names names = {.count = 0};
    int panels = 0;
    for (size_t i = 0; i < results->count && panels < MOST_PANELS; i++) {
        const struct sm_result *r = &results->at[i];
        if (!has_role(r, "plan") || is_again(results, i) || !add_plan(d, r, panels, &names)) continue;
        last = r;
        panels++;
    }
    if (last) {
        char more[64];
        snprintf(more, sizeof more, "max_seq %.0f, %.0f threads; predicted", sm_result_number(last, "max_seq"),
                 sm_result_number(last, "threads"));
        sm_model_subtitle(last, more, d->subtitle, sizeof d->subtitle);
    }
    return d->table.rows ? 0 : -1;
}

/* Times to first token at one turn of sessions. */
struct gathered {
    double *ns;
    size_t count, capacity;
};

static int gather(struct gathered *g, double ns)
{
    if (g->count == g->capacity) {
        const size_t capacity = g->capacity ? 2 * g->capacity : 16;
        double *grown = realloc(g->ns, capacity * sizeof *grown);
        if (!grown) return -1;
        g->ns = grown;
        g->capacity = capacity;
    }
    g->ns[g->count++] = ns;
    return 0;
}

static void add_gathered(struct sm_drawing *d, struct gathered *g, int panel, const char *label, int series,
                         const char *name, size_t turn, const char *case_id)
{
    if (g->count) {
        qsort(g->ns, g->count, sizeof *g->ns, sm_number_order);
        sm_figure_table_row(&d->table, "isisiggggs", panel, label, series, name, (int)turn + 1,
                            sm_result_quantile(g->ns, g->count, 0.5) * 1e-6,
                            sm_result_quantile(g->ns, g->count, 0.25) * 1e-6,
                            sm_result_quantile(g->ns, g->count, 0.75) * 1e-6, (double)g->count, case_id);
    }
    free(g->ns);
}

/* Replays of one file by one set, turn by turn. Returns whether there are any. */
static int add_replays(struct sm_drawing *d, const struct sm_results *results, const char *file, const char *set,
                       int panel, const char *label, int series)
{
    struct gathered turns[MOST_TURNS] = {{0}};
    const struct sm_result *last = NULL;
    for (size_t i = 0; i < results->count; i++) {
        const struct sm_result *r = &results->at[i];
        size_t k;
        json_t *turn;
        if (!has_role(r, "replay") || strcmp(sm_json_text(plan_of(r), "file"), file) ||
            strcmp(sm_json_text(plan_of(r), "set"), set))
            continue;
        json_array_foreach(sm_json_part(plan_of(r), "turns"), k, turn)
        {
            const double ns = sm_json_number(turn, "ttft_ns");
            if (k < MOST_TURNS && ns > 0 && ns < 1e18) d->table.failed |= gather(&turns[k], ns) != 0;
        }
        sm_drawing_use(d, r);
        last = r;
    }
    for (size_t k = 0; k < MOST_TURNS; k++)
        add_gathered(d, &turns[k], panel, label, series, set, k, last ? sm_result_text(last, "case") : "");
    return last != NULL;
}

/* The different sets of the replays of one file, in order of appearance. */
static size_t sets_of(const struct sm_results *results, const char *file, const char *sets[MOST_SETS])
{
    size_t count = 0;
    for (size_t i = 0; i < results->count && count < MOST_SETS; i++) {
        const struct sm_result *r = &results->at[i];
        const char *set = sm_json_text(plan_of(r), "set");
        size_t k = 0;
        if (!has_role(r, "replay") || strcmp(sm_json_text(plan_of(r), "file"), file)) continue;
        while (k < count && strcmp(sets[k], set)) k++;
        if (k == count) sets[count++] = set;
    }
    return count;
}

/* The turns of one session of a profile, each way of taking them in a curve. */
static int add_session(struct sm_drawing *d, const struct sm_results *results, const struct sm_result *of, int panel)
{
    static const char *const ways[] = {"buckets", "exact", "decode-loop", "re-prefill"};
    static const char *const names[] = {"in buckets", "in buckets made to measure", "decoded one by one",
                                        "all prefilled anew"};
    const char *session = sm_json_text(sm_json_part(of->json, "turn"), "turns");
    char label[128];
    int points = 0;
    snprintf(label, sizeof label, "one session, max_seq %.0f: %.40s", sm_result_number(of, "max_seq"), session);
    for (int w = 0; w < 4; w++)
        for (size_t i = 0; i < results->count; i++) {
            const struct sm_result *r = &results->at[i];
            const json_t *turn = sm_json_part(r->json, "turn");
            const double number = sm_json_number(turn, "turn");
            const size_t same = strcspn(sm_result_text(of, "case"), "=");
            if (!turn || strcmp(sm_json_text(turn, "way"), ways[w]) || strcmp(sm_json_text(turn, "turns"), session) ||
                strncmp(sm_result_text(r, "case"), sm_result_text(of, "case"), same) ||
                fabs(sm_result_number(r, "max_seq") - sm_result_number(of, "max_seq")) > 0 ||
                fabs(sm_result_number(r, "threads") - sm_result_number(of, "threads")) > 0 ||
                strcmp(sm_result_text(r, "kv_type"), sm_result_text(of, "kv_type")))
                continue;
            if (!(number >= 1 && number <= MOST_TURNS) || !(r->median > 0)) continue;
            sm_figure_table_row(&d->table, "isisiggggs", panel, label, w, names[w], (int)number, r->median * 1e-6,
                                r->q1 * 1e-6, r->q3 * 1e-6, (double)r->samples, sm_result_text(r, "case"));
            sm_drawing_use(d, r);
            points++;
        }
    return points > 0;
}

int sm_figure_turns(const struct sm_results *results, struct sm_drawing *d)
{
    const struct sm_result *session = NULL, *last = NULL;
    const char *files[MOST_PANELS];
    int panels = 0;
    size_t file_count = 0;
    for (size_t i = 0; i < results->count; i++) {
        const struct sm_result *r = &results->at[i];
        if (!strcmp(sm_json_text(sm_json_part(r->json, "turn"), "way"), "buckets")) session = r;
        if (!has_role(r, "replay")) continue;
        const char *file = sm_json_text(plan_of(r), "file");
        size_t k = 0;
        while (k < file_count && strcmp(files[k], file)) k++;
        if (k == file_count && file_count < MOST_PANELS - 1) files[file_count++] = file;
        last = r;
    }
    if (session) panels += add_session(d, results, session, panels);
    for (size_t f = 0; f < file_count; f++) {
        const char *sets[MOST_SETS];
        const size_t count = sets_of(results, files[f], sets);
        char name[64], label[128];
        int drawn = 0;
        file_name(files[f], name, sizeof name);
        snprintf(label, sizeof label, "%s, max_seq %.0f, replayed", name, sm_result_number(last, "max_seq"));
        for (size_t s = 0; s < count; s++)
            drawn |= add_replays(d, results, files[f], sets[s], panels, label, (int)s + 4);
        panels += drawn;
    }
    if (!last) last = session;
    if (last) {
        char more[64];
        const double threads = sm_result_number(last, "threads");
        snprintf(more, sizeof more, "%.0f threads", threads >= 1 && threads < 1e6 ? threads : 0);
        sm_model_subtitle(last, more, d->subtitle, sizeof d->subtitle);
    }
    return d->table.rows ? 0 : -1;
}
