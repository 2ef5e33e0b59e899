#include "lacking.h"

#include <string.h>

#include "table.h"

void sm_lacking_print(const struct sm_ceilings *ceilings, const char *unit, FILE *out)
{
    static const char first[] = "not here, this CPU lacks the instructions:";
    int column = 0; /* of the end of what is printed; 0: nothing is lacking so far */
    for (size_t i = 0; i < ceilings->count; i++) {
        const struct sm_ceiling *c = &ceilings->item[i];
        if (c->why != sm_ceiling_lacks || !strstr(c->unit, "/cycle") || (unit && strcmp(c->unit, unit))) continue;
        column += column ? fprintf(out, ",") : fprintf(out, "\n%s", first) - 1;
        if (column + (int)strlen(c->name) + 2 > SM_TABLE_WIDTH) column = fprintf(out, "\n ") - 1;
        column += fprintf(out, " %s", c->name);
    }
    if (column) fputc('\n', out);
}
