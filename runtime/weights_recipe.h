/* weights_recipe.h - what the recipes of weights.h say, as data. Private to weights. */
#ifndef SM_WEIGHTS_RECIPE_H
#define SM_WEIGHTS_RECIPE_H

#include "weights.h"

/* What a matrix becomes by its role: SM_FORMAT_NONE is its own format, or the nearest that has a kernel. A table that
 * some kernel gathers from stays as it is, unless it is to be W8C. */
struct recipe {
    const char *name;
    enum sm_format linear, head, table;
    enum sm_rows rows; /* of matrices per channel; those in groups have A8, floats have none */
    bool clip;         /* linear only */
};

/* Which family runs a matrix of a format. */
struct recipe_rule {
    enum sm_format format;
    enum sm_rows rows;
    const char *family;
};

/* NULL and a sentence: there is none of that name. */
const struct recipe *recipe_named(const char *name, char *why, size_t why_bytes);

/* Of a format that the recipe may ask for. */
const struct recipe_rule *recipe_rule(const struct recipe *recipe, enum sm_format format);

/* Whether the scales of a choice fit a model, and are there when the recipe needs them: 0, or -1 and a sentence. */
int recipe_check_scales(const struct recipe *recipe, const struct sm_model *model, const struct sm_choice *choice,
                        char *why, size_t why_bytes);

#endif
