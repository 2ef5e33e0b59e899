/* profile_options.h - the command line of slotmark profile. */
#ifndef SM_PROFILE_OPTIONS_H
#define SM_PROFILE_OPTIONS_H

#include "arguments.h"
#include "cases.h"
#include "choices.h"
#include "turns.h"

#define PROFILE_MOST_RECIPES 8

struct profile_options {
    struct sm_case_options cases;
    struct sm_list max_seq, prompt, threads; /* prompt empty: half of max_seq, at most 512 */
    struct sm_strings kv, scale_in, recipes, variants, counters;
    int recipe_index[PROFILE_MOST_RECIPES];
    int64_t gen, reps, token_seed;
    bool gen_standard; /* gen was not given, and may be cut to fit */
    const char *tokens, *scales;
    const char *text, *text_file; /* a prompt as text */
    bool chat, show;
    const char *turns_text, *turns_file;
    struct sm_turns turns; /* count 0: none: a prompt and what follows it */
    struct sm_list buckets, prefill_buckets;
    int when_full;
    int format, padding;
    bool print_tokens;
    bool reconcile;
    bool count;        /* instructions, by callgrind, and no times */
    const char *trace; /* NULL, or the file of a trace of the first trial */
    const char *synthetic_name;
    enum sm_format synthetic_format;
    struct sm_forced_list forced;
};

/* model: the operand, NULL when there is none. HELP has printed it. */
enum sm_arguments_result profile_options_parse(struct profile_options *o, int argc, char **argv, const char **model,
                                               char *why, size_t why_bytes);

#endif
