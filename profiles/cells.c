#include "cells.h"

#include <math.h>
#include <stdio.h>

double sm_cell_number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

const char *sm_cell_text(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));
    return s ? s : "";
}

const char *sm_cell_shown(char *cell, size_t bytes, const char *format, double value)
{
    *cell = 0;
    if (isfinite(value)) snprintf(cell, bytes, format, value);
    return cell;
}
