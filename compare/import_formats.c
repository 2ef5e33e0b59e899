/* The entries of Google Benchmark, llama-bench and our own records. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "import_rows.h"
#include "record.h"

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

/* A number, also as SQL and some versions write it: between quotes. NAN: there is none. */
static double number_of(const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);
    const char *text = json_string_value(value);
    char *end;
    if (json_is_number(value)) return json_number_value(value);
    if (!text || !*text) return NAN;
    const double x = strtod(text, &end);
    return *end ? NAN : x;
}

/* "2026-01-31T12:00:00Z", "...+02:00", or with a space. 0: it is none of them. */
static long long time_of(const char *text)
{
    struct tm parts = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    int hours = 0, minutes = 0;
    char sign = '+';
    if (!rest) rest = strptime(text, "%Y-%m-%d %H:%M:%S", &parts);
    if (!rest) return 0;
    const time_t seconds = timegm(&parts);
    if (*rest == '+' || *rest == '-') {
        if (sscanf(rest, "%c%2d:%2d", &sign, &hours, &minutes) != 3) hours = minutes = 0;
    }
    const long long offset = 3600LL * hours + 60LL * minutes;
    return seconds > 0 ? (long long)seconds - (sign == '-' ? -offset : offset) : 0;
}

static int refuse(struct sm_import_rows *r, const char *where, const char *sentence)
{
    snprintf(r->why, r->why_bytes, "%s %s", where, sentence);
    return -1;
}

/* All entries of a file are of one format. */
static int is_format(struct sm_import_rows *r, const char *where, const char *format)
{
    if (!*r->import->format) snprintf(r->import->format, sizeof r->import->format, "%s", format);
    return strcmp(r->import->format, format) ? refuse(r, where, "is of another format than what stands before it") : 0;
}

/* The file's first word on the machine. */
static void keep_machine(struct sm_import_rows *r, json_t *facts)
{
    if (!r->import->machine && facts) r->import->machine = json_dumps(facts, JSON_COMPACT);
    json_decref(facts);
}

static struct sm_import_row row_of(const char *name, const char *unit, const char *build, long long started)
{
    struct sm_import_row row = {.started = started};
    snprintf(row.name, sizeof row.name, "%s", name);
    snprintf(row.unit, sizeof row.unit, "%s", unit);
    snprintf(row.build, sizeof row.build, "%s", build);
    return row;
}

static int add(struct sm_import_rows *r, struct sm_import_row row, enum sm_import_kind kind, double value)
{
    row.kind = kind;
    row.value = value;
    return sm_import_add(r, &row);
}

/* Numbers of an array as samples. */
static int add_samples(struct sm_import_rows *r, const struct sm_import_row *row, const json_t *samples)
{
    for (size_t i = 0; i < json_array_size(samples); i++) {
        const json_t *value = json_array_get(samples, i);
        if (add(r, *row, SM_IMPORT_SAMPLE, json_is_number(value) ? json_number_value(value) : NAN)) return -1;
    }
    return 0;
}

/* Nanoseconds in a unit of Google Benchmark; NAN: none of its units. */
static double unit_ns(const char *unit)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    static const double ns[] = {1, 1e3, 1e6, 1e9};
    for (size_t i = 0; i < sizeof ns / sizeof *ns; i++)
        if (!strcmp(unit, units[i])) return ns[i];
    return *unit ? NAN : 1;
}

static int add_benchmark(struct sm_import_rows *r, const json_t *b, long long started)
{
    const char *run = text_of(b, "run_name"), *aggregate = text_of(b, "aggregate_name");
    const char *name = *run ? run : text_of(b, "name");
    if (!*name || strlen(name) >= sizeof r->list->name) return refuse(r, "a benchmark", "has no name, or one too long");
    if (json_is_true(json_object_get(b, "error_occurred")) || json_is_true(json_object_get(b, "skipped"))) {
        r->import->passed_over++;
        return 0;
    }
    const bool is_median = !strcmp(aggregate, "median"), is_mean = !strcmp(aggregate, "mean"),
               is_spread = !strcmp(aggregate, "stddev");
    if ((*aggregate && !is_median && !is_mean && !is_spread) || json_object_get(b, "big_o") ||
        json_object_get(b, "rms")) { /* cv, complexities: of no use here */
        r->import->passed_over++;
        return 0;
    }
    const enum sm_import_kind kind = is_median   ? SM_IMPORT_MEDIAN
                                     : is_mean   ? SM_IMPORT_MEAN
                                     : is_spread ? SM_IMPORT_SPREAD
                                                 : SM_IMPORT_SAMPLE;
    return add(r, row_of(name, "ns", "", started), kind, number_of(b, "real_time") * unit_ns(text_of(b, "time_unit")));
}

static int add_google_benchmark(struct sm_import_rows *r, const json_t *o, const char *where)
{
    const json_t *list = json_object_get(o, "benchmarks"), *context = json_object_get(o, "context");
    if (is_format(r, where, "google-benchmark")) return -1;
    if (!json_is_array(list)) return refuse(r, where, "has \"benchmarks\" that are no list");
    keep_machine(r, json_deep_copy(context));
    for (size_t i = 0; i < json_array_size(list); i++)
        if (add_benchmark(r, json_array_get(list, i), time_of(text_of(context, "date")))) return -1;
    return 0;
}

/* "model.gguf/pp512+tg128@d256/t8,b2048,ub512,kf16,vf16": what tells the tests of one file apart. */
static void name_test(const json_t *o, char *name, size_t bytes)
{
    static const struct {
        const char *key, *word;
    } told[] = {{"n_threads", "t"}, {"n_batch", "b"},        {"n_ubatch", "ub"},   {"type_k", "k"},
                {"type_v", "v"},    {"n_gpu_layers", "ngl"}, {"flash_attn", "fa"}, {"backends", ""},
                {"recipe", ""},     {"scale_in", ""},        {"max_seq", "K"}};
    const char *file = text_of(o, "model_filename"), *slash = strrchr(file, '/'), *comma = "/";
    const double prompt = number_of(o, "n_prompt"), gen = number_of(o, "n_gen"), depth = number_of(o, "n_depth");
    size_t used = (size_t)snprintf(name, bytes, "%.80s/", slash ? slash + 1 : file);
    if (prompt > 0) used += (size_t)snprintf(name + used, bytes - used, "pp%.0f", prompt);
    if (gen > 0) used += (size_t)snprintf(name + used, bytes - used, "%stg%.0f", prompt > 0 ? "+" : "", gen);
    if (depth > 0) used += (size_t)snprintf(name + used, bytes - used, "@d%.4g", depth);
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        const double number = number_of(o, told[i].key);
        if (isfinite(number))
            used += (size_t)snprintf(name + used, bytes - used, "%s%s%.4g", comma, told[i].word, number);
        else if (*text_of(o, told[i].key))
            used +=
                (size_t)snprintf(name + used, bytes - used, "%s%s%.12s", comma, told[i].word, text_of(o, told[i].key));
        else
            continue;
        comma = ",";
        if (used >= bytes - 24) return;
    }
}

static int add_llama_bench(struct sm_import_rows *r, const json_t *o, const char *where)
{
    char name[200];
    const json_t *samples = json_object_get(o, "samples_ts");
    const double prompt = number_of(o, "n_prompt"), gen = number_of(o, "n_gen"), spread = number_of(o, "stddev_ts");
    if (is_format(r, where, "llama-bench")) return -1;
    if (!(prompt >= 0 && prompt < 1e9 && gen >= 0 && gen < 1e9 && prompt + gen > 0))
        return refuse(r, where, "says neither n_prompt nor n_gen");
    if (!*text_of(o, "model_filename")) return refuse(r, where, "has no model_filename");
    name_test(o, name, sizeof name);
    keep_machine(r, json_pack("{s:s, s:s}", "cpu", text_of(o, "cpu_info"), "gpu", text_of(o, "gpu_info")));
    const struct sm_import_row row = row_of(name, "t/s", text_of(o, "build_commit"), time_of(text_of(o, "test_time")));
    if (json_array_size(samples)) return add_samples(r, &row, samples);
    if (add(r, row, SM_IMPORT_MEAN, number_of(o, "avg_ts"))) return -1;
    return spread >= 0 ? add(r, row, SM_IMPORT_SPREAD, spread) : 0;
}

static int add_record(struct sm_import_rows *r, const json_t *o, const char *where)
{
    char sentence[200];
    const json_t *samples = json_object_get(o, "samples"), *build = json_object_get(o, "build");
    if (is_format(r, where, "slotmark")) return -1;
    if (sm_record_check(o, sentence, sizeof sentence)) {
        snprintf(r->why, r->why_bytes, "%s is %s", where, sentence);
        return -1;
    }
    const char *name = text_of(o, "case");
    if (strcmp(text_of(o, "status"), "ok") || !json_array_size(samples)) {
        r->import->passed_over++;
        return 0;
    }
    if (strlen(name) >= sizeof r->list->name) return refuse(r, where, "has a case with a name too long");
    keep_machine(r, json_deep_copy(json_object_get(o, "machine")));
    const struct sm_import_row row =
        row_of(name, text_of(o, "unit"), text_of(build, "commit"), time_of(text_of(o, "started")));
    return add_samples(r, &row, samples);
}

int sm_import_object(struct sm_import_rows *r, const json_t *o, const char *where)
{
    if (json_object_get(o, "benchmarks")) return add_google_benchmark(r, o, where);
    if (json_object_get(o, "avg_ts")) return add_llama_bench(r, o, where);
    if (json_object_get(o, "case") && json_object_get(o, "kind")) return add_record(r, o, where);
    return refuse(r, where, "is no result of Google Benchmark, llama-bench or slotmark");
}
