/* The numbers that most readers came for: tokens per second, the fastest kernels, how right the models are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "html.h"
#include "report_page.h"

static const char *model_name(const struct sm_result *r)
{
    return sm_json_text(sm_json_part(r->json, "model"), "name");
}

static int best_first(const void *a, const void *b)
{
    const struct sm_result *x = *(const struct sm_result *const *)a, *y = *(const struct sm_result *const *)b;
    double padded;
    int order = strcmp(model_name(x), model_name(y));
    if (!order) order = strcmp(sm_result_text(y, "phase"), sm_result_text(x, "phase")); /* prefill first, then decode */
    if (order) return order;
    const double p = sm_result_tokens_per_s(x, &padded), q = sm_result_tokens_per_s(y, &padded);
    return p != q ? (p < q) - (p > q) : (x->order > y->order) - (x->order < y->order);
}

/* Of the ways a session of turns is taken only the first is what a user would get. */
static int is_speed(const struct sm_result *r)
{
    double padded;
    const char *way = sm_json_text(sm_json_part(r->json, "turn"), "way");
    if (*way && strcmp(way, "buckets") && strcmp(way, "decode")) return 0;
    return isfinite(sm_result_tokens_per_s(r, &padded));
}

static void model_row(const struct sm_result *r, FILE *to)
{
    char name[64];
    double padded;
    const double rate = sm_result_tokens_per_s(r, &padded);
    sm_result_model(r, name, sizeof name);
    sm_html(to,
            "<tr><td>%s</td><td>%s</td><td class=\"n\"><strong>%n</strong></td><td class=\"n\">%n</td>"
            "<td class=\"n\">%t</td><td class=\"n\">%n</td><td>%s</td><td>%s</td><td class=\"n\">%n</td>"
            "<td><a href=\"#filter=%u\">records</a></td></tr>\n",
            name, sm_result_text(r, "phase"), rate, padded, r->median, sm_result_number(r, "max_seq"),
            sm_result_text(r, "kv_type"), sm_result_text(r, "recipe"), sm_result_number(r, "threads"),
            sm_result_text(r, "case"));
}

int sm_report_models(const struct sm_report *report, FILE *to)
{
    const struct sm_results *results = &report->settled;
    const struct sm_result **at = malloc((results->count + 1) * sizeof *at);
    if (!at) return -1;
    size_t n = 0, rows = 0;
    for (size_t i = 0; i < results->count; i++)
        if (is_speed(&results->at[i])) at[n++] = &results->at[i];
    qsort(at, n, sizeof *at, best_first);
    if (n)
        sm_html_table(to, "The best tokens per second of each model and phase",
                      "model|phase|#tokens/s|#padded tokens/s|#median|#max_seq|KV|recipe|#threads|case");
    else
        fputs("<p>No model was profiled: <code>slotmark profile MODEL</code> gives tokens per second.</p>\n", to);
    for (size_t i = 0; i < n; i++) {
        if (i && !strcmp(model_name(at[i]), model_name(at[i - 1])) &&
            !strcmp(sm_result_text(at[i], "phase"), sm_result_text(at[i - 1], "phase")))
            continue;
        if (rows++ < SM_REPORT_ROWS) model_row(at[i], to);
    }
    if (n) sm_html_table_end(to);
    if (rows > SM_REPORT_ROWS) sm_html(to, "<p>And %z more.</p>\n", rows - SM_REPORT_ROWS);
    if (n)
        fputs("<p class=\"foot\">Tokens per second count real tokens; padded ones are computed by the static shape and "
              "thrown away. The best case is the best of those measured, whatever its max_seq: the figures show the "
              "price of each.</p>\n",
              to);
    free(at);
    return 0;
}

/* A timed kernel and what it is compared with: the same family at the same shape, threads and cache state. */
struct contest {
    const struct sm_result *r;
    char *shape;
};

static int contest_order(const void *a, const void *b)
{
    const struct contest *x = a, *y = b;
    int order = strcmp(sm_result_text(x->r, "family"), sm_result_text(y->r, "family"));
    if (!order) order = strcmp(x->shape, y->shape);
    if (order) return order;
    if (x->r->median != y->r->median) return x->r->median < y->r->median ? -1 : 1;
    return (x->r->order > y->r->order) - (x->r->order < y->r->order);
}

static int text_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Of the winners' names the one that is there most often, of equals the first by name. */
static const char *most_frequent(const char **names, size_t n, size_t *times)
{
    const char *most = "";
    *times = 0;
    qsort(names, n, sizeof *names, text_order);
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i; j < n && !strcmp(names[i], names[j]);) j++;
        if (j - i <= *times) continue;
        *times = j - i;
        most = names[i];
    }
    return most;
}

/* The row of contests [begin, end), which are of one family; names is room for one for each. */
static void family_row(const struct contest *at, size_t begin, size_t end, const char **names, FILE *to)
{
    size_t shapes = 0, wins;
    for (size_t i = begin; i < end; i++)
        if (i == begin || strcmp(at[i].shape, at[i - 1].shape)) names[shapes++] = sm_result_text(at[i].r, "variant");
    const char *winner = most_frequent(names, shapes, &wins);
    const struct sm_result *best = NULL;
    double most = NAN;
    for (size_t i = begin; i < end; i++) {
        if (strcmp(sm_result_text(at[i].r, "variant"), winner)) continue;
        const double share = sm_result_leaves_out(at[i].r) ? NAN : sm_result_share(at[i].r);
        if (share <= SM_SHARE_MOST && !(share <= most)) most = share;
        if (!best || share == most) best = at[i].r;
    }
    if (!best) return;
    char shape[240];
    const char *id = sm_result_text(best, "case"), *slash = strchr(id, '/');
    slash = slash ? strchr(slash + 1, '/') : NULL;
    snprintf(shape, sizeof shape, "%s", slash ? slash + 1 : id);
    sm_html(to,
            "<tr><td>%s</td><td>%s</td><td class=\"n\">%z of %z</td><td class=\"n\"><strong>%n</strong></td>"
            "<td>%s</td><td class=\"n\">%t</td><td class=\"w\"><a href=\"#filter=%u\">%s</a></td></tr>\n",
            sm_result_text(best, "family"), winner, wins, shapes, 100 * most,
            isnan(most) ? "" : sm_result_text(best, "binding_ceiling"), best->median, id, shape);
}

static struct contest *contests(const struct sm_results *results, size_t *n)
{
    struct contest *at = calloc(results->count + 1, sizeof *at);
    *n = 0;
    for (size_t i = 0; at && i < results->count; i++) {
        const struct sm_result *r = &results->at[i];
        if (strcmp(sm_result_text(r, "kind"), "bench") || !(r->median > 0)) continue;
        json_t *key = json_pack("[O?, O?, O?]", json_object_get(r->json, "shape"), json_object_get(r->json, "threads"),
                                json_object_get(r->json, "cache_state"));
        at[*n].r = r;
        at[*n].shape = key ? json_dumps(key, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
        json_decref(key);
        if (!at[(*n)++].shape) break;
    }
    return at;
}

int sm_report_kernels(const struct sm_report *report, FILE *to)
{
    size_t n, rows = 0;
    struct contest *at = contests(&report->settled, &n);
    const char **names = malloc((report->settled.count + 1) * sizeof *names);
    const int failed = !at || !names || (n && !at[n - 1].shape) ? -1 : 0;
    if (!failed && n) {
        qsort(at, n, sizeof *at, contest_order);
        sm_html_table(to, "The fastest variant of each kernel family, and the best it does against a ceiling",
                      "family|variant|#fastest at|#% of ceiling|ceiling|#median|at");
        for (size_t i = 0, j; i < n; i = j) {
            for (j = i; j < n && !strcmp(sm_result_text(at[i].r, "family"), sm_result_text(at[j].r, "family"));) j++;
            if (rows++ < SM_REPORT_ROWS) family_row(at, i, j, names, to);
        }
        sm_html_table_end(to);
        fputs("<p class=\"foot\">A ceiling is what this machine was measured to do at most in the same run: bytes per "
              "second of a memory level, or multiply-adds per core cycle of the arithmetic that the variant "
              "uses. A variant that leaves out what the mask hides may go beyond it, since the rate counts every "
              "column; its masked cases are not taken here.</p>\n",
              to);
    } else if (!failed)
        fputs("<p>No kernel was timed: <code>slotmark bench --quick</code> does it.</p>\n", to);
    for (size_t i = 0; at && i < n; i++) free(at[i].shape);
    free(at);
    free(names);
    return failed;
}

void sm_report_quality(const struct sm_report *report, FILE *to)
{
    size_t rows = 0;
    for (size_t i = 0; i < report->settled.count; i++) {
        const struct sm_result *r = &report->settled.at[i];
        const json_t *q = sm_json_part(r->json, "quality");
        char name[64];
        if (!q || strcmp(sm_result_text(r, "kind"), "verify")) continue;
        if (rows == 0)
            sm_html_table(to, "How far quantised models are from their reference",
                          "model|recipe|KV|against|#PEIR %|#KL, nats|#argmax agrees|verdict|case");
        if (rows++ >= SM_REPORT_ROWS) continue;
        sm_result_model(r, name, sizeof name);
        sm_html(to,
                "<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td class=\"n\">%n</td><td class=\"n\">%n</td>"
                "<td class=\"n\">%n of %n</td><td>%s</td><td><a href=\"#filter=%u\">record</a></td></tr>\n",
                name, sm_result_text(r, "recipe"), sm_result_text(r, "kv_type"), sm_json_text(q, "against"),
                100 * sm_json_number(q, "peir"), sm_json_number(q, "kl"), sm_json_number(q, "agree"),
                sm_json_number(q, "calls"), sm_json_text(q, "verdict"), sm_result_text(r, "case"));
    }
    if (rows) sm_html_table_end(to);
    if (rows > SM_REPORT_ROWS) sm_html(to, "<p>And %z more.</p>\n", rows - SM_REPORT_ROWS);
}
