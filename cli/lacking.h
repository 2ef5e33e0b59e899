/* lacking.h - the schemes that another CPU has, in one sentence beneath a table of those of this one. */
#ifndef SM_LACKING_H
#define SM_LACKING_H

#include <stdio.h>

#include "ceilings.h"

/* Nothing where none is lacking. unit: only those, as "multiply-adds/cycle"; NULL: all. */
void sm_lacking_print(const struct sm_ceilings *ceilings, const char *unit, FILE *out);

#endif
