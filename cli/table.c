#include "table.h"

#include <stdlib.h>
#include <string.h>

void sm_table_init(struct sm_table *table, int columns, const char *const *heading)
{
    if (columns < 1 || columns > SM_TABLE_COLUMNS) abort();
    *table = (struct sm_table){.columns = columns};
    sm_table_add(table, heading);
}

void sm_table_add(struct sm_table *table, const char *const *cells)
{
    if (table->count == table->capacity) {
        const size_t capacity = table->capacity ? 2 * table->capacity : 32;
        void *grown = realloc(table->rows, capacity * sizeof *table->rows);
        if (!grown) {
            table->lost = 1;
            return;
        }
        table->rows = grown;
        table->capacity = capacity;
    }
    char **row = table->rows[table->count++];
    for (int c = 0; c < table->columns; c++) row[c] = strdup(cells[c] ? cells[c] : "");
}

/* A row whose second cell is missing. */
void sm_table_add_line(struct sm_table *table, const char *text)
{
    const char *const cells[SM_TABLE_COLUMNS] = {text};
    const size_t before = table->count;
    sm_table_add(table, cells);
    if (table->count == before) return;
    free(table->rows[before][1]);
    table->rows[before][1] = NULL;
}

static bool is_line(const struct sm_table *table, size_t row)
{
    return !table->rows[row][1];
}

static const char *cell(const struct sm_table *table, size_t row, int column)
{
    return table->rows[row][column] ? table->rows[row][column] : "";
}

static void measure(const struct sm_table *table, int *width)
{
    for (int c = 0; c < table->columns; c++) {
        width[c] = 0;
        for (size_t r = 0; r < table->count; r++) {
            if (is_line(table, r)) continue;
            const int w = (int)strlen(cell(table, r, c));
            if (w > width[c]) width[c] = w;
        }
    }
}

/* The last cell, on as many lines as it needs; the cursor is at column `at`. */
static void print_last(const char *text, int at, FILE *out)
{
    int left = SM_TABLE_WIDTH - at;
    if (left < 20) left = 20;
    while ((int)strlen(text) > left) {
        int cut = left;
        while (cut > 0 && text[cut] != ' ') cut--;
        if (cut == 0) cut = left;
        fprintf(out, "%.*s\n%*s", cut, text, at, "");
        text += cut;
        text += strspn(text, " ");
    }
    fprintf(out, "%s\n", text);
}

static void print_plain(const struct sm_table *table, size_t row, const int *width, FILE *out)
{
    char line[512] = "  ";
    int at = 2;
    const int last = table->columns - 1;
    for (int c = 0; c < table->columns && at < (int)sizeof line; c++) {
        const char *text = cell(table, row, c);
        if (c == last && !table->right[c]) break;
        at += snprintf(line + at, sizeof line - (size_t)at, table->right[c] ? "%*s  " : "%-*s  ", width[c], text);
    }
    const char *tail = table->right[last] ? "" : cell(table, row, last);
    if (!*tail)
        for (size_t n = strlen(line); n > 0 && line[n - 1] == ' '; n--) line[n - 1] = 0;
    fputs(line, out);
    print_last(tail, at, out);
}

static void print_markdown(const struct sm_table *table, size_t row, const int *width, FILE *out)
{
    for (int c = 0; c < table->columns; c++)
        fprintf(out, table->right[c] ? "| %*s " : "| %-*s ", width[c], cell(table, row, c));
    fputs("|\n", out);
}

static void print_rule(const struct sm_table *table, const int *width, FILE *out)
{
    for (int c = 0; c < table->columns; c++) {
        fputs(table->right[c] ? "| " : "| ", out);
        for (int i = 0; i < width[c] - (table->right[c] ? 1 : 0) || i < 2; i++) fputc('-', out);
        fputs(table->right[c] ? ": " : " ", out);
    }
    fputs("|\n", out);
}

void sm_table_print(const struct sm_table *table, bool markdown, FILE *out)
{
    int width[SM_TABLE_COLUMNS];
    measure(table, width);
    for (size_t r = 0; r < table->count; r++) {
        if (is_line(table, r)) {
            if (!markdown) fprintf(out, "%.*s\n", SM_TABLE_WIDTH, cell(table, r, 0));
            continue;
        }
        if (markdown)
            print_markdown(table, r, width, out);
        else if (r > 0 || *cell(table, 0, 0))
            print_plain(table, r, width, out);
        if (markdown && r == 0) print_rule(table, width, out);
    }
    if (table->lost) fputs("(rows are missing: out of memory)\n", out);
}

void sm_table_free(struct sm_table *table)
{
    for (size_t r = 0; r < table->count; r++)
        for (int c = 0; c < table->columns; c++) free(table->rows[r][c]);
    free(table->rows);
    *table = (struct sm_table){0};
}
