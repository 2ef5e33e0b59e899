/* tiny.h - the small models of tests/golden, from each of their files, run and compared with their reference results.
 * Tests only: whatever fails fails the test with a sentence. */
#ifndef SM_TINY_H
#define SM_TINY_H

#include "golden.h"
#include "run.h"

#define TINY_MAX_TURNS 8

/* Reference results of a model. */
struct tiny {
    const char *name; /* of its folder */
    struct golden golden;
    const int32_t *full, *turns; /* tokens of the one pass, and of the session */
    const float *full_logits, *turns_logits;
    size_t full_count, turns_count, vocab;
    double tolerance; /* of a logit: 4 x float32 against float64 */
    double spread;    /* of full_logits: largest less smallest */
    struct {
        size_t start, prompt, end;
    } turn[TINY_MAX_TURNS];
    size_t turn_count;
};

void tiny_open(struct tiny *tiny, const char *name);
void tiny_close(struct tiny *tiny);

/* A file that a model is read from. */
struct tiny_source {
    const char *model;  /* its folder */
    const char *file;   /* a GGUF file of it, or NULL: config.json and model.safetensors */
    const char *config; /* beside model.safetensors; NULL: the folder as it is */
    const char *logits; /* of full.tokens with a GGUF file's weights, in gguf.safetensors; NULL: full.logits */
};

/* Every one of them; `model` NULL past the end. */
extern const struct tiny_source tiny_sources[];

/* "gemma4-tiny/config.published-style.json", in a buffer that the next call reuses. */
const char *tiny_source_name(const struct tiny_source *source);

/* The model, and what its tensors point into: tiny_unload when it is done. */
struct tiny_model {
    struct sm_model *model;
    void *bytes;
};
void tiny_load(struct tiny_model *loaded, const struct tiny_source *source);
void tiny_unload(struct tiny_model *loaded);

/* A session over float weights of a model. */
struct tiny_run {
    struct sm_weights *weights;
    struct sm_session *session;
};
void tiny_run_open(struct tiny_run *run, const struct sm_model *model, uint32_t features,
                   const struct sm_session_options *options);
void tiny_run_close(struct tiny_run *run);

/* Largest less smallest. */
double tiny_spread(const float *x, size_t count);

/* The greatest difference of the logits of full.tokens, one pass with every row kept, from `logits`. */
double tiny_full_difference(const struct tiny *tiny, const struct sm_model *model, uint32_t features,
                            const struct sm_session_options *options, enum sm_padding padding, const float *logits);

#endif
