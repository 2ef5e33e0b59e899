#include "looks.h"

#include <math.h>
#include <stdlib.h>

const size_t sm_look_launches[SM_LOOKS] = {8, 12, 16, 24, 32, 40};

/* Two-sided nominal levels by numerical integration over the looks' information fractions n / 40 (comparison: 2.6). */
static const double levels[2][2][SM_LOOKS] = {
    [SM_SPENDING_QUICK] = {{.01477, .01065, .01092, .01536, .01629, .01688},
                           {.00295, .00189, .00187, .00267, .00274, .00276}},
    [SM_SPENDING_THOROUGH] = {{0, .00009, .00076, .00735, .02203, .04225}, {0, 0, .00002, .00057, .00321, .00891}},
};
static const double weights[SM_LOOKS] = {.1, .1, .15, .15, .2, .3};

double sm_look_alpha(enum sm_spending spending, double alpha, size_t look)
{
    if (look >= SM_LOOKS || (alpha != 0.05 && alpha != 0.01)) return NAN;
    const double level = levels[spending][alpha == 0.01][look];
    return level > 0 ? level : 1e-9; /* a level that no number of launches here reaches */
}

double sm_look_p(const double *p, size_t looks)
{
    double least = 1;
    for (size_t i = 0; i < looks && i < SM_LOOKS; i++)
        if (p[i] / weights[i] < least) least = p[i] / weights[i];
    return least;
}

enum sm_finding sm_look_finding(const struct sm_paired *e, double floor, double tolerance)
{
    const double beyond = floor > tolerance ? floor : tolerance;
    if (e->low > beyond) return SM_SLOWER;
    if (e->high < -beyond) return SM_FASTER;
    if (e->low > floor && e->high < tolerance) return SM_SLOWER_WITHIN;
    if (e->high < -floor && e->low > -tolerance) return SM_FASTER_WITHIN;
    if (e->low > -tolerance && e->high < tolerance) return SM_SAME;
    return SM_OPEN;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

size_t sm_discoveries(const double *p, size_t count, double q, bool *rejected)
{
    double *sorted = malloc((count ? count : 1) * sizeof *sorted), limit = -1;
    size_t found = 0;
    for (size_t i = 0; i < count; i++) rejected[i] = false;
    if (!sorted) return 0;
    for (size_t i = 0; i < count; i++) sorted[i] = isnan(p[i]) ? 1 : p[i];
    qsort(sorted, count, sizeof *sorted, ascending);
    for (size_t k = 1; k <= count; k++)
        if (sorted[k - 1] <= q * (double)k / (double)count) limit = sorted[k - 1];
    for (size_t i = 0; i < count; i++) found += rejected[i] = !isnan(p[i]) && p[i] <= limit;
    free(sorted);
    return found;
}
