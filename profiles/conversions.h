/* conversions.h - which formats of a model's file ran as another one, and what that cost: into records and out of them.
 */
#ifndef SM_CONVERSIONS_H
#define SM_CONVERSIONS_H

#include <stdio.h>

#include "record.h"
#include "weights.h"

/* The members "conversions" and "scales" of the record's model. */
void sm_conversions_record(struct sm_record *record, const struct sm_weights *weights);

/* A line for each conversion of a record: how many. */
size_t sm_conversions_print(const json_t *record, FILE *out);

#endif
