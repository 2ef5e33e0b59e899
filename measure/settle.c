#include "settle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define AGREE 0.98 /* the third best of the best */
#define LOW 0.97   /* below that of what was seen before is disturbed: the clock's own error is a hundredth */

enum { KNOWN_MOST = 512, LAST = SM_SETTLE_SIGHTINGS - 1 };

/* What was seen three times, of this process. */
static struct known {
    char name[32];
    int threads;
    double value;
} known[KNOWN_MOST];

/* The entry of that name and team, or a new one; NULL: no room. */
static struct known *known_of(const char *name, int threads)
{
    for (size_t i = 0; i < KNOWN_MOST; i++) {
        struct known *k = &known[i];
        if (!*k->name) {
            snprintf(k->name, sizeof k->name, "%s", name);
            k->threads = threads;
        }
        if (k->threads == threads && !strcmp(k->name, name)) return k;
    }
    return NULL;
}

void sm_settle_see(struct sm_settle *s, double value)
{
    for (int i = 0; i <= LAST; i++)
        if (value > s->best[i]) {
            const double less = s->best[i];
            s->best[i] = value;
            value = less;
        }
    struct known *k = known_of(s->name, s->threads);
    if (k) k->value = fmax(k->value, s->best[LAST]);
}

double sm_settle_value(const struct sm_settle *s)
{
    double value = 0;
    for (int i = 0; i <= LAST && s->best[i] > 0; i++) value = s->best[i];
    return value;
}

bool sm_settle_low(const char *name, int threads, double value)
{
    for (size_t i = 0; i < KNOWN_MOST && *known[i].name; i++)
        if (known[i].threads >= threads && !strcmp(known[i].name, name) && value < LOW * known[i].value) return true;
    return false;
}

bool sm_settled(const struct sm_settle *s)
{
    return s->best[LAST] > 0 && s->best[LAST] >= AGREE * s->best[0] && !sm_settle_low(s->name, s->threads, s->best[0]);
}
