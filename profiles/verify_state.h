/* verify_state.h - what slotmark verify knows: its command line, both sides, and the combinations to run. */
#ifndef SM_VERIFY_STATE_H
#define SM_VERIFY_STATE_H

#include "progress.h"
#include "source.h"
#include "verify_golden.h"
#include "verify_options.h"

/* All combinations of a run, and what they share. */
struct verify {
    struct verify_options options;
    struct sm_source source, other; /* other: the reference, when it is a model of its own */
    struct verify_golden golden;
    bool given; /* the reference is golden */
    char against[128];
    struct sm_weights *reference, *tested[VERIFY_MOST_RECIPES]; /* by place in the list; made when first needed */
    int32_t *prompts;
    struct sm_session_options session; /* of all combinations; kv apart */
    struct combination {
        struct verify *verify;
        size_t recipe;
        enum sm_kv_type kv;
        bool done;
    } * combinations;
    size_t count;
    struct sm_progress progress;
    char out[4096];
};

/* Packs what a combination of that recipe needs, if it is not there yet: 0, or -1 and a sentence. */
int verify_prepare_weights(struct verify *v, size_t recipe, char *why, size_t why_bytes);

const char *verify_recipe(const struct verify *v, size_t recipe);

/* Runs a combination (the payload of a case) and hands its record over. */
enum sm_case_outcome verify_case(void *verify, const struct sm_case *c, struct sm_case_results *results, char *why,
                                 size_t why_bytes);

#endif
