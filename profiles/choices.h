/* choices.h - what the command lines of several commands choose: recipes, variants forced by name, the size of a team.
 */
#ifndef SM_CHOICES_H
#define SM_CHOICES_H

#include "arguments.h"
#include "weights.h"

#define SM_CHOICES_FORCED 32

struct sm_forced_list {
    struct sm_forced list[SM_CHOICES_FORCED];
    size_t count;
    char text[4096]; /* what the list points into */
};

/* FAMILY=VARIANT each, and each known. 0, or -1 and a sentence. */
int sm_choices_forced(const struct sm_strings *texts, struct sm_forced_list *forced, char *why, size_t why_bytes);

/* The index of a recipe, for sm_recipe_name; or -1 and a sentence. */
int sm_choices_recipe(const char *name, char *why, size_t why_bytes);

/* The format of --synthetic-format. 0, or -1 and a sentence: it is none that synthetic weights can have. */
int sm_choices_synthetic(const char *name, enum sm_format *format, char *why, size_t why_bytes);

/* The rows of a table of options (arguments.h) of every command that runs a model, whose options have these members. */
#define SM_MODEL_ARGUMENTS(o)                                                                                          \
    {"scales",                                                                                                         \
     0,                                                                                                                \
     SM_ARGUMENT_STRING,                                                                                               \
     &(o)->scales,                                                                                                     \
     NULL,                                                                                                             \
     "FILE",                                                                                                           \
     "static scales (default: results/scales/MODEL-RECIPE.json)"},                                                     \
        {"token-seed",                                                                                                 \
         0,                                                                                                            \
         SM_ARGUMENT_INTEGER,                                                                                          \
         &(o)->token_seed,                                                                                             \
         NULL,                                                                                                         \
         "N",                                                                                                          \
         "seed of tokens and synthetic weights (default 1)"},                                                          \
    {                                                                                                                  \
        "synthetic-format", 0, SM_ARGUMENT_STRING, &(o)->synthetic_name, NULL, "FORMAT",                               \
            "of a shape's weights: Q4_0 (default), Q4_1, Q8_0, F32"                                                    \
    }

/* CPUs that this process may run on: at least 1. */
int64_t sm_choices_cpus(void);

#endif
