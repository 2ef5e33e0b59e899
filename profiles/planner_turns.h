/* planner_turns.h - turn lengths to plan for: a file of sessions, or a histogram. */
#ifndef SM_PLANNER_TURNS_H
#define SM_PLANNER_TURNS_H

#include "planner.h"

#define SM_PLANNER_MOST_TURNS 1000000

/* Turns in the order that they came in; those of one session stand together, each behind what the ones before it left.
 */
struct planner_turns {
    struct sm_planner_turn *turn;
    size_t count;
    size_t *session; /* [sessions + 1]: the first turn of each, and count */
    size_t sessions;
    size_t longest;         /* slots that the longest session fills */
    double weight, in, out; /* sums: of turns, of their tokens */
};

/* A file: tokens in and generated, two numbers a line; an empty line ends a session, # starts a comment. 0, or -1 and a
 * sentence that names the line. */
int planner_turns_read(struct planner_turns *turns, const char *path, char *why, size_t why_bytes);

/* IN[+OUT][@PAST]:COUNT, ..., apart by commas or white space: COUNT turns of IN tokens, OUT generated after them,
 * behind PAST tokens (none: the first of a session). `text` is the name of a file that holds it, or it. Each is a
 * session. */
int planner_turns_histogram(struct planner_turns *turns, const char *text, char *why, size_t why_bytes);

void planner_turns_free(struct planner_turns *turns); /* safe on a zeroed struct */

#endif
