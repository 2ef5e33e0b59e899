#include "documents.h"

#include <stdio.h>
#include <string.h>

#include "figure_table.h"
#include "results.h"

/* The sides of a comparison as one text. */
static void sides(const json_t *document, char *text, size_t bytes)
{
    char name[2][100];
    for (int side = 0; side < 2; side++) {
        const json_t *arm = sm_json_part(document, side ? "b" : "a");
        const char *spec = sm_json_text(arm, "spec"), *identity = sm_json_text(arm, "identity");
        sm_text_tidy(name[side], sizeof name[side], *spec && strcmp(spec, ".") != 0 ? spec : identity);
    }
    snprintf(text, bytes, "%s..%s", name[0], name[1]);
}

/* Of an object, a copy with more in it; takes over the reference of more. */
static json_t *with(json_t *object, const char *key, json_t *more)
{
    json_t *copy = json_copy(object);
    if (copy && more && json_object_set_new(copy, key, more)) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

static json_t *compare_record(const json_t *document, json_t *one)
{
    const char *verdict = sm_json_text(one, "verdict");
    const int failed = !strcmp(verdict, "failed") || !strcmp(verdict, "refused");
    json_t *options = json_object_get(document, "options");
    char between[220], id[380], name[620];
    sides(document, between, sizeof between);
    sm_text_tidy(id, sizeof id, sm_json_text(one, "id")); /* and whole characters: others are refused below */
    snprintf(name, sizeof name, "%s %s", id, between);
    json_t *comparison = with(one, "between", json_string(between));
    if (comparison && options) json_object_set(comparison, "options", options);
    return json_pack("{s:i, s:s, s:s, s:s, s:O?, s:O?, s:O?, s:O?, s:O?, s:s, s:O?, s:o}", "schema", 1, "kind",
                     "compare", "case", name, "status", failed ? "error" : "ok", "why", json_object_get(one, "reason"),
                     "started", json_object_get(document, "started"), "family", json_object_get(one, "family"),
                     "threads", json_object_get(options, "threads"), "machine", json_object_get(document, "machine"),
                     "unit", "ns", "samples", json_object_get(one, "b_launch_ns"), "comparison", comparison);
}

static json_t *trend_record(const json_t *document, json_t *one)
{
    const json_t *points = sm_json_part(one, "points");
    const size_t n = json_array_size(points);
    const double threads = sm_json_number(one, "threads");
    char kernel[380], name[420];
    sm_text_tidy(kernel, sizeof kernel, sm_json_text(one, "kernel"));
    snprintf(name, sizeof name, "%s/t%.10g", kernel, threads);
    return json_pack("{s:i, s:s, s:s, s:s, s:O?, s:O?, s:o}", "schema", 1, "kind", "trend", "case", name, "status",
                     "ok", "started", n ? json_object_get(json_array_get(points, n - 1), "started") : NULL, "threads",
                     json_object_get(one, "threads"), "trend",
                     with(one, "anchor", json_incref(json_object_get(document, "anchor"))));
}

static const struct {
    const char *schema, *list, *name; /* of the document; its array; the text that an element must have */
    json_t *(*record)(const json_t *document, json_t *one);
} kinds[] = {{"slotmark-compare", "comparisons", "id", compare_record},
             {"slotmark-trend", "series", "kernel", trend_record}};

int sm_document_records(const json_t *document, sm_document_sink *take, void *state)
{
    const char *schema = sm_json_text(document, "schema");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(schema, kinds[k].schema) != 0) continue;
        size_t i;
        json_t *one;
        json_array_foreach(json_object_get(document, kinds[k].list), i, one)
        {
            if (!*sm_json_text(one, kinds[k].name) || json_is_true(json_object_get(one, "control"))) continue;
            json_t *record = kinds[k].record(document, one);
            if (!record || take(state, record)) return -1;
        }
        return 0;
    }
    return 1;
}
