#include "report.h"

#include <math.h>
#include <stdlib.h>

#include "stats.h"

struct sm_report_row sm_report_row(const struct sm_comparison *c)
{
    struct sm_report_row row = {{NAN, NAN}, NAN, NAN, NAN};
    if (!c->launches) return row;
    for (int i = 0; i < 2; i++) {
        double x[SM_LAUNCHES_MOST];
        for (size_t l = 0; l < c->launches; l++) x[l] = c->ns[i][l];
        row.ns[i] = sm_median(x, c->launches);
    }
    row.change = 100 * expm1(c->estimate.effect);
    row.low = 100 * expm1(c->estimate.low);
    row.high = isfinite(c->estimate.high) ? 100 * expm1(c->estimate.high) : INFINITY;
    return row;
}

size_t sm_report_compared(const struct sm_report *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->pairing->count; i++) n += !r->pairing->list[i].control;
    return n;
}

size_t sm_report_count(const struct sm_report *r, enum sm_verdict verdict)
{
    size_t n = 0;
    for (size_t i = 0; i < r->pairing->count; i++)
        n += !r->pairing->list[i].control && r->pairing->list[i].verdict == verdict;
    return n;
}

struct entry {
    double weight;
    size_t index;
};

static int descending(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->weight != y->weight) return x->weight < y->weight ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Failures, then regressions by size, then the undecided, then what got better or stayed. */
static double weight_of(const struct sm_comparison *c)
{
    switch (c->verdict) {
    case SM_VERDICT_FAILED: return 9e6;
    case SM_VERDICT_REMOVED: return 8e6;
    case SM_VERDICT_REFUSED: return 7e6;
    case SM_VERDICT_SLOWER: return 6e6 + c->estimate.effect;
    case SM_VERDICT_SLOWER_WITHIN: return 5e6 + c->estimate.effect;
    case SM_VERDICT_LAYOUT: return 4.5e6 + c->estimate.effect;
    case SM_VERDICT_INCONCLUSIVE: return 4e6 + (isfinite(c->estimate.effect) ? c->estimate.effect : 0);
    case SM_VERDICT_FASTER: return 3e6 - c->estimate.effect;
    case SM_VERDICT_FASTER_WITHIN: return 2e6 - c->estimate.effect;
    case SM_VERDICT_SAME: return 1e6;
    case SM_VERDICT_ADDED: return 1e5;
    default: return 0;
    }
}

size_t *sm_report_order(const struct sm_report *r, size_t *count)
{
    struct entry *entries = malloc((r->pairing->count + 1) * sizeof *entries);
    size_t *order = malloc((r->pairing->count + 1) * sizeof *order), n = 0;
    if (entries && order) {
        for (size_t i = 0; i < r->pairing->count; i++)
            if (!r->pairing->list[i].control) entries[n++] = (struct entry){weight_of(&r->pairing->list[i]), i};
        qsort(entries, n, sizeof *entries, descending);
        for (size_t i = 0; i < n; i++) order[i] = entries[i].index;
    } else {
        free(order);
        order = NULL;
    }
    free(entries);
    *count = n;
    return order;
}

/* Measured ones whose interval reaches beyond the tolerance: a regression of that size is not excluded. */
static size_t not_excluded(const struct sm_report *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->pairing->count; i++) {
        const struct sm_comparison *c = &r->pairing->list[i];
        n += !c->control && c->estimate.high >= log1p(r->options->tolerance);
    }
    return n;
}

int sm_report_exit(const struct sm_report *r)
{
    if (r->result->interrupted) return SM_EXIT_INTERRUPTED;
    if (sm_report_count(r, SM_VERDICT_FAILED)) return SM_EXIT_FAILED;
    if (sm_report_count(r, SM_VERDICT_REFUSED)) return SM_EXIT_REFUSED;
    if (!r->gate) return SM_EXIT_FINE;
    if (sm_report_count(r, SM_VERDICT_REMOVED) && !r->allow_removed) return SM_EXIT_NOTHING;
    if (r->fail_on == SM_FAIL_NEVER) return SM_EXIT_FINE;
    if (r->result->noisy) return SM_EXIT_NOISY;
    if (sm_report_count(r, SM_VERDICT_SLOWER)) return SM_EXIT_SLOWER;
    if (r->fail_on == SM_FAIL_NOT_EXCLUDED && not_excluded(r)) return SM_EXIT_NOT_EXCLUDED;
    return SM_EXIT_FINE;
}

void sm_report_end(const struct sm_report *r, char *text, size_t bytes)
{
    const double tolerance = 100 * r->options->tolerance;
    const int code = sm_report_exit(r);
    const char *word = r->gate && code ? "FAIL: " : r->gate ? "PASS: " : "";
    switch (code) {
    case SM_EXIT_INTERRUPTED: snprintf(text, bytes, "interrupted: what is shown is what was known by then"); break;
    case SM_EXIT_FAILED:
        snprintf(text, bytes, "%s%zu could not be compared: a wrong answer, or a crash", word,
                 sm_report_count(r, SM_VERDICT_FAILED));
        break;
    case SM_EXIT_REFUSED:
        snprintf(text, bytes, "%s%zu are not comparable", word, sm_report_count(r, SM_VERDICT_REFUSED));
        break;
    case SM_EXIT_NOTHING:
        snprintf(text, bytes, "%s%zu kernels were removed (--allow-removed accepts that)", word,
                 sm_report_count(r, SM_VERDICT_REMOVED));
        break;
    case SM_EXIT_NOISY:
        snprintf(text, bytes, "%sthe machine is too noisy: copies of one build differ from themselves", word);
        break;
    case SM_EXIT_SLOWER:
        snprintf(text, bytes, "%s%zu regressions proved beyond %g %%", word, sm_report_count(r, SM_VERDICT_SLOWER),
                 tolerance);
        break;
    case SM_EXIT_NOT_EXCLUDED:
        snprintf(text, bytes, "%sfor %zu kernels a regression beyond %g %% is not excluded", word, not_excluded(r),
                 tolerance);
        break;
    default:
        snprintf(text, bytes, "%s%zu slower and %zu faster beyond %g %%", word, sm_report_count(r, SM_VERDICT_SLOWER),
                 sm_report_count(r, SM_VERDICT_FASTER), tolerance);
    }
}
