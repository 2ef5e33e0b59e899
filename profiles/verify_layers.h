/* verify_layers.h - where two sides part: hidden states layer by layer, and the logits of every row, of one prefill. */
#ifndef SM_VERIFY_LAYERS_H
#define SM_VERIFY_LAYERS_H

#include "run.h"
#include "verify_metrics.h"

/* One side's hidden states: states [layers + 1][rows][hidden] (what enters layer 0, then what leaves each), norm
 * [rows][hidden] after the final norm, logits [rows][vocab]. Each may be NULL: not known. */
struct verify_hidden {
    const float *states, *norm, *logits;
};

struct verify_layers_setup {
    const struct sm_weights *tested;
    const struct sm_weights *reference; /* NULL: given */
    struct verify_hidden given;
    const int32_t *tokens; /* [rows] */
    size_t rows;
    enum sm_kv_type kv;          /* of the tested side */
    const float (*kv_scales)[2]; /* of an int16 cache */
    size_t threads;
    double limit; /* of the relative error: beyond it a layer has parted */
};

struct verify_layers {
    size_t count;     /* layers + 2: what enters layer 0, what leaves each layer, after the final norm */
    double *relative; /* [count] root of the squares of the differences over those of the reference; NAN: unknown */
    double *peir;     /* [count] */
    size_t first;     /* the first beyond the limit; count: none */
    struct sm_difference all; /* of the logits of all rows; rows 0: not known */
};

/* The most rows for which both sides' states and logits stay in a sensible share of memory: at least 1. */
size_t verify_layers_rows(const struct sm_model_shape *shape, size_t wanted);

/* 0, or -1 and a sentence. The result is to be freed whatever comes back. */
int verify_layers_run(const struct verify_layers_setup *setup, struct verify_layers *layers, char *why,
                      size_t why_bytes);
void verify_layers_free(struct verify_layers *layers);

/* "the embedding", "layer 3", "the final norm": what computed the i-th of them. */
const char *verify_layer_name(size_t i, size_t count, char *text, size_t bytes);

/* What the numbers say, in a sentence. */
void verify_layers_say(const struct verify_layers *layers, double limit, char *text, size_t bytes);

#endif
