/* rows_steps.h - where the time of one record goes, and what its counters counted. */
#ifndef SM_ROWS_STEPS_H
#define SM_ROWS_STEPS_H

#include <jansson.h>
#include <stdio.h>

/* Tables of the steps, of their parts by kind of layer, and of the counters: each where the record has some. */
void sm_rows_steps_print(const json_t *record, FILE *out);

#endif
