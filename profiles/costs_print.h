/* costs_print.h - the tables of slotmark costs: what it comes to, from records of role "table"; every point, from a
 * table of costs. */
#ifndef SM_COSTS_PRINT_H
#define SM_COSTS_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "cost_table.h"
#include "costs_options.h"

/* JSON arrays of records: of role "table", of role "steps". */
void costs_print_findings(const json_t *findings, const json_t *steps, FILE *out);

/* A row or an object for each measured point, beside what the curve says of it. format: not md. */
void costs_print_points(const struct sm_cost_table *table, enum costs_format format, FILE *out);

#endif
