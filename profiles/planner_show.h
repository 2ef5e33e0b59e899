/* planner_show.h - a plan as text, as JSON, and as the manifest of what to build. */
#ifndef SM_PLANNER_SHOW_H
#define SM_PLANNER_SHOW_H

#include <jansson.h>
#include <stdio.h>

#include "planner_study.h"

/* What is said of a study beside what is in it. */
struct planner_facts {
    const char *turns, *costs; /* names of files; turns: "histogram" where it is none */
    const struct sm_source *source;
};

/* The "plan" of a record with role "plan" (record.h): a new reference. */
json_t *planner_json(const struct planner_study *study, const struct planner_facts *facts);

/* What static-contract 4 calls the manifest: capacity, prefill and append sizes, a decode slot kept back, and what each
 * layer keeps: a new reference. query_block_size is null: no block-wise prefill is planned. */
json_t *planner_manifest(const struct planner_study *study, const struct planner_facts *facts);

/* Tables for people. */
void planner_text(const struct planner_study *study, const struct planner_facts *facts, FILE *out);

/* "8,24,96"; "none". 128 bytes are enough. */
const char *planner_sizes_text(const size_t *sizes, size_t count, char *text, size_t bytes);

/* A time of ns in ms, to three digits or whole ones; nothing where it is not finite. In `cell`, which it returns. */
const char *planner_ms(char *cell, size_t bytes, double ns);

/* The plans of a set, its decode included. */
size_t planner_plans(const struct sm_planner_set *set);

#endif
