/* Records of kind "cost" into series of measured points. */
#include "cost_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "record.h"
#include "stats.h"

#define MOST_POINTS 4096 /* of all series: a grid has some hundred */
#define MOST_SERIES 256
#define IDENTITY_BYTES 1024

/* A point while its rounds are gathered. */
struct gathered {
    size_t series;
    struct sm_cost_measured measured;
    double *samples;
    size_t capacity;
};

struct sm_cost_table {
    struct sm_cost_series *series;
    size_t series_count, left_out;
};

struct reading {
    struct sm_cost_table *table;
    struct gathered *points;
    size_t count;
    char identity[IDENTITY_BYTES]; /* of machine and build of the last point */
    size_t fitted;                 /* points that a curve can go by */
    bool bad;
    char *why;
    size_t why_bytes;
};

const char *sm_cost_attention_name(enum sm_cost_attention attention)
{
    return attention == SM_COST_SKIP ? "skip" : "literal";
}

void sm_cost_table_path(const char *model, const char *recipe, char *path, size_t bytes)
{
    snprintf(path, bytes, "results/costs/%s-%s.jsonl", model, recipe);
}

static bool is_cost(const json_t *record)
{
    return !strcmp(sm_cell_text(record, "kind"), "cost") && !strcmp(sm_cell_text(record, "status"), "ok");
}

static void identity_of(const json_t *record, char *text)
{
    const json_t *machine = json_object_get(record, "machine"), *build = json_object_get(record, "build");
    snprintf(text, IDENTITY_BYTES, "%s|%g|%s|%s|%s", sm_cell_text(machine, "cpu"), sm_cell_number(machine, "cores"),
             sm_cell_text(build, "commit"), sm_cell_text(build, "compiler"), sm_cell_text(build, "flags"));
}

static int note_identity(void *context, const json_t *record)
{
    struct reading *r = context;
    const char *role = sm_cell_text(json_object_get(record, "cost"), "role");
    if (is_cost(record) && (!strcmp(role, "fit") || !strcmp(role, "held-out"))) identity_of(record, r->identity);
    return 0;
}

static int refuse(struct reading *r, const json_t *record, const char *what)
{
    r->bad = true;
    snprintf(r->why, r->why_bytes, "reading costs: the record '%.120s' %s", sm_cell_text(record, "case"), what);
    return 1;
}

/* A whole number from least to SM_MAX_SEQ; SIZE_MAX: there is none. */
static size_t size_of(const json_t *record, const char *key, json_int_t least)
{
    const json_t *v = json_object_get(record, key);
    const json_int_t n = json_integer_value(v);
    return json_is_integer(v) && n >= least && n <= SM_MAX_SEQ ? (size_t)n : SIZE_MAX;
}

static bool phase_of(const json_t *record, enum sm_phase *phase)
{
    for (int p = 0; p < SM_PHASES; p++)
        if (!strcmp(sm_cell_text(record, "phase"), sm_phase_name((enum sm_phase)p))) {
            *phase = (enum sm_phase)p;
            return true;
        }
    return false;
}

/* What a call of those sizes cannot be, as a sentence's end; NULL: it can be made. */
static const char *impossible(const struct sm_cost_measured *m)
{
    const bool prefill = m->phase == SM_PHASE_PREFILL, decode = m->phase == SM_PHASE_DECODE;
    if (m->rows > m->max_seq) return "has more rows than max_seq";
    if (!m->tokens || m->tokens > m->rows || (decode && m->rows != 1)) return "has tokens that do not fit its rows";
    if (prefill ? m->past != 0 : m->past > m->max_seq - m->rows) return "begins where it does not fit";
    return m->past + m->tokens > m->max_seq - 1 ? "needs more slots than there are" : NULL;
}

static size_t series_of(struct reading *r, const struct sm_cost_series *wanted)
{
    struct sm_cost_table *t = r->table;
    for (size_t i = 0; i < t->series_count; i++) {
        const struct sm_cost_series *s = &t->series[i];
        if (s->attention == wanted->attention && s->kv == wanted->kv && s->threads == wanted->threads &&
            !strcmp(s->model, wanted->model) && !strcmp(s->recipe, wanted->recipe))
            return i;
    }
    if (t->series_count == MOST_SERIES) return SIZE_MAX;
    t->series[t->series_count] = *wanted;
    return t->series_count++;
}

static bool same_point(const struct gathered *g, size_t series, const struct sm_cost_measured *m)
{
    const struct sm_cost_measured *o = &g->measured;
    return g->series == series && o->phase == m->phase && o->rows == m->rows && o->max_seq == m->max_seq &&
           o->past == m->past && o->tokens == m->tokens;
}

static int add_samples(struct reading *r, const json_t *record, size_t series, const struct sm_cost_measured *m)
{
    const json_t *samples = json_object_get(record, "samples");
    const size_t n = json_array_size(samples);
    size_t at = 0;
    if (!n) return refuse(r, record, "has no samples");
    while (at < r->count && !same_point(&r->points[at], series, m)) at++;
    if (at == MOST_POINTS) return refuse(r, record, "is one too many: no table has as many points");
    struct gathered *g = &r->points[at];
    if (at == r->count) {
        *g = (struct gathered){.series = series, .measured = *m};
        r->count++;
        r->fitted += !m->held_out;
    }
    const size_t needed = g->measured.samples + n;
    if (needed > g->capacity) {
        double *grown = realloc(g->samples, 2 * needed * sizeof *grown);
        if (!grown) return refuse(r, record, "does not fit the memory");
        g->samples = grown;
        g->capacity = 2 * needed;
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(samples, i);
        const double ns = json_number_value(v);
        if (!json_is_number(v) || !isfinite(ns) || !(ns > 0) || ns > 1e18)
            return refuse(r, record, "has a sample that is no time");
        g->samples[g->measured.samples++] = ns;
    }
    return 0;
}

/* The point that a record is about, and its series: 0, or 1 where it is refused. */
static int point_of(struct reading *r, const json_t *record, struct sm_cost_series *s, struct sm_cost_measured *m)
{
    const json_t *cost = json_object_get(record, "cost"), *model = json_object_get(record, "model");
    const json_t *memory = json_object_get(record, "memory");
    const char *attention = sm_cell_text(cost, "attention");
    const bool skip = !strcmp(attention, "skip");
    *s = (struct sm_cost_series){.attention = skip ? SM_COST_SKIP : SM_COST_LITERAL};
    snprintf(s->model, sizeof s->model, "%s", sm_cell_text(model, "name"));
    snprintf(s->recipe, sizeof s->recipe, "%s", sm_cell_text(record, "recipe"));
    s->synthetic = json_is_true(json_object_get(model, "synthetic"));
    s->threads = size_of(record, "threads", 1);
    *m = (struct sm_cost_measured){.held_out = !strcmp(sm_cell_text(cost, "role"), "held-out"),
                                   .rows = size_of(record, "bucket", 1),
                                   .max_seq = size_of(record, "max_seq", 2),
                                   .past = size_of(record, "n_depth", 0),
                                   .tokens = size_of(record, "n_prompt", 1),
                                   .arena_bytes = sm_cell_number(memory, "arena_bytes"),
                                   .cache_bytes = sm_cell_number(memory, "cache_bytes")};
    if ((!skip && strcmp(attention, "literal") != 0) || sm_kv_named(sm_cell_text(record, "kv_type"), &s->kv) ||
        !phase_of(record, &m->phase))
        return refuse(r, record, "has an unknown attention, KV type or phase");
    if (s->threads == SIZE_MAX || m->rows == SIZE_MAX || m->max_seq == SIZE_MAX || m->past == SIZE_MAX ||
        m->tokens == SIZE_MAX)
        return refuse(r, record, "has a size that is missing or out of range");
    if (!(m->arena_bytes > 0 && m->arena_bytes < 1e15 && m->cache_bytes > 0 && m->cache_bytes < 1e15))
        return refuse(r, record, "has no bytes of its plan and its cache");
    const char *not_so = impossible(m);
    return not_so ? refuse(r, record, not_so) : 0;
}

static int note_record(void *context, const json_t *record)
{
    struct reading *r = context;
    struct sm_cost_series s;
    struct sm_cost_measured m;
    char identity[IDENTITY_BYTES];
    if (!is_cost(record)) return 0;
    const char *role = sm_cell_text(json_object_get(record, "cost"), "role");
    if (!strcmp(role, "steps") || !strcmp(role, "table")) return 0;
    if (strcmp(role, "fit") != 0 && strcmp(role, "held-out") != 0) return refuse(r, record, "has an unknown role");
    identity_of(record, identity);
    if (strcmp(identity, r->identity) != 0) {
        r->table->left_out++;
        return 0;
    }
    if (point_of(r, record, &s, &m)) return 1;
    const size_t series = series_of(r, &s);
    if (series == SIZE_MAX) return refuse(r, record, "is of one series too many");
    return add_samples(r, record, series, &m);
}

static int by_shape(const void *a, const void *b)
{
    const struct sm_cost_measured *x = a, *y = b;
    if (x->phase != y->phase) return x->phase < y->phase ? -1 : 1;
    if (x->rows != y->rows) return x->rows < y->rows ? -1 : 1;
    if (x->max_seq != y->max_seq) return x->max_seq < y->max_seq ? -1 : 1;
    if (x->past != y->past) return x->past < y->past ? -1 : 1;
    return x->tokens < y->tokens ? -1 : x->tokens > y->tokens;
}

/* What the gathered samples say together. 0, or -1: no memory. */
static int summarise(struct gathered *g)
{
    struct sm_summary summary;
    struct sm_cost_measured *m = &g->measured;
    if (sm_summarise(g->samples, m->samples, &summary)) return -1;
    m->ns = summary.median;
    m->least = summary.least;
    m->low = summary.q25;
    m->high = summary.q75;
    return 0;
}

static int make_series(struct reading *r, size_t i)
{
    struct sm_cost_series *s = &r->table->series[i];
    size_t count = 0;
    for (size_t p = 0; p < r->count; p++) count += r->points[p].series == i;
    s->measured = calloc(count, sizeof *s->measured);
    for (size_t p = 0; s->measured && p < r->count; p++) {
        if (r->points[p].series != i) continue;
        if (summarise(&r->points[p])) return -1;
        s->measured[s->count++] = r->points[p].measured;
    }
    if (!s->measured) return -1;
    qsort(s->measured, s->count, sizeof *s->measured, by_shape);
    return sm_cost_series_fit(s);
}

/* Literal attention first, then by KV type and team. */
static int by_series(const void *a, const void *b)
{
    const struct sm_cost_series *x = a, *y = b;
    if (strcmp(x->model, y->model) != 0) return strcmp(x->model, y->model);
    if (x->kv != y->kv) return x->kv < y->kv ? -1 : 1;
    if (x->threads != y->threads) return x->threads < y->threads ? -1 : 1;
    return x->attention < y->attention ? -1 : x->attention > y->attention;
}

static int read_all(struct reading *r, const char *path)
{
    struct sm_records_summary summary;
    if (sm_records_read(path, note_identity, r, &summary, r->why, r->why_bytes) ||
        sm_records_read(path, note_record, r, &summary, r->why, r->why_bytes) || r->bad)
        return -1;
    if (!r->fitted) {
        snprintf(r->why, r->why_bytes,
                 "reading costs: '%.300s' holds no point of kind \"cost\" to draw a curve by; slotmark costs MODEL "
                 "measures some",
                 path);
        return -1;
    }
    for (size_t i = 0; i < r->table->series_count; i++)
        if (make_series(r, i)) {
            snprintf(r->why, r->why_bytes, "reading costs from '%.300s': there is no memory", path);
            return -1;
        }
    qsort(r->table->series, r->table->series_count, sizeof *r->table->series, by_series);
    return 0;
}

int sm_cost_table_load(struct sm_cost_table **table, const char *path, char *why, size_t why_bytes)
{
    struct reading r = {.why = why, .why_bytes = why_bytes};
    r.points = calloc(MOST_POINTS, sizeof *r.points);
    r.table = calloc(1, sizeof *r.table);
    if (r.table) r.table->series = calloc(MOST_SERIES, sizeof *r.table->series);
    int failed = -1;
    if (r.points && r.table && r.table->series)
        failed = read_all(&r, path);
    else
        snprintf(why, why_bytes, "reading costs from '%.300s': there is no memory", path);
    for (size_t i = 0; i < r.count; i++) free(r.points[i].samples);
    free(r.points);
    if (failed)
        sm_cost_table_destroy(r.table);
    else
        *table = r.table;
    return failed;
}

void sm_cost_table_destroy(struct sm_cost_table *table)
{
    if (!table) return;
    for (size_t i = 0; i < table->series_count; i++) free(table->series[i].measured);
    free(table->series);
    free(table);
}

size_t sm_cost_table_count(const struct sm_cost_table *table)
{
    return table->series_count;
}

const struct sm_cost_series *sm_cost_table_at(const struct sm_cost_table *table, size_t i)
{
    return i < table->series_count ? &table->series[i] : NULL;
}

const struct sm_cost_series *sm_cost_table_find(const struct sm_cost_table *table, enum sm_cost_attention attention,
                                                enum sm_kv_type kv, size_t threads)
{
    for (size_t i = 0; i < table->series_count; i++) {
        const struct sm_cost_series *s = &table->series[i];
        if (s->attention == attention && s->kv == kv && s->threads == threads) return s;
    }
    return NULL;
}

size_t sm_cost_table_left_out(const struct sm_cost_table *table)
{
    return table->left_out;
}
