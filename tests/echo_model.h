/* echo_model.h - a model whose arithmetic is exact and known, for tests of where numbers go.
 *
 * hidden, vocab, head_dim 8; one head. Token t's embedding is row t of a Hadamard matrix, of rms 1, and the layers add
 * nothing to it, so the logits of a token are its embedding. Its key is key[t] in every element, not rotated, and its
 * value is value[t]. */
#ifndef SM_ECHO_MODEL_H
#define SM_ECHO_MODEL_H

#include "model.h"

#define ECHO 8

struct echo_model {
    struct sm_model model;
    struct sm_layer_tensors layer[4];
    float embedding[ECHO][ECHO], identity[ECHO][ECHO], none[ECHO][ECHO], keys[ECHO][ECHO], values[ECHO][ECHO];
    float ones[ECHO];
};

/* Up to 4 layers that are alike, each with its own keys and values. */
void echo_model_make(struct echo_model *m, size_t layers, const float key[ECHO], const float value[ECHO]);

#endif
