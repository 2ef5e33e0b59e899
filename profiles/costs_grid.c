#include "costs_grid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 4096
#define LEAST_GAP 8 /* between buckets, for one half-way to be worth a look */

/* What a series of points is drawn from: ascending sizes, each once. */
struct sizes {
    size_t count, at[SM_LIST_MOST];
};

struct maker {
    struct costs_grid *grid;
    const struct costs_options *options;
    const struct sm_model_shape *shape;
    const struct sm_trial_speed *speed;
    struct sizes max_seq, buckets, prefill;
    struct costs_point series; /* attention, kv, threads */
    bool lost;
};

static void insert(struct sizes *s, size_t value)
{
    size_t i = 0;
    while (i < s->count && s->at[i] < value) i++;
    if ((i < s->count && s->at[i] == value) || s->count == SM_LIST_MOST) return;
    memmove(&s->at[i + 1], &s->at[i], (s->count - i) * sizeof s->at[0]);
    s->at[i] = value;
    s->count++;
}

static void set_sizes(struct sizes *s, const struct sm_list *list)
{
    for (size_t i = 0; i < list->count; i++) insert(s, (size_t)list->value[i]);
}

/* One row is one sweep of the weights; many are as fast as arithmetic lets them be. */
static double call_seconds(const struct maker *m, const struct costs_point *p)
{
    const size_t columns = p->phase == SM_PHASE_PREFILL ? p->rows : p->max_seq;
    const double sweep = sm_trial_rows_ops(m->shape, 1, columns) / m->speed->decode;
    const double rows = sm_trial_rows_ops(m->shape, p->rows, columns) / m->speed->prefill;
    return fmax(sweep, rows) / (double)p->threads;
}

static bool fits(const struct costs_point *p)
{
    if (p->rows > p->max_seq || !p->tokens || p->tokens > p->rows) return false;
    return p->phase == SM_PHASE_PREFILL ? p->tokens <= p->max_seq - 1
                                        : p->past <= p->max_seq - p->rows && p->past + p->tokens <= p->max_seq - 1;
}

static bool same(const struct costs_point *a, const struct costs_point *b)
{
    return a->attention == b->attention && a->kv == b->kv && a->threads == b->threads && a->phase == b->phase &&
           a->rows == b->rows && a->max_seq == b->max_seq && a->past == b->past && a->tokens == b->tokens;
}

static void add(struct maker *m, enum sm_phase phase, size_t rows, size_t max_seq, size_t past, size_t tokens,
                bool held_out)
{
    struct costs_grid *g = m->grid;
    struct costs_point p = m->series;
    p.phase = phase;
    p.rows = rows;
    p.max_seq = max_seq;
    p.past = past;
    p.tokens = tokens;
    p.held_out = held_out;
    if (!fits(&p)) return;
    for (size_t i = 0; i < g->count; i++)
        if (same(&g->at[i], &p)) return;
    if (g->count == g->capacity) {
        const size_t capacity = g->capacity ? 2 * g->capacity : 128;
        struct costs_point *grown = capacity > MOST ? NULL : realloc(g->at, capacity * sizeof *grown);
        m->lost |= !grown;
        if (!grown) return;
        g->at = grown;
        g->capacity = capacity;
    }
    p.call_s = call_seconds(m, &p);
    p.round_s = p.call_s > COSTS_WARM_S ? p.call_s : fmax(COSTS_ROUND_S, p.call_s) + p.call_s;
    g->at[g->count++] = p;
}

/* Valid slots before a call of `rows`, as far as they fit. */
static size_t pasts(const struct maker *m, size_t max_seq, size_t rows, size_t *list)
{
    const struct sm_list *given = &m->options->valid;
    const size_t most = max_seq - 1 - rows;
    size_t n = 0;
    if (given->count)
        for (size_t i = 0; i < given->count; i++)
            list[n++] = (size_t)given->value[i] < most ? (size_t)given->value[i] : most;
    else if (m->series.attention == SM_COST_SKIP || rows == 1)
        for (size_t eighths = 1; eighths <= 8; eighths = eighths == 1 ? 4 : eighths + 4)
            list[n++] = max_seq / 8 * eighths < most ? max_seq / 8 * eighths : most;
    else
        list[n++] = max_seq / 2 < most ? max_seq / 2 : most;
    return n;
}

static size_t holding(const struct sizes *s, size_t rows)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->at[i] >= rows) return s->at[i];
    return s->at[s->count - 1];
}

/* Between which prefill buckets one is held out. */
static bool is_held_out(size_t gap)
{
    return gap % 2 == 0;
}

/* Tokens that no smaller prefill bucket takes, the ones held out among them. */
static size_t fewest(const struct maker *m, size_t bucket)
{
    const size_t *at = m->prefill.at;
    if (!bucket) return 1;
    return 1 + (is_held_out(bucket - 1) ? (at[bucket - 1] + at[bucket]) / 2 : at[bucket - 1]);
}

/* Skipping, an append bucket with the fewest tokens that it would be chosen for, behind as many as fit: every second
 * one, the others are held out. */
static void add_padded(struct maker *m, size_t bucket, size_t max_seq, bool held_out)
{
    const size_t rows = m->buckets.at[bucket], tokens = 1 + (bucket ? m->buckets.at[bucket - 1] : 0);
    if (m->series.attention != SM_COST_SKIP || (bucket % 2 != 0) != held_out || tokens == rows || rows >= max_seq)
        return;
    add(m, SM_PHASE_APPEND, rows, max_seq, max_seq - 1 - rows, tokens, held_out);
}

static void add_fitted(struct maker *m)
{
    size_t past[SM_LIST_MOST];
    const bool skip = m->series.attention == SM_COST_SKIP;
    for (size_t k = 0; k < m->max_seq.count; k++) {
        const size_t max_seq = m->max_seq.at[k], n = pasts(m, max_seq, 1, past);
        for (size_t i = 0; i < n; i++) add(m, SM_PHASE_DECODE, 1, max_seq, past[i], 1, false);
        if (k != 0 && k + 1 != m->max_seq.count) continue;
        for (size_t b = 0; b < m->buckets.count && m->buckets.at[b] < max_seq; b++) {
            const size_t rows = m->buckets.at[b], some = pasts(m, max_seq, rows, past);
            for (size_t i = 0; i < some; i++)
                if (i == 0 || i + 1 == some) add(m, SM_PHASE_APPEND, rows, max_seq, past[i], rows, false);
            if (k + 1 == m->max_seq.count) add_padded(m, b, max_seq, false);
        }
    }
    for (size_t b = 0; b < m->prefill.count; b++) {
        const size_t rows = m->prefill.at[b], max_seq = holding(&m->max_seq, rows);
        add(m, SM_PHASE_PREFILL, rows, max_seq, 0, rows < max_seq ? rows : max_seq - 1, false);
        if (skip) add(m, SM_PHASE_PREFILL, rows, max_seq, 0, fewest(m, b), false);
    }
}

static void add_held_out(struct maker *m)
{
    const struct sizes *k = &m->max_seq, *b = &m->buckets, *s = &m->prefill;
    for (size_t i = 0; i < k->count; i++) add(m, SM_PHASE_DECODE, 1, k->at[i], k->at[i] * 3 / 10, 1, true);
    for (size_t i = 0; i + 1 < k->count; i++) {
        const size_t between = (k->at[i] + k->at[i + 1]) / 2;
        add(m, SM_PHASE_DECODE, 1, between, between * 6 / 10, 1, true);
        if (b->count > 1 && i == 0) {
            add(m, SM_PHASE_APPEND, b->at[1], between, between / 4, b->at[1], true);
            add(m, SM_PHASE_APPEND, b->at[b->count / 2], between, between / 2, b->at[b->count / 2], true);
        }
    }
    for (size_t i = 0; i + 1 < b->count; i++) {
        const size_t rows = (b->at[i] + b->at[i + 1]) / 2, max_seq = k->at[k->count / 2];
        if (b->at[i + 1] - b->at[i] >= LEAST_GAP) add(m, SM_PHASE_APPEND, rows, max_seq, max_seq / 4, rows, true);
    }
    for (size_t i = 0; i < b->count; i++) add_padded(m, i, k->at[k->count - 1], true);
    for (size_t i = 0; i + 1 < s->count; i++) {
        const size_t rows = (s->at[i] + s->at[i + 1]) / 2, max_seq = holding(k, rows);
        if (is_held_out(i)) add(m, SM_PHASE_PREFILL, rows, max_seq, 0, rows, true);
    }
}

/* Sizes that were not given: max_seq as far as the model was made for, buckets as far as max_seq goes. */
static void set_standards(struct maker *m)
{
    const size_t context = m->shape->context;
    if (!m->max_seq.count)
        for (size_t k = 512; k <= 2048; k *= 2)
            if (!context || k <= context) insert(&m->max_seq, k);
    if (!m->max_seq.count) insert(&m->max_seq, context < 4 ? 4 : context);
    const size_t most = m->max_seq.at[m->max_seq.count - 1];
    if (!m->buckets.count)
        for (size_t rows = 2; rows <= 256 && rows < most; rows *= 2) insert(&m->buckets, rows);
    if (!m->prefill.count) {
        if (m->max_seq.at[0] < 64) insert(&m->prefill, m->max_seq.at[0]); /* each max_seq can hold one of them */
        for (size_t rows = 64; rows < most && rows <= 2048; rows *= 2) insert(&m->prefill, rows);
        if (!m->prefill.count || most <= 4096) insert(&m->prefill, most);
    }
}

static int check(const struct maker *m, char *why, size_t why_bytes)
{
    const size_t most = m->max_seq.at[m->max_seq.count - 1];
    for (int i = 0; i < 2; i++) {
        const struct sizes *s = i ? &m->prefill : &m->buckets;
        if (!s->count || s->at[s->count - 1] <= most) continue;
        snprintf(why, why_bytes, "%s of %zu rows does not fit the greatest max_seq, %zu",
                 i ? "a prefill bucket" : "an append bucket", s->at[s->count - 1], most);
        return -1;
    }
    return 0;
}

int costs_grid_create(struct costs_grid *grid, const struct costs_options *o, const struct sm_model_shape *shape,
                      const struct sm_trial_speed *speed, char *why, size_t why_bytes)
{
    struct maker m = {.grid = grid, .options = o, .shape = shape, .speed = speed};
    *grid = (struct costs_grid){0};
    set_sizes(&m.max_seq, &o->max_seq);
    set_sizes(&m.buckets, &o->buckets);
    set_sizes(&m.prefill, &o->prefill_buckets);
    set_standards(&m);
    if (check(&m, why, why_bytes)) return -1;
    for (size_t t = 0; t < o->threads.count; t++)
        for (size_t v = 0; v < o->kv.count; v++)
            for (size_t a = 0; a < o->attention.count; a++) {
                m.series.attention = strcmp(o->attention.value[a], "skip") ? SM_COST_LITERAL : SM_COST_SKIP;
                m.series.threads = (size_t)o->threads.value[t];
                sm_kv_named(o->kv.value[v], &m.series.kv);
                add_fitted(&m);
                add_held_out(&m);
            }
    if (!m.lost && grid->count) return 0;
    snprintf(why, why_bytes,
             m.lost ? "there is no memory for the grid, or it has more than %d points" : "no call fits these sizes",
             MOST);
    return -1;
}

void costs_grid_destroy(struct costs_grid *grid)
{
    free(grid->at);
    *grid = (struct costs_grid){0};
}

static void note(size_t *rows, size_t *count, size_t value)
{
    for (size_t i = 0; i < *count; i++)
        if (rows[i] == value) return;
    if (*count < SM_MAX_BUCKETS) rows[(*count)++] = value;
}

void costs_grid_session(const struct costs_grid *grid, const struct costs_point *of, struct sm_session_options *session)
{
    size_t least = of->max_seq;
    *session = (struct sm_session_options){.max_seq = of->max_seq, .kv = of->kv, .threads = of->threads};
    for (size_t i = 0; i < grid->count; i++) {
        const struct costs_point *p = &grid->at[i];
        if (p->phase == SM_PHASE_PREFILL && p->rows < least) least = p->rows;
        if (p->attention != of->attention || p->kv != of->kv || p->threads != of->threads || p->max_seq != of->max_seq)
            continue;
        if (p->phase == SM_PHASE_PREFILL) note(session->prefill_buckets, &session->prefill_bucket_count, p->rows);
        if (p->phase == SM_PHASE_APPEND) note(session->append_buckets, &session->append_bucket_count, p->rows);
    }
    note(session->prefill_buckets, &session->prefill_bucket_count, least);
}
