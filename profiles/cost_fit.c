#include "cost_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PULL 0.02 /* of equal slopes, in relative errors: far below what points say, enough where they say nothing */
#define LEAST_PIVOT 1e-11
#define PASSES 6
#define USUAL 2          /* times the median error */
#define LEAST_LIMIT 0.01 /* relative error that always counts in full */

/* The normal equations of columns of length one, G x = f. */
struct system {
    size_t terms;
    double gram[SM_COST_TERMS][SM_COST_TERMS], right[SM_COST_TERMS], length[SM_COST_TERMS];
};

static double ramp_at(const double *knot, size_t j, double rows)
{
    if (j == 0) return 1;
    if (rows <= knot[j - 1]) return 0;
    return rows >= knot[j] ? 1 : (rows - knot[j - 1]) / (knot[j] - knot[j - 1]);
}

/* The value of every term: ramps, then columns, rows x columns, valid, rows x seen, tokens x seen. */
static void terms_at(const double *knot, size_t knots, const struct sm_cost_sizes *at, double *term)
{
    for (size_t j = 0; j < knots; j++) term[j] = ramp_at(knot, j, at->rows);
    term[knots] = at->columns;
    term[knots + 1] = at->rows * at->columns;
    term[knots + 2] = at->valid;
    term[knots + 3] = at->rows * at->seen;
    term[knots + 4] = at->tokens * at->seen;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int set_knots(struct sm_cost_fit *fit, const struct sm_cost_point *points, size_t count)
{
    double *rows = malloc(count * sizeof *rows);
    size_t distinct = 0;
    if (!rows) return -1;
    for (size_t i = 0; i < count; i++) rows[i] = points[i].at.rows;
    qsort(rows, count, sizeof *rows, ascending);
    for (size_t i = 0; i < count; i++)
        if (!i || rows[i] > rows[distinct - 1]) rows[distinct++] = rows[i];
    fit->knots = distinct < SM_COST_KNOTS ? distinct : SM_COST_KNOTS;
    for (size_t j = 0; j < fit->knots; j++)
        fit->knot[j] = rows[fit->knots == 1 ? 0 : j * (distinct - 1) / (fit->knots - 1)];
    free(rows);
    return 0;
}

static void add_row(struct system *s, const double *term, double right)
{
    for (size_t i = 0; i < s->terms; i++) {
        s->right[i] += term[i] * right;
        for (size_t k = 0; k < s->terms; k++) s->gram[i][k] += term[i] * term[k];
    }
}

/* Ramps j and j + 1 as steep as each other, in shares of what a point between them costs. */
static void add_pull(struct system *s, const struct sm_cost_fit *fit, size_t j, double cost)
{
    double term[SM_COST_TERMS] = {0};
    const double before = fit->knot[j] - fit->knot[j - 1], after = fit->knot[j + 1] - fit->knot[j];
    term[j] = -PULL / cost * after / before;
    term[j + 1] = PULL / cost;
    add_row(s, term, 0);
}

static double cost_near(const struct sm_cost_point *points, size_t count, double rows)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (fabs(points[i].at.rows - rows) < fabs(points[best].at.rows - rows)) best = i;
    return points[best].cost;
}

static void scale(struct system *s)
{
    for (size_t i = 0; i < s->terms; i++) s->length[i] = sqrt(s->gram[i][i]);
    for (size_t i = 0; i < s->terms; i++) {
        if (!(s->length[i] > 0)) continue;
        s->right[i] /= s->length[i];
        for (size_t k = 0; k < s->terms; k++)
            if (s->length[k] > 0) s->gram[i][k] /= s->length[i] * s->length[k];
    }
}

/* Solves the part of the system that is in the set: 0, or -1 where it has no single solution. */
static int solve(const struct system *s, const size_t *set, size_t n, double *z)
{
    static _Thread_local double l[SM_COST_TERMS][SM_COST_TERMS];
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++) {
            double sum = s->gram[set[i]][set[k]];
            for (size_t m = 0; m < k; m++) sum -= l[i][m] * l[k][m];
            if (i == k && !(sum > LEAST_PIVOT)) return -1;
            l[i][k] = i == k ? sqrt(sum) : sum / l[k][k];
        }
    for (size_t i = 0; i < n; i++) {
        double sum = s->right[set[i]];
        for (size_t m = 0; m < i; m++) sum -= l[i][m] * z[m];
        z[i] = sum / l[i][i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t m = i + 1; m < n; m++) z[i] -= l[m][i] * z[m];
        z[i] /= l[i][i];
    }
    return 0;
}

/* Towards z as far as nothing gets negative; what becomes nought leaves the set. */
static size_t step_towards(double *x, size_t *set, size_t n, const double *z)
{
    double most = 1;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (z[i] <= 0) most = fmin(most, x[set[i]] / (x[set[i]] - z[i]));
    for (size_t i = 0; i < n; i++) {
        const double moved = x[set[i]] + most * (z[i] - x[set[i]]);
        const bool leaves = z[i] <= 0 && moved <= 1e-12 * fabs(z[i]) + 1e-300;
        x[set[i]] = leaves || moved < 0 ? 0 : moved;
        if (!leaves) set[kept++] = set[i];
    }
    return kept < n ? kept : n - 1; /* rounding must not keep all of them for ever */
}

/* Lawson and Hanson: terms enter one by one where the error falls fastest, and leave where they would be negative. */
static void solve_not_negative(const struct system *s, double *x)
{
    size_t set[SM_COST_TERMS], n = 0;
    bool barred[SM_COST_TERMS] = {false};
    double z[SM_COST_TERMS] = {0};
    memset(x, 0, s->terms * sizeof *x);
    for (size_t turn = 0; turn < 8 * s->terms; turn++) {
        size_t best = s->terms;
        double steepest = 1e-10;
        for (size_t i = 0; i < s->terms; i++) {
            bool in = barred[i] || !(s->length[i] > 0);
            for (size_t k = 0; k < n; k++) in |= set[k] == i;
            double gain = s->right[i];
            for (size_t k = 0; k < s->terms; k++) gain -= s->gram[i][k] * x[k];
            if (in || gain <= steepest) continue;
            steepest = gain;
            best = i;
        }
        if (best == s->terms) return;
        set[n++] = best;
        if (solve(s, set, n, z) || z[n - 1] <= 0) { /* no more than rounding, or the same as others together */
            barred[best] = true;
            n--;
            continue;
        }
        memset(barred, 0, sizeof barred);
        for (bool inside = false; !inside;) {
            inside = true;
            for (size_t i = 0; i < n; i++) inside &= z[i] > 0;
            if (!inside) n = step_towards(x, set, n, z);
            if (!inside && (!n || solve(s, set, n, z))) break;
        }
        for (size_t i = 0; i < s->terms; i++) x[i] = 0;
        for (size_t i = 0; i < n; i++) x[set[i]] = fmax(z[i], 0);
    }
}

static int check(const struct sm_cost_point *points, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct sm_cost_sizes *at = &points[i].at;
        const double cost = points[i].cost;
        if (!(at->rows > 0 && at->columns > 0 && at->valid >= 0 && at->tokens >= 0 && at->seen >= 0 && cost > 0) ||
            !isfinite(at->rows + at->columns + at->valid + at->tokens + at->seen + cost))
            return -1;
    }
    return count ? 0 : -1;
}

/* The normal equations of all points, each with its weight, and of the pull. */
static void fill(struct system *s, const struct sm_cost_fit *fit, const struct sm_cost_point *points, size_t count,
                 const double *weight)
{
    double term[SM_COST_TERMS];
    const size_t terms = s->terms;
    *s = (struct system){.terms = terms};
    for (size_t i = 0; i < count; i++) {
        const struct sm_cost_point *p = &points[i];
        terms_at(fit->knot, fit->knots, &p->at, term);
        /* what was measured at one size alone says nothing of others: no slope, rather than any */
        if (!(fit->columns_most > fit->columns_least)) term[fit->knots] = term[fit->knots + 1] = 0;
        if (!(fit->valid_most > fit->valid_least)) term[fit->knots + 2] = 0;
        if (!(fit->seen_most > fit->seen_least)) term[fit->knots + 3] = term[fit->knots + 4] = 0;
        for (size_t t = 0; t < terms; t++) term[t] *= weight[i] / p->cost;
        add_row(s, term, weight[i]);
    }
    for (size_t j = 1; j + 1 < fit->knots; j++) add_pull(s, fit, j, cost_near(points, count, fit->knot[j]));
    scale(s);
}

/* Weights of the next pass: a point's error counts in full up to a few times the usual one, and no more than that
 * beyond (Huber). A point that a neighbour disturbed then bends the curve no further. sorted: room for count. */
static void reweigh(const struct sm_cost_fit *fit, const struct sm_cost_point *points, size_t count, double *weight,
                    double *sorted)
{
    for (size_t i = 0; i < count; i++) sorted[i] = fabs(sm_cost_fit_at(fit, &points[i].at) / points[i].cost - 1);
    memcpy(weight, sorted, count * sizeof *weight);
    qsort(sorted, count, sizeof *sorted, ascending);
    const double limit = fmax(LEAST_LIMIT, USUAL * sorted[count / 2]);
    for (size_t i = 0; i < count; i++) weight[i] = weight[i] <= limit ? 1 : sqrt(limit / weight[i]);
}

static void solve_into(struct sm_cost_fit *fit, const struct system *s, bool with_valid)
{
    double x[SM_COST_TERMS];
    const size_t k = fit->knots;
    solve_not_negative(s, x);
    for (size_t t = 0; t < s->terms; t++) x[t] = s->length[t] > 0 ? x[t] / s->length[t] : 0;
    memcpy(fit->ramp, x, k * sizeof *x);
    fit->column = x[k];
    fit->row_column = x[k + 1];
    fit->valid = with_valid ? x[k + 2] : 0;
    fit->row_seen = with_valid ? x[k + 3] : 0;
    fit->token_seen = with_valid ? x[k + 4] : 0;
}

int sm_cost_fit_points(struct sm_cost_fit *fit, const struct sm_cost_point *points, size_t count, bool with_valid)
{
    *fit = (struct sm_cost_fit){.columns_least = INFINITY, .valid_least = INFINITY, .seen_least = INFINITY};
    struct system *s = calloc(1, sizeof *s);
    double *weight = calloc(count + 1, sizeof *weight), *sorted = calloc(count + 1, sizeof *sorted);
    const int failed = !s || !weight || !sorted || check(points, count) || set_knots(fit, points, count);
    for (size_t i = 0; i < count && !failed; i++) {
        const struct sm_cost_sizes *at = &points[i].at;
        fit->columns_least = fmin(fit->columns_least, at->columns);
        fit->columns_most = fmax(fit->columns_most, at->columns);
        fit->valid_least = fmin(fit->valid_least, at->valid);
        fit->valid_most = fmax(fit->valid_most, at->valid);
        fit->seen_least = fmin(fit->seen_least, at->seen);
        fit->seen_most = fmax(fit->seen_most, at->seen);
        weight[i] = 1;
    }
    if (!failed) s->terms = fit->knots + (with_valid ? 5 : 2);
    for (int pass = 0; pass < PASSES && !failed; pass++) {
        if (pass) reweigh(fit, points, count, weight, sorted);
        fill(s, fit, points, count, weight);
        solve_into(fit, s, with_valid);
    }
    free(s);
    free(weight);
    free(sorted);
    return failed ? -1 : 0;
}

double sm_cost_fit_at(const struct sm_cost_fit *fit, const struct sm_cost_sizes *at)
{
    double sum = fit->column * at->columns + fit->valid * at->valid + fit->token_seen * at->tokens * at->seen;
    for (size_t j = 0; j < fit->knots; j++) sum += fit->ramp[j] * ramp_at(fit->knot, j, at->rows);
    return sum + at->rows * (fit->row_column * at->columns + fit->row_seen * at->seen);
}
