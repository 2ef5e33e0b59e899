/* random_model.h - small models of every kind that runtime runs, from a seed: for tests of properties.
 *
 * Layers differ in window, head width, heads, inner width, rotary frequencies, softcap and scale; some use the keys and
 * values of an earlier one. Models have head norms, post norms, per-layer embeddings, layer scalars, values that are
 * keys or normed, biases, tied heads: each or not. */
#ifndef SM_RANDOM_MODEL_H
#define SM_RANDOM_MODEL_H

#include "model.h"

struct random_model {
    struct sm_model model;
    void *memory;
};

/* Matrices in F32 or Q8_0. Fails the test when there is no memory. */
void random_model_create(struct random_model *m, uint64_t seed, enum sm_format format);
void random_model_destroy(struct random_model *m);

/* What it is, in a line. */
const char *random_model_text(const struct random_model *m);

#endif
