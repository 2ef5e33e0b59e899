/* bench_table.h - the results of a run for people and for other programs, from its records. */
#ifndef SM_BENCH_TABLE_H
#define SM_BENCH_TABLE_H

#include <jansson.h>
#include <stdio.h>

enum sm_bench_format { SM_BENCH_MD, SM_BENCH_CSV, SM_BENCH_JSON, SM_BENCH_JSONL };
extern const char *const sm_bench_formats[]; /* their names, NULL-ended */

/* records: an array of records of kind "bench". Markdown is grouped by family and fits 120 columns. */
void sm_bench_table_print(json_t *records, enum sm_bench_format format, FILE *out);

/* Says where the variant that dispatch would pick was measured slower than another that could stand in for it, where
 * the ridges of matrices are (ridge.h), and counts what was wrong, skipped or flagged. */
void sm_bench_table_notes(json_t *records, FILE *out);

/* "12.3 us": three or more significant digits and a unit. */
const char *sm_bench_time_text(double ns, char *text, size_t bytes);

#endif
