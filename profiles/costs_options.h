/* costs_options.h - the command line of slotmark costs. */
#ifndef SM_COSTS_OPTIONS_H
#define SM_COSTS_OPTIONS_H

#include "arguments.h"
#include "cases.h"
#include "weights.h"

enum costs_format { COSTS_MD, COSTS_CSV, COSTS_JSON, COSTS_JSONL };

struct costs_options {
    struct sm_case_options cases;
    struct sm_list max_seq, buckets, prefill_buckets, valid, threads; /* those not given have standards: costs_grid.h */
    struct sm_strings kv, attention;
    const char *recipe, *scales, *show;
    int64_t rounds, token_seed;
    bool force, quiet;
    int format;
    const char *synthetic_name;
    enum sm_format synthetic_format;
};

/* model: the operand, NULL when there is none. HELP has printed it. */
enum sm_arguments_result costs_options_parse(struct costs_options *o, int argc, char **argv, const char **model,
                                             char *why, size_t why_bytes);

#endif
