/* lines.h - the lines of a result file as JSON: read one after the other in bounded memory, taken apart by all CPUs,
 * and handed over in their order.
 *
 * The records of one run say the same of machine, build and ceilings: such a part is taken apart once, and the records
 * share it. Nobody may change it, therefore; a record's own keys may be set. */
#ifndef SM_PLOT_LINES_H
#define SM_PLOT_LINES_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

struct sm_line {
    json_t *record;    /* the taker's; NULL: wrong says why, or the line is blank */
    const char *wrong; /* valid until the taker returns */
    int blank;
};

/* Takes line `number`, from 1. -1 ends the reading. */
typedef int sm_line_take(void *state, size_t number, struct sm_line *line);

/* 0; -1: no memory, or the taker's. Errors of reading are the file's (ferror). */
int sm_lines_read(FILE *file, sm_line_take *take, void *state);

#endif
