/* ridge.h - the rows at which a matrix stops being a matter of memory: by the ceilings, and by what was measured.
 *
 * Below the ridge M* a call costs one sweep over the weights however many rows it has, above it grows with them: there
 * is the knee of a curve of bucket sizes. M* is where both ceilings allow the same time (the bytes of a call grow by a
 * little with each row, which is taken into account); the knee is where the time of the fewest rows meets the line
 * through the origin of the least time per row. */
#ifndef SM_RIDGE_H
#define SM_RIDGE_H

#include <jansson.h>
#include <stdio.h>

#include "ceilings.h"
#include "sweep.h"

/* Rows at which `bandwidth` bytes/s and `arithmetic` ops/s allow the same time at the case's shape; NAN: at none. */
double sm_ridge_rows(const struct sm_bench_case *c, double bandwidth, double arithmetic);

/* Writes "ridge" into the record of a matmul: of the level that holds its weights, and of DRAM, where a model's are. */
void sm_ridge_record(struct sm_record *record, const struct sm_bench_case *c, const struct sm_ceilings *ceilings,
                     const char *scheme, double core_hz);

/* A line for each matrix of which several numbers of rows were timed. records: as sm_bench_table_print. */
void sm_ridge_print(json_t *records, FILE *out);

#endif
