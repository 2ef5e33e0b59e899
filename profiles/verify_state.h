/* verify_state.h - what slotmark verify knows: its command line, both sides, and the combinations to run. */
#ifndef SM_VERIFY_STATE_H
#define SM_VERIFY_STATE_H

#include "perplexity.h"
#include "progress.h"
#include "scales.h"
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
    /* By place in the lists; made when first needed. */
    struct sm_weights *reference, *tested[VERIFY_MOST_RECIPES][SM_SCALE_INS];
    struct sm_scales *scales[VERIFY_MOST_RECIPES]; /* for recipes on int16 rows, and for an int16 cache */
    float (*kv_scales[VERIFY_MOST_RECIPES])[2];
    int32_t *prompts, *text;
    size_t prompt_count, text_count;
    int32_t text_begin;                     /* the token that each window of the text begins with, or -1 */
    struct sm_perplexity text_of_reference; /* scored 0: not known yet */
    struct sm_session_options session;      /* of all combinations; kv apart */
    struct combination {
        struct verify *verify;
        size_t recipe;
        enum sm_scale_in scale_in;
        enum sm_kv_type kv;
        bool done;
    } * combinations;
    size_t count;
    struct sm_progress progress;
    char out[4096];
};

/* Packs what a combination needs, and calibrates for it, if that is not done yet: 0, or -1 and a sentence. */
int verify_prepare_weights(struct verify *v, const struct combination *c, char *why, size_t why_bytes);
void verify_free_weights(struct verify *v);

/* Perplexity of the text: the reference's when tested is NULL. 0; 1 interrupted; -1 and a sentence. */
int verify_text(struct verify *v, const struct combination *tested, struct sm_perplexity *result, char *why,
                size_t why_bytes);

/* The tokens of the prompt, and of the text, that were asked for: 0, or -1 and a sentence. */
int verify_read_prompt(struct verify *v, char *why, size_t why_bytes);
int verify_read_text(struct verify *v, char *why, size_t why_bytes);

const char *verify_recipe(const struct verify *v, size_t recipe);

/* Runs a combination (the payload of a case) and hands its record over. */
enum sm_case_outcome verify_case(void *verify, const struct sm_case *c, struct sm_case_results *results, char *why,
                                 size_t why_bytes);

#endif
