/* verify_options.h - the command line of slotmark verify. */
#ifndef SM_VERIFY_OPTIONS_H
#define SM_VERIFY_OPTIONS_H

#include "arguments.h"
#include "cases.h"
#include "choices.h"
#include "turns.h"
#include "verify_limits.h"

#define VERIFY_MOST_RECIPES 16
#define VERIFY_STANDARD_TURNS "32+12,20+4"

enum verify_format { VERIFY_MD, VERIFY_CSV, VERIFY_JSON, VERIFY_JSONL };

struct verify_options {
    struct sm_case_options cases;
    const char *against; /* NULL: float */
    struct sm_strings kv, scale_in, recipes, variants, limit_texts;
    int recipe_index[VERIFY_MOST_RECIPES];
    struct sm_forced_list forced;
    struct sm_list buckets, prefill_buckets; /* count 0: none were asked for */
    int when_full;
    int64_t max_seq; /* 0: as needed */
    int64_t steps, token_seed, threads;
    const char *prompt;        /* of the only turn; NULL: none was given as text */
    const char *text;          /* NULL: no perplexity */
    int64_t stride, text_most; /* 0: half a window; all of it */
    const char *turns_text, *turns_file, *tokens, *scales;
    struct sm_turns turns; /* count 0: none were asked for */
    bool same_token, no_paths;
    struct verify_limits limits; /* NAN: the standard one */
    int format;
    const char *synthetic_name;
    enum sm_format synthetic_format;
};

/* model: the operand, NULL when there is none. HELP has printed it. */
enum sm_arguments_result verify_options_parse(struct verify_options *o, int argc, char **argv, const char **model,
                                              char *why, size_t why_bytes);

#endif
