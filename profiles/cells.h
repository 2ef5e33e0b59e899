/* cells.h - what tables take from records: numbers and texts by key, and the cells they make. */
#ifndef SM_CELLS_H
#define SM_CELLS_H

#include <jansson.h>
#include <stddef.h>

double sm_cell_number(const json_t *object, const char *key);    /* NAN: there is none */
const char *sm_cell_text(const json_t *object, const char *key); /* "": there is none */

/* The number in that format, or nothing where it is not finite: in `cell`, which it returns. */
const char *sm_cell_shown(char *cell, size_t bytes, const char *format, double value);

#endif
