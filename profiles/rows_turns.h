/* rows_turns.h - the tables of sessions of turns: a row for each turn, its ways beside each other. */
#ifndef SM_ROWS_TURNS_H
#define SM_ROWS_TURNS_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* list: records with a "turn", in any order. Prints a table for each session among them. */
void sm_rows_turns_print(json_t *const *list, size_t count, FILE *out);

/* "512", "8,8*,1*": the rows of a turn's calls; * marks those that the policy decided. */
const char *sm_rows_turns_calls(const json_t *turn, char *text, size_t bytes);

#endif
