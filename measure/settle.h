/* settle.h - whether a figure that neighbours can only lower has been seen as it is.
 *
 * A neighbour on the other half of a core takes a tenth to a half of what the core does in a cycle, for milliseconds or
 * for seconds, and the clock shows nothing of it. So a figure is believed once the best three sightings agree, and are
 * not below what this process has once seen three times, by as large a team or a larger one, whose cores can do no more
 * than one that is alone. Values are what one core does in a cycle. */
#ifndef SM_SETTLE_H
#define SM_SETTLE_H

#include <stdbool.h>

enum { SM_SETTLE_SIGHTINGS = 3 };

struct sm_settle {
    const char *name; /* with threads: of what */
    int threads;
    double best[SM_SETTLE_SIGHTINGS]; /* descending; 0: not seen so often yet */
};

/* Not for several threads at once, as all of these. */
void sm_settle_see(struct sm_settle *s, double value);

bool sm_settled(const struct sm_settle *s);

/* What was seen three times: a slip of the clock beside one sighting does not raise it. Before that the least that was
 * seen; 0: nothing was. */
double sm_settle_value(const struct sm_settle *s);

/* Whether it is below what is known of that name. */
bool sm_settle_low(const char *name, int threads, double value);

#endif
