#include "costs_findings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cells.h"
#include "record.h"

#define LEAST_SIZE 128
#define SETS 5
#define FARTHEST 16 /* times the greatest max_seq measured, where a time is still told */

static json_t *whole(size_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *phases_of(const struct sm_cost_series *s)
{
    json_t *list = json_array();
    for (int p = 0; p < SM_PHASES; p++) {
        const struct sm_cost_phase *f = &s->phase[p];
        if (!f->time.knots) continue;
        json_array_append_new(list, json_pack("{s:s,s:o,s:o,s:o,s:o,s:o}", "phase", sm_phase_name((enum sm_phase)p),
                                              "points", whole(f->points), "held_out", whole(f->held_out),
                                              "median_error", sm_record_number(f->median_error), "worst_error",
                                              sm_record_number(f->worst_error), "band", sm_record_number(f->band)));
    }
    return list;
}

/* The least and the greatest max_seq of measured appends, or of decodes where there are none. */
static void ends_of(const struct sm_cost_series *s, size_t *least, size_t *most)
{
    const bool appended = s->phase[SM_PHASE_APPEND].time.knots > 0;
    *least = SIZE_MAX;
    *most = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct sm_cost_measured *m = &s->measured[i];
        if (m->held_out || m->phase != (appended ? SM_PHASE_APPEND : SM_PHASE_DECODE)) continue;
        if (m->max_seq < *least) *least = m->max_seq;
        if (m->max_seq > *most) *most = m->max_seq;
    }
}

static json_t *knees_of(const struct sm_cost_series *s, size_t least, size_t most)
{
    json_t *list = json_array();
    for (size_t k = least; k && k != SIZE_MAX; k = k == most ? 0 : most) {
        size_t free_rows;
        const double rows = sm_cost_knee(s, k, &free_rows);
        json_array_append_new(list, json_pack("{s:o,s:o,s:o}", "max_seq", whole(k), "rows", sm_record_number(rows),
                                              "free_rows", whole(free_rows)));
    }
    return list;
}

/* Whether the curve goes by a fuller call of the same shape: points are in the order of what was valid. */
static bool is_fuller_later(const struct sm_cost_series *s, size_t i)
{
    const struct sm_cost_measured *m = &s->measured[i];
    for (size_t k = i + 1; k < s->count; k++) {
        const struct sm_cost_measured *o = &s->measured[k];
        if (o->phase == m->phase && o->rows == m->rows && o->max_seq == m->max_seq && !o->held_out) return true;
    }
    return false;
}

static void add_curve(json_t *list, const struct sm_cost_series *s, size_t max_seq)
{
    char why[256];
    for (int p = SM_PHASES; p-- > SM_PHASE_APPEND;) /* the decode first */
        for (size_t i = 0; i < s->count; i++) {
            const struct sm_cost_measured *m = &s->measured[i];
            if ((int)m->phase != p || m->max_seq != max_seq || m->held_out || is_fuller_later(s, i)) continue;
            const struct sm_cost_call call = {m->phase, m->rows, m->max_seq, m->past, m->tokens};
            struct sm_cost c = {.ns = NAN};
            (void)sm_cost_predict(s, &call, &c, why, sizeof why);
            json_array_append_new(
                list, json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "max_seq", whole(max_seq), "rows",
                                whole(m->rows), "past", whole(m->past), "ns", sm_record_number(m->ns), "least_ns",
                                sm_record_number(m->least), "low_ns", sm_record_number(m->low), "high_ns",
                                sm_record_number(m->high), "curve_ns", sm_record_number(c.ns), "arena_bytes",
                                sm_record_number(m->arena_bytes), "cache_bytes", sm_record_number(m->cache_bytes)));
        }
}

/* What real tokens alone would cost, in buckets made for them: between a decode and the smallest bucket measured, a
 * line; beyond the largest, as many of it as fit and a rest. */
static double exact_ns(const struct sm_cost_series *s, size_t tokens, size_t max_seq, size_t past)
{
    const struct sm_cost_fit *f = &s->phase[SM_PHASE_APPEND].time;
    const size_t least = (size_t)f->knot[0], most = (size_t)f->knot[f->knots - 1];
    struct sm_cost one, c;
    char why[256];
    double ns = 0;
    for (; tokens > most; tokens -= most, past += most) ns += exact_ns(s, most, max_seq, past);
    const struct sm_cost_call decode = {SM_PHASE_DECODE, 1, max_seq, past, 1};
    const size_t rows = tokens < least ? least : tokens;
    const struct sm_cost_call append = {SM_PHASE_APPEND, rows, max_seq, past, rows};
    if (sm_cost_predict(s, &decode, &one, why, sizeof why) || sm_cost_predict(s, &append, &c, why, sizeof why))
        return NAN;
    if (tokens >= least || least < 2) return ns + c.ns;
    return ns + one.ns + (c.ns - one.ns) * (double)(tokens - 1) / (double)(least - 1);
}

/* The same tokens in a set's buckets, as a session takes them. */
static double set_ns(const struct sm_cost_series *s, const struct sm_buckets *set, size_t tokens, size_t max_seq,
                     size_t past)
{
    char why[256];
    double ns = 0;
    while (tokens) {
        const struct sm_bucket_choice b = sm_bucket_choose(set, tokens, past, max_seq, SM_WHEN_FULL_SMALLER);
        const struct sm_cost_call call = {b.decode ? SM_PHASE_DECODE : SM_PHASE_APPEND, b.rows, max_seq, past, b.count};
        struct sm_cost c;
        if (!b.rows || sm_cost_predict(s, &call, &c, why, sizeof why)) return NAN;
        ns += c.ns;
        past += b.count;
        tokens -= b.count;
    }
    return ns;
}

/* The buckets that were measured, and usual sets as far as the curve knows their sizes. Returns how many. */
static size_t sets_of(const struct sm_cost_series *s, struct sm_buckets sets[SETS])
{
    static const struct sm_buckets usual[] = {{4, {8, 16, 32, 64}}, {2, {32, 128}}, {1, {64}}};
    const struct sm_cost_fit *f = &s->phase[SM_PHASE_APPEND].time;
    const double least = f->knot[0], most = f->knot[f->knots - 1];
    size_t n = 1;
    sets[0].count = f->knots < SM_MAX_BUCKETS ? f->knots : SM_MAX_BUCKETS;
    for (size_t i = 0; i < sets[0].count; i++) sets[0].rows[i] = (size_t)f->knot[i];
    for (size_t u = 0; u < sizeof usual / sizeof *usual; u++)
        if ((double)usual[u].rows[0] >= least && (double)usual[u].rows[usual[u].count - 1] <= most)
            sets[n++] = usual[u];
    sets[n++] = (struct sm_buckets){1, {(size_t)most}};
    return n;
}

static void set_name(const struct sm_buckets *set, char *text, size_t bytes)
{
    size_t used = 0;
    *text = 0;
    for (size_t i = 0; i < set->count && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%zu", i ? "," : "", set->rows[i]);
}

static json_t *padding_of(const struct sm_cost_series *s, size_t max_seq)
{
    static const size_t tokens[] = {1,  2,  3,  4,  6,  8,   9,   12,  16,  17,  24,  32,
                                    33, 48, 64, 65, 96, 128, 129, 192, 256, 257, 384, 512};
    const struct sm_cost_fit *f = &s->phase[SM_PHASE_APPEND].time;
    json_t *list = json_array();
    struct sm_buckets sets[SETS];
    char name[128];
    if (!f->knots || !s->phase[SM_PHASE_DECODE].time.knots) return list;
    const size_t most = (size_t)f->knot[f->knots - 1], past = max_seq / 4, n = sets_of(s, sets);
    for (size_t i = 0; i < n; i++) {
        set_name(&sets[i], name, sizeof name);
        for (size_t t = 0; t < sizeof tokens / sizeof *tokens && tokens[t] <= most; t++) {
            const double ns = set_ns(s, &sets[i], tokens[t], max_seq, past);
            const double exact = exact_ns(s, tokens[t], max_seq, past);
            if (!isfinite(ns) || !(exact > 0)) continue;
            json_array_append_new(list, json_pack("{s:s,s:o,s:o,s:o,s:o}", "set", name, "tokens", whole(tokens[t]),
                                                  "ns", sm_record_number(ns), "exact_ns", sm_record_number(exact),
                                                  "tax", sm_record_number(ns / exact)));
        }
    }
    return list;
}

static json_t *mask_of(const struct sm_cost_series *skip, const struct sm_cost_series *literal)
{
    json_t *list = json_array();
    char why[256];
    size_t before = 0;
    for (size_t i = 0; literal && i < skip->count; i++) {
        const size_t k = skip->measured[i].max_seq;
        if (skip->measured[i].phase != SM_PHASE_DECODE || skip->measured[i].held_out || k == before) continue;
        before = k;
        for (size_t sixteenths = 1; sixteenths <= 16; sixteenths *= 2) {
            size_t past = k * sixteenths / 16;
            if (past > k - 2) past = k - 2;
            const struct sm_cost_call call = {SM_PHASE_DECODE, 1, k, past, 1};
            struct sm_cost all, some, all_measured, some_measured;
            if (sm_cost_predict(literal, &call, &all, why, sizeof why) ||
                sm_cost_predict(skip, &call, &some, why, sizeof why))
                continue;
            const bool measured = !sm_cost_ask(literal, &call, &all_measured, why, sizeof why) &&
                                  !sm_cost_ask(skip, &call, &some_measured, why, sizeof why) && all_measured.measured &&
                                  some_measured.measured;
            json_array_append_new(
                list, json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "max_seq", whole(k), "valid", whole(past + 1),
                                "literal_ns", sm_record_number(all.ns), "skip_ns", sm_record_number(some.ns), "tax",
                                sm_record_number(all.ns / some.ns), "measured_tax",
                                measured ? sm_record_number(all_measured.ns / some_measured.ns) : json_null()));
        }
    }
    return list;
}

/* A decode at one max_seq that was measured: after as many valid slots, or with literal attention after half of them,
 * for it does not care. */
static const struct sm_cost_measured *measured_at(const struct sm_cost_series *s, size_t max_seq)
{
    const size_t past = s->attention == SM_COST_LITERAL ? max_seq / 2 : COSTS_SIZES_PAST;
    for (size_t i = 0; i < s->count; i++) {
        const struct sm_cost_measured *m = &s->measured[i];
        if (m->phase == SM_PHASE_DECODE && m->max_seq == max_seq && m->past == past) return m;
    }
    return NULL;
}

static json_t *sizes_of(const struct sm_cost_series *s, const struct costs_bench *bench)
{
    json_t *list = json_array();
    char why[512];
    const double known = s->phase[SM_PHASE_DECODE].time.columns_most;
    for (size_t k = LEAST_SIZE; k <= SM_MAX_SEQ; k *= 2) {
        const struct sm_cost_call call = {SM_PHASE_DECODE, 1, k, COSTS_SIZES_PAST, 1};
        const struct sm_cost_measured *m = measured_at(s, k), none = {.ns = NAN, .low = NAN, .high = NAN};
        const struct costs_point plan = {
            .phase = SM_PHASE_DECODE, .rows = 1, .max_seq = k, .kv = s->kv, .threads = s->threads};
        struct sm_cost c;
        double arena = NAN, cache = NAN;
        if (!m) m = &none;
        if (sm_cost_predict(s, &call, &c, why, sizeof why)) break;
        if ((double)k > FARTHEST * known) c.ns = c.low = c.high = NAN; /* memory has other levels there */
        if (costs_bench_memory(bench, &plan, &arena, &cache, why, sizeof why)) arena = cache = NAN;
        json_array_append_new(list,
                              json_pack("{s:o,s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:b,s:o,s:o}", "max_seq", whole(k), "past",
                                        COSTS_SIZES_PAST, "ns", sm_record_number(m->ns), "low_ns",
                                        sm_record_number(m->low), "high_ns", sm_record_number(m->high), "curve_ns",
                                        sm_record_number(c.ns), "curve_low", sm_record_number(c.low), "curve_high",
                                        sm_record_number(c.high), "extrapolated", c.extrapolated, "cache_bytes",
                                        sm_record_number(cache), "arena_bytes", sm_record_number(arena)));
    }
    return list;
}

/* The highest arithmetic rate of the machine, in multiply-adds a second. */
static const struct sm_ceiling *fastest(const struct sm_ceilings *ceilings)
{
    const struct sm_ceiling *best = NULL;
    for (size_t i = 0; i < ceilings->count; i++) {
        const struct sm_ceiling *c = &ceilings->item[i];
        if (!strcmp(c->unit, "multiply-adds/s") && isfinite(c->value) && (!best || c->value > best->value)) best = c;
    }
    return best;
}

static json_t *limits_of(const struct costs_bench *bench, const struct sm_ceilings *ceilings, size_t max_seq)
{
    char name[32];
    double bytes, ops;
    if (!ceilings) return json_null();
    costs_bench_work(bench, max_seq, &bytes, &ops);
    snprintf(name, sizeof name, "%s_read", sm_ceilings_level(bytes, ceilings->threads));
    const struct sm_ceiling *read = sm_ceiling_named(ceilings, name), *rate = fastest(ceilings);
    if (!read || !rate) return json_null();
    return json_pack("{s:o,s:o,s:s,s:s}", "sweep_ns", sm_record_number(1e9 * bytes / read->value), "row_ns",
                     sm_record_number(1e9 * ops / rate->value), "sweep", name, "row", rate->name);
}

json_t *costs_findings(const struct sm_cost_table *table, const struct sm_cost_series *s,
                       const struct costs_bench *bench, const struct sm_ceilings *ceilings)
{
    size_t least, most;
    ends_of(s, &least, &most);
    json_t *curve = json_array();
    for (size_t k = least; k && k != SIZE_MAX; k = k == most ? 0 : most) add_curve(curve, s, k);
    const bool skip = s->attention == SM_COST_SKIP;
    return json_pack("{s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "role", "table", "attention",
                     sm_cost_attention_name(s->attention), "phases", phases_of(s), "slot_ns",
                     sm_record_number(sm_cost_slot_ns(s)), "valid_ns", sm_record_number(sm_cost_valid_ns(s)), "knees",
                     knees_of(s, least, most), "curve", curve, "limits", limits_of(bench, ceilings, most), "padding",
                     padding_of(s, most), "mask",
                     skip ? mask_of(s, sm_cost_table_find(table, SM_COST_LITERAL, s->kv, s->threads)) : json_null(),
                     "sizes", sizes_of(s, bench));
}
