/* rows_steps.h - where the time of one record goes, and what its counters counted. */
#ifndef SM_ROWS_STEPS_H
#define SM_ROWS_STEPS_H

#include <jansson.h>
#include <stdio.h>

/* Tables of the steps, of their parts by kind of layer, and of the counters: each where the record has some. */
void sm_rows_steps_print(const json_t *record, FILE *out);

/* "attention=1.234:0.6512:dram_read;...": ms, share of the ceiling and its name, where known. */
const char *sm_rows_steps_text(const json_t *record, char *text, size_t bytes);

#endif
