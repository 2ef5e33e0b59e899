/* verify_table.h - the tables of a verification, made from its records alone. */
#ifndef SM_VERIFY_TABLE_H
#define SM_VERIFY_TABLE_H

#include <jansson.h>
#include <stdio.h>

#include "verify_options.h"

/* records: a JSON array of verify records. md: a row for each, and the steps of those that are alone or outside their
 * limits; csv: a row for each step; json, jsonl: an object for each record. */
void verify_table_print(const json_t *records, enum verify_format format, FILE *out);

#endif
