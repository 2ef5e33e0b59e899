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

/* CPUs that this process may run on: at least 1. */
int64_t sm_choices_cpus(void);

#endif
