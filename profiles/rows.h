/* rows.h - the table of a profile: one row for each record, made from result files alone.
 *
 * Columns that mean what llama-bench's mean carry its names. Rates count real tokens; padded_ts is the rate of the
 * rows that the static shape computed, padding included. */
#ifndef SM_ROWS_H
#define SM_ROWS_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

enum sm_rows_format { SM_ROWS_MD, SM_ROWS_CSV, SM_ROWS_JSON, SM_ROWS_JSONL, SM_ROWS_SQL };
extern const char *const sm_rows_formats[]; /* NULL-ended */

/* records: a JSON array of profile records; those that are not "ok" become a line of their own in md, and are
 * left out of csv and sql. */
void sm_rows_print(const json_t *records, enum sm_rows_format format, FILE *out);

/* "native", or with the attention scale folded "native, scale in k". */
const char *sm_rows_recipe(const json_t *record, char *text, size_t bytes);

#endif
