/* planner_options.h - the command line of slotmark plan. */
#ifndef SM_PLANNER_OPTIONS_H
#define SM_PLANNER_OPTIONS_H

#include "arguments.h"
#include "cache.h"
#include "cases.h"
#include "cost_table.h"
#include "quant.h"

enum planner_format { PLANNER_TEXT, PLANNER_JSON, PLANNER_MANIFEST };

struct planner_options {
    struct sm_case_options cases;
    const char *model; /* NULL: the default one */
    const char *turns_file, *histogram, *costs;
    struct sm_list max_seq, append, prefill;
    int64_t most_append, most_plans, memory, threads, token_seed;
    int objective, format, attention;
    const char *recipe, *kv_name, *scales;
    enum sm_kv_type kv;
    bool verify, quiet;
    const char *synthetic_name;
    enum sm_format synthetic_format;
};

/* HELP has printed it. */
enum sm_arguments_result planner_options_parse(struct planner_options *o, int argc, char **argv, char *why,
                                               size_t why_bytes);

#endif
