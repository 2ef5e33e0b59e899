/* figure_table.h - the plain data a figure is drawn from: a header line and rows, separated by tabs. */
#ifndef SM_FIGURE_TABLE_H
#define SM_FIGURE_TABLE_H

#include <stddef.h>
#include <stdio.h>

#define SM_CELL_BYTES 256 /* of a text, with its zero: what is longer is cut */

struct sm_figure_table {
    const char *columns; /* names, separated by spaces */
    char *text;          /* the rows so far */
    size_t bytes, capacity, rows;
    int failed; /* memory ran out */
};

/* One row. format has a letter a column: i int, g double (empty cell when not finite), s text. Text loses
 * what would break a table (tabs, line ends, double quotes, other control characters). */
void sm_figure_table_row(struct sm_figure_table *table, const char *format, ...);

/* 0, or -1 with errno set. */
int sm_figure_table_write(const struct sm_figure_table *table, FILE *to);

void sm_figure_table_destroy(struct sm_figure_table *table);

/* dst becomes src without control characters and double quotes, cut to whole UTF-8 characters. */
void sm_text_tidy(char *dst, size_t dst_bytes, const char *src);

#endif
