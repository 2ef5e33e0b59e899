/* The curves of a series, and what they are asked. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cost_table.h"
#include "stats.h"

#define ENOUGH_HELD_OUT 5
#define FREE 1.1 /* times the cost of one row: still free */

static double columns_of(enum sm_phase phase, size_t rows, size_t max_seq)
{
    return (double)(phase == SM_PHASE_PREFILL ? rows : max_seq);
}

/* Each token sees the slots before it and itself. */
static struct sm_cost_sizes sizes_of(enum sm_phase phase, size_t rows, size_t max_seq, size_t past, size_t tokens)
{
    return (struct sm_cost_sizes){(double)rows, columns_of(phase, rows, max_seq), (double)(past + tokens),
                                  (double)tokens, (double)past + ((double)tokens + 1) / 2};
}

static struct sm_cost_point point_of(const struct sm_cost_measured *m)
{
    return (struct sm_cost_point){sizes_of(m->phase, m->rows, m->max_seq, m->past, m->tokens), m->ns};
}

/* Relative errors of the curve where points were (or were not) held out, ascending. */
static size_t errors_of(const struct sm_cost_series *s, enum sm_phase phase, bool held_out, double *errors)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct sm_cost_measured *m = &s->measured[i];
        if (m->phase != phase || m->held_out != held_out) continue;
        const struct sm_cost_point at = point_of(m);
        errors[n++] = fabs(sm_cost_fit_at(&s->phase[phase].time, &at.at) / m->ns - 1);
    }
    sm_median(errors, n); /* sorts */
    return n;
}

static void judge(struct sm_cost_series *s, enum sm_phase phase, double *errors)
{
    struct sm_cost_phase *p = &s->phase[phase];
    const size_t fitted = errors_of(s, phase, false, errors);
    p->points = fitted;
    p->band = sm_quantile(errors, fitted, 0.9);
    p->held_out = errors_of(s, phase, true, errors);
    p->median_error = sm_quantile(errors, p->held_out, 0.5);
    p->worst_error = p->held_out ? errors[p->held_out - 1] : NAN;
    if (p->held_out >= ENOUGH_HELD_OUT)
        p->band = sm_quantile(errors, p->held_out, 0.9);
    else if (p->held_out)
        p->band = fmax(p->band, p->worst_error);
    else if (fitted < ENOUGH_HELD_OUT)
        p->band = NAN; /* a curve goes through few points whatever they are */
}

static int fit_phase(struct sm_cost_series *s, enum sm_phase phase, struct sm_cost_point *points)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->measured[i].phase == phase && !s->measured[i].held_out) points[n++] = point_of(&s->measured[i]);
    s->phase[phase] = (struct sm_cost_phase){.median_error = NAN, .worst_error = NAN, .band = NAN};
    if (!n) return 0;
    if (sm_cost_fit_points(&s->phase[phase].time, points, n, s->attention == SM_COST_SKIP)) return -1;
    n = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->measured[i].phase == phase) {
            points[n] = point_of(&s->measured[i]);
            points[n++].cost = s->measured[i].arena_bytes;
        }
    return sm_cost_fit_points(&s->phase[phase].arena, points, n, false);
}

int sm_cost_series_fit(struct sm_cost_series *s)
{
    struct sm_cost_point *points = calloc(s->count, sizeof *points);
    double *errors = calloc(s->count, sizeof *errors);
    int failed = !points || !errors;
    for (int p = 0; p < SM_PHASES && !failed; p++) {
        failed = fit_phase(s, (enum sm_phase)p, points);
        if (!failed && s->phase[p].time.knots) judge(s, (enum sm_phase)p, errors);
    }
    for (size_t i = 0; i < s->count && !failed; i++) /* slots: a cache of max_seq 1 would hold nothing */
        points[i] =
            (struct sm_cost_point){{1, (double)(s->measured[i].max_seq - 1), 0, 0, 0}, s->measured[i].cache_bytes};
    if (!failed) failed = sm_cost_fit_points(&s->cache, points, s->count, false);
    free(points);
    free(errors);
    return failed ? -1 : 0;
}

/* Whether there can be a plan of such sizes, and the curve knows its rows: 0, or -1 and a sentence. */
static int check_shape(const struct sm_cost_series *s, enum sm_phase phase, size_t rows, size_t max_seq, char *why,
                       size_t why_bytes)
{
    const struct sm_cost_fit *f = (unsigned)phase < SM_PHASES ? &s->phase[phase].time : NULL;
    if (!f || !f->knots)
        snprintf(why, why_bytes, "asking for a cost: %s was not measured with %s attention",
                 f ? sm_phase_name(phase) : "that phase", sm_cost_attention_name(s->attention));
    else if (max_seq < 2 || max_seq > SM_MAX_SEQ || !rows || rows > max_seq)
        snprintf(why, why_bytes, "asking for a cost: there is no plan of %zu rows at max_seq %zu", rows, max_seq);
    else if ((double)rows < f->knot[0] || (double)rows > f->knot[f->knots - 1])
        snprintf(why, why_bytes, "asking for a cost: %s of %zu rows is outside of what was measured, %.0f to %.0f",
                 sm_phase_name(phase), rows, f->knot[0], f->knot[f->knots - 1]);
    else
        return 0;
    return -1;
}

int sm_cost_predict(const struct sm_cost_series *s, const struct sm_cost_call *c, struct sm_cost *cost, char *why,
                    size_t why_bytes)
{
    if (check_shape(s, c->phase, c->rows, c->max_seq, why, why_bytes)) return -1;
    const size_t room = c->phase == SM_PHASE_PREFILL ? 0 : c->max_seq - c->rows; /* for the past */
    if (!c->tokens || c->tokens > c->rows || c->past > room || c->tokens > c->max_seq - 1 - c->past) {
        snprintf(why, why_bytes, "asking for a cost: %s of %zu tokens in %zu rows after %zu does not fit max_seq %zu",
                 sm_phase_name(c->phase), c->tokens, c->rows, c->past, c->max_seq);
        return -1;
    }
    const struct sm_cost_phase *p = &s->phase[c->phase];
    const struct sm_cost_sizes at = sizes_of(c->phase, c->rows, c->max_seq, c->past, c->tokens);
    const bool free_columns = c->phase == SM_PHASE_PREFILL; /* its columns are its rows */
    *cost = (struct sm_cost){.ns = sm_cost_fit_at(&p->time, &at)};
    cost->low = cost->ns * fmax(0, 1 - p->band);
    cost->high = cost->ns * (1 + p->band);
    cost->extrapolated = !free_columns && (at.columns < p->time.columns_least || at.columns > p->time.columns_most);
    return 0;
}

int sm_cost_ask(const struct sm_cost_series *s, const struct sm_cost_call *c, struct sm_cost *cost, char *why,
                size_t why_bytes)
{
    if (sm_cost_predict(s, c, cost, why, why_bytes)) return -1;
    for (size_t i = 0; i < s->count; i++) {
        const struct sm_cost_measured *m = &s->measured[i];
        if (m->phase != c->phase || m->rows != c->rows || m->past != c->past || m->tokens != c->tokens ||
            m->max_seq != c->max_seq)
            continue;
        *cost = (struct sm_cost){m->ns, m->low, m->high, true, false};
        break;
    }
    return 0;
}

int sm_cost_arena(const struct sm_cost_series *s, enum sm_phase phase, size_t rows, size_t max_seq, double *bytes,
                  bool *exact, char *why, size_t why_bytes)
{
    if (check_shape(s, phase, rows, max_seq, why, why_bytes)) return -1;
    *exact = false;
    *bytes = sm_cost_fit_at(&s->phase[phase].arena,
                            &(struct sm_cost_sizes){(double)rows, columns_of(phase, rows, max_seq), 0, 0, 0});
    for (size_t i = 0; i < s->count && !*exact; i++) {
        const struct sm_cost_measured *m = &s->measured[i];
        if (m->phase != phase || m->rows != rows || m->max_seq != max_seq) continue;
        *bytes = m->arena_bytes;
        *exact = true;
    }
    return 0;
}

int sm_cost_cache(const struct sm_cost_series *s, size_t max_seq, double *bytes, bool *exact, char *why,
                  size_t why_bytes)
{
    if (max_seq < 2 || max_seq > SM_MAX_SEQ) {
        snprintf(why, why_bytes, "asking for a cache: max_seq is %zu; it must be 2 to %d", max_seq, SM_MAX_SEQ);
        return -1;
    }
    *exact = false;
    *bytes = sm_cost_fit_at(&s->cache, &(struct sm_cost_sizes){1, (double)(max_seq - 1), 0, 0, 0});
    for (size_t i = 0; i < s->count && !*exact; i++)
        if (s->measured[i].max_seq == max_seq) {
            *bytes = s->measured[i].cache_bytes;
            *exact = true;
        }
    return 0;
}

double sm_cost_slot_ns(const struct sm_cost_series *s)
{
    const struct sm_cost_fit *f = &s->phase[SM_PHASE_DECODE].time;
    return f->knots ? f->column + f->row_column : NAN;
}

double sm_cost_valid_ns(const struct sm_cost_series *s)
{
    const struct sm_cost_fit *f = &s->phase[SM_PHASE_DECODE].time;
    return f->knots ? f->valid + f->row_seen + f->token_seen : NAN;
}

double sm_cost_token_ns(const struct sm_cost_series *s, size_t slot)
{
    const struct sm_cost_fit *f = &s->phase[SM_PHASE_APPEND].time;
    return f->knots ? f->token_seen * ((double)slot + 0.5) + f->valid / 2 : NAN;
}

/* Rows that see half of max_seq each. */
static double half_full(const struct sm_cost_fit *f, double rows, size_t max_seq)
{
    const double columns = (double)max_seq, valid = columns / 2;
    return sm_cost_fit_at(f, &(struct sm_cost_sizes){rows, columns, valid, rows, valid});
}

double sm_cost_knee(const struct sm_cost_series *s, size_t max_seq, size_t *free_rows)
{
    const struct sm_cost_phase *one = &s->phase[SM_PHASE_DECODE], *many = &s->phase[SM_PHASE_APPEND];
    const struct sm_cost_fit *f = &many->time;
    *free_rows = 1;
    if (!one->time.knots || f->knots < 2) return NAN;
    const double most = f->knot[f->knots - 1], half = fmax(most / 2, f->knot[0]);
    const double flat = half_full(&one->time, 1, max_seq);
    const double steep = (half_full(f, most, max_seq) - half_full(f, half, max_seq)) / (most - half);
    for (size_t rows = (size_t)f->knot[0]; (double)rows <= most; rows++)
        if (half_full(f, (double)rows, max_seq) <= FREE * flat) *free_rows = rows;
    return steep > 0 ? flat / steep : INFINITY;
}
