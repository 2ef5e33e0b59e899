#include "results.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "documents.h"
#include "lines.h"

#define MAX_NS 1e18 /* thirty years: a longer sample is no measurement */
#define MAX_DOCUMENT (64 << 20)

const char *sm_json_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

double sm_json_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const json_t *sm_json_part(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_object(value) || json_is_array(value) ? value : NULL;
}

const char *sm_result_text(const struct sm_result *r, const char *key)
{
    return sm_json_text(r->json, key);
}

double sm_result_number(const struct sm_result *r, const char *key)
{
    return sm_json_number(r->json, key);
}

double sm_result_core_hz(const struct sm_result *r)
{
    const json_t *witnesses = sm_json_part(r->json, "witnesses");
    const double hz = sm_json_number(witnesses, "core_hz");
    return hz > 0 ? hz : sm_json_number(witnesses, "core_hz_before");
}

double sm_result_axis(const struct sm_result *r, const char *axis)
{
    const double value = sm_json_number(sm_json_part(r->json, "shape"), axis);
    return isnan(value) ? sm_json_number(r->json, axis) : value;
}

int sm_result_leaves_out(const struct sm_result *r)
{
    return strstr(sm_result_text(r, "variant"), "skip") &&
           (sm_result_axis(r, "rows") > 1 || sm_result_axis(r, "valid") >= 0 || sm_result_axis(r, "window") > 0);
}

int sm_number_order(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double sm_result_quantile(const double *sorted, size_t n, double q)
{
    if (n == 0) return NAN;
    const double at = q * (double)(n - 1);
    const size_t i = (size_t)at;
    if (i + 1 >= n) return sorted[n - 1];
    return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

/* Median and quartiles of the samples that can be times. -1: no memory. */
static int summarise(struct sm_result *r)
{
    const json_t *samples = json_object_get(r->json, "samples");
    const size_t n = json_array_size(samples);
    r->median = r->q1 = r->q3 = NAN;
    if (n == 0) return 0;
    double *sorted = malloc(n * sizeof *sorted);
    if (!sorted) return -1;
    size_t i;
    json_t *value;
    json_array_foreach(samples, i, value)
    {
        const double ns = json_is_number(value) ? json_number_value(value) : NAN;
        if (ns > 0 && ns < MAX_NS) sorted[r->samples++] = ns;
    }
    qsort(sorted, r->samples, sizeof *sorted, sm_number_order);
    r->median = sm_result_quantile(sorted, r->samples, 0.5);
    r->q1 = sm_result_quantile(sorted, r->samples, 0.25);
    r->q3 = sm_result_quantile(sorted, r->samples, 0.75);
    free(sorted);
    return 0;
}

/* NULL, or what the value lacks to be a record. */
static const char *unfit(const json_t *record)
{
    if (!json_is_object(record)) return "not an object";
    if (sm_json_number(record, "schema") != 1) return "its schema is not 1";
    if (!*sm_json_text(record, "kind")) return "it has no kind";
    if (!*sm_json_text(record, "case")) return "it has no case";
    return NULL;
}

/* A kernel that another compiler built stands in figures and tables as a variant of its own. */
static void name_compiler(json_t *record)
{
    const char *compiler = sm_json_text(sm_json_part(sm_json_part(record, "build"), "kernels"), "compiler");
    if (*compiler)
        json_object_set_new(record, "variant", json_sprintf("%s, %s", sm_json_text(record, "variant"), compiler));
}

static int add(struct sm_results *results, json_t *record)
{
    if (results->count == results->capacity) {
        const size_t capacity = results->capacity ? 2 * results->capacity : 256;
        struct sm_result *at = realloc(results->at, capacity * sizeof *at);
        if (!at) return -1;
        results->at = at;
        results->capacity = capacity;
    }
    name_compiler(record);
    struct sm_result *r = &results->at[results->count];
    *r = (struct sm_result){.json = record, .order = results->count};
    if (summarise(r)) return -1;
    results->count++;
    return 0;
}

static void bad_line(struct sm_results *results, const char *path, size_t number, const char *wrong)
{
    if (results->bad_lines++ == 0)
        snprintf(results->first_bad, sizeof results->first_bad, "%.150s:%zu: %.150s", path, number, wrong);
}

/* The file that lines are taken from, and what they become. */
struct reading {
    struct sm_results *results;
    const char *path;
};

/* Notes a line's record, or what is wrong with it. -1: no memory. */
static int take_line(void *state, size_t number, struct sm_line *line)
{
    struct reading *reading = state;
    if (line->blank) return 0;
    const char *wrong = line->record ? unfit(line->record) : line->wrong;
    reading->results->lines++;
    if (!wrong && !add(reading->results, line->record)) return 0;
    json_decref(line->record);
    if (!wrong) return -1;
    bad_line(reading->results, reading->path, number, wrong);
    return 0;
}

static int take_record(void *state, json_t *record)
{
    if (!add(state, record)) return 0;
    json_decref(record);
    return -1;
}

static int ends_with(const char *text, const char *ending)
{
    const size_t length = strlen(text), n = strlen(ending);
    return length > n && !strcmp(text + length - n, ending);
}

/* A document of other commands; what is none is passed over where nobody asked for it by name. */
static int read_document(struct sm_results *results, const char *path, int asked, char *why, size_t why_bytes)
{
    struct stat info;
    json_error_t error = {.text = "larger than 64 MiB"};
    json_t *document = !stat(path, &info) && info.st_size > MAX_DOCUMENT ? NULL : json_load_file(path, 0, &error);
    const int state = document ? sm_document_records(document, take_record, results) : 1;
    json_decref(document);
    if (state < 0) {
        snprintf(why, why_bytes, "no memory for the results in %s", path);
        return -1;
    }
    if (state > 0 && asked) {
        results->lines++;
        bad_line(results, path, 1, document ? "neither a comparison nor a series" : error.text);
    }
    results->files += state == 0 || asked;
    return 0;
}

static int read_file(struct sm_results *results, const char *path, char *why, size_t why_bytes)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        snprintf(why, why_bytes, "cannot read the results in %s: %s", path, strerror(errno));
        return -1;
    }
    struct reading reading = {results, path};
    int failed = sm_lines_read(file, take_line, &reading);
    if (failed)
        snprintf(why, why_bytes, "no memory for the results in %s", path);
    else if (ferror(file)) {
        snprintf(why, why_bytes, "cannot read the results in %s: %s", path, strerror(errno));
        failed = -1;
    }
    fclose(file);
    results->files++;
    return failed;
}

static int is_result_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && (ends_with(entry->d_name, ".jsonl") || ends_with(entry->d_name, ".json"));
}

int sm_results_read(struct sm_results *results, const char *path, char *why, size_t why_bytes)
{
    struct stat info;
    if (stat(path, &info)) {
        snprintf(why, why_bytes, "cannot read the results in %s: %s", path, strerror(errno));
        return -1;
    }
    if (!S_ISDIR(info.st_mode))
        return ends_with(path, ".json") ? read_document(results, path, 1, why, why_bytes)
                                        : read_file(results, path, why, why_bytes);

    struct dirent **names;
    const int n = scandir(path, &names, is_result_file, alphasort);
    const size_t files = results->files;
    if (n < 0) {
        snprintf(why, why_bytes, "cannot read the folder %s: %s", path, strerror(errno));
        return -1;
    }
    int failed = 0;
    for (int i = 0; i < n; i++) {
        char file[4096];
        const int length = snprintf(file, sizeof file, "%s/%s", path, names[i]->d_name);
        if (!failed && (length < 0 || (size_t)length >= sizeof file)) {
            snprintf(why, why_bytes, "cannot read the results in %s: the path is too long", path);
            failed = -1;
        }
        if (!failed)
            failed = ends_with(file, ".json") ? read_document(results, file, 0, why, why_bytes)
                                              : read_file(results, file, why, why_bytes);
        free(names[i]);
    }
    free(names);
    if (!failed && results->files == files) {
        snprintf(why, why_bytes, "the folder %s holds no .jsonl file, and no comparison or series in .json", path);
        return -1;
    }
    return failed;
}

static const char *machine_of(const struct sm_result *r)
{
    return sm_json_text(sm_json_part(r->json, "machine"), "cpu");
}

/* What makes two records measurements of the same thing: the newer one counts. */
static int same_order(const struct sm_result *x, const struct sm_result *y)
{
    static const char *const keys[] = {"kind", "case", "phase"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const int order = strcmp(sm_result_text(x, keys[i]), sm_result_text(y, keys[i]));
        if (order) return order;
    }
    return strcmp(sm_json_text(sm_json_part(x->json, "model"), "name"),
                  sm_json_text(sm_json_part(y->json, "model"), "name"));
}

static int age_order(const struct sm_result *x, const struct sm_result *y)
{
    const int order = strcmp(sm_result_text(x, "started"), sm_result_text(y, "started"));
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

static int settle_order(const void *a, const void *b)
{
    const int order = same_order(a, b);
    return order ? order : -age_order(a, b); /* newest first */
}

static int reading_order(const void *a, const void *b)
{
    const struct sm_result *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

void sm_results_settle(struct sm_results *results)
{
    const struct sm_result *newest = NULL;
    for (size_t i = 0; i < results->count; i++)
        if (*machine_of(&results->at[i]) && (!newest || age_order(&results->at[i], newest) > 0))
            newest = &results->at[i];
    if (!newest) newest = results->at;
    if (!results->count) return;
    json_t *kept = newest->json;
    json_incref(kept); /* its text outlives the shuffling below */
    const char *machine = sm_json_text(sm_json_part(kept, "machine"), "cpu");

    size_t here = 0;
    for (size_t i = 0; i < results->count; i++) {
        struct sm_result *r = &results->at[i];
        const int foreign = *machine_of(r) && *machine && strcmp(machine_of(r), machine) != 0; /* a series names none */
        results->other_machines += (size_t)foreign;
        if (foreign || !strcmp(sm_result_text(r, "status"), "skipped"))
            json_decref(r->json);
        else
            results->at[here++] = *r;
    }
    json_decref(kept);
    qsort(results->at, here, sizeof *results->at, settle_order);

    results->count = 0;
    struct sm_result last = {0};
    for (size_t i = 0; i < here; i++) {
        struct sm_result *r = &results->at[i];
        const int older = last.json && same_order(&last, r) == 0;
        if (!older) {
            json_decref(last.json);
            last = *r;
            json_incref(last.json);
        }
        const int right = !strcmp(sm_result_text(r, "status"), "ok");
        if (!older && !right) results->refused++;
        if (older || !right)
            json_decref(r->json);
        else
            results->at[results->count++] = *r;
    }
    json_decref(last.json);
    qsort(results->at, results->count, sizeof *results->at, reading_order);
}

int sm_results_copy(struct sm_results *to, const struct sm_results *from)
{
    *to = *from;
    to->at = malloc((from->count + 1) * sizeof *to->at);
    to->capacity = from->count + 1;
    if (!to->at) {
        *to = (struct sm_results){0};
        return -1;
    }
    for (size_t i = 0; i < from->count; i++) {
        to->at[i] = from->at[i];
        json_incref(to->at[i].json);
    }
    return 0;
}

void sm_results_destroy(struct sm_results *results)
{
    for (size_t i = 0; i < results->count; i++) json_decref(results->at[i].json);
    free(results->at);
    *results = (struct sm_results){0};
}
