#include "figure_table.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void sm_text_tidy(char *dst, size_t dst_bytes, const char *src)
{
    size_t n = 0;
    for (; src[n] && n + 1 < dst_bytes; n++) {
        const unsigned char c = (unsigned char)src[n];
        dst[n] = c < 0x20 || c == 0x7f ? ' ' : c == '"' ? '\'' : src[n];
    }
    while (src[n] && n > 0 && ((unsigned char)src[n] & 0xc0) == 0x80) n--; /* not in the midst of a character */
    dst[n] = 0;
}

static void append(struct sm_figure_table *table, const char *text)
{
    const size_t length = strlen(text);
    if (table->bytes + length + 1 > table->capacity) {
        const size_t capacity = 2 * (table->capacity + length + 1);
        char *grown = realloc(table->text, capacity);
        if (!grown) {
            table->failed = 1;
            return;
        }
        table->text = grown;
        table->capacity = capacity;
    }
    memcpy(table->text + table->bytes, text, length + 1);
    table->bytes += length;
}

void sm_figure_table_row(struct sm_figure_table *table, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    for (const char *f = format; *f; f++) {
        char cell[SM_CELL_BYTES] = "";
        if (*f == 'i')
            snprintf(cell, sizeof cell, "%d", va_arg(args, int));
        else if (*f == 's')
            sm_text_tidy(cell, sizeof cell, va_arg(args, const char *));
        else {
            const double value = va_arg(args, double);
            if (isfinite(value)) snprintf(cell, sizeof cell, "%.9g", value);
        }
        append(table, cell);
        append(table, f[1] ? "\t" : "\n");
    }
    va_end(args);
    table->rows++;
}

int sm_figure_table_write(const struct sm_figure_table *table, FILE *to)
{
    for (const char *c = table->columns; *c; c++)
        if (fputc(*c == ' ' ? '\t' : *c, to) == EOF) return -1;
    if (fputc('\n', to) == EOF) return -1;
    return table->bytes && fputs(table->text, to) == EOF ? -1 : 0;
}

void sm_figure_table_destroy(struct sm_figure_table *table)
{
    free(table->text);
    *table = (struct sm_figure_table){0};
}
