/* plot_fixture_costs.h - what a made-up record of slotmark costs holds, of literal or of skipping attention. */
#ifndef SM_PLOT_FIXTURE_COSTS_H
#define SM_PLOT_FIXTURE_COSTS_H

#include <jansson.h>

json_t *plot_fixture_cost(int skip); /* a new reference */

#endif
