/* table.h - text in columns, for people (aligned, at most 100 characters wide) or as Markdown. */
#ifndef SM_TABLE_H
#define SM_TABLE_H

#include <stdbool.h>
#include <stdio.h>

enum { SM_TABLE_COLUMNS = 12, SM_TABLE_WIDTH = 100 };

struct sm_table {
    int columns;
    bool right[SM_TABLE_COLUMNS]; /* numbers: aligned to the right */
    char *(*rows)[SM_TABLE_COLUMNS];
    size_t count, capacity;
    int lost; /* no memory: rows are missing */
};

/* The first row is the heading; a NULL first cell: no heading. The strings are copied. More columns than
   SM_TABLE_COLUMNS are a mistake of the caller: abort(). */
void sm_table_init(struct sm_table *table, int columns, const char *const *heading);
void sm_table_add(struct sm_table *table, const char *const *cells);
/* A line of its own across the columns, in plain text only. */
void sm_table_add_line(struct sm_table *table, const char *text);
/* Plain text, its last column broken into lines where it would be too wide, or Markdown. */
void sm_table_print(const struct sm_table *table, bool markdown, FILE *out);
void sm_table_free(struct sm_table *table);

#endif
