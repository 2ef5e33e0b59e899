/* plot_fixture_plan.h - what made-up records of slotmark plan, and of sessions of turns, hold. */
#ifndef SM_PLOT_FIXTURE_PLAN_H
#define SM_PLOT_FIXTURE_PLAN_H

#include <jansson.h>

#define PLOT_FIXTURE_SETS 3

/* New references. objective: "ttft", ...; replay: one session of three turns by one of the sets; turn: by one of four
 * ways, with its time in *ns. */
json_t *plot_fixture_plan(const char *objective);
json_t *plot_fixture_replay(int set, int session);
json_t *plot_fixture_turn(int turn, int way, double *ns);

#endif
