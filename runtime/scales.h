/* scales.h - what static scales of activations are made of: the largest magnitude of every tensor that a recipe on
 * int16 rows quantises, layer by layer, as a calibration saw it (static-contract: 3.1).
 *
 * A calibration runs tokens through the model, its weights as the recipe makes them and all else in float, and looks at
 * the input of every matrix, and at keys (rotated, without the attention scale) and values. */
#ifndef SM_SCALES_H
#define SM_SCALES_H

#include "weights.h"

/* The tensors of a layer. */
enum sm_site {
    SM_SITE_QKV,
    SM_SITE_ATTENTION_OUT,
    SM_SITE_GATE_UP,
    SM_SITE_DOWN,
    SM_SITE_PER_LAYER_GATE,
    SM_SITE_PER_LAYER_PROJECTION,
    SM_SITE_KEYS,
    SM_SITE_VALUES,
    SM_LAYER_SITES
};

/* The tensors that are no layer's. */
enum sm_model_site { SM_SITE_HEAD, SM_SITE_PER_LAYER_CONTEXT, SM_MODEL_SITES };

const char *sm_site_name(enum sm_site site);             /* "qkv", "attention_out", ... */
const char *sm_model_site_name(enum sm_model_site site); /* "head", "per_layer_context" */

/* max |x|; 0: the model has no such tensor. */
struct sm_scales {
    size_t layers;
    float (*layer)[SM_LAYER_SITES];
    float model[SM_MODEL_SITES];
    char from[SM_SCALES_FROM_BYTES]; /* a few words on where they come from, for records; "": nobody said */
};

/* The scale of int16 for a largest magnitude: largest / 32767, and at least 1e-8. */
float sm_scale_of(float largest);

/* All zero. NULL: no memory. */
struct sm_scales *sm_scales_create(size_t layers);
void sm_scales_destroy(struct sm_scales *scales); /* safe on NULL */

/* The scales of each layer's keys and values, [layers], as a session takes them. */
void sm_scales_kv(const struct sm_scales *scales, float (*kv)[2]);

struct sm_calibration {
    size_t window, threads; /* tokens of a prefill, at least 1; the rest of the text makes the last one */
    /* The share of what was seen before when a window's maximum is added to it (an exponential moving average, whose
     * first window replaces); 0: the largest of all. */
    double momentum;
    /* Called after every window; true stops, with a sentence. NULL: nobody is told. */
    bool (*progress)(void *state, size_t tokens);
    void *state;
};

/* Runs `count` tokens through the model for that recipe. choice: its variants. 0, or -1 and a sentence. */
int sm_scales_measure(struct sm_scales **scales, const struct sm_model *model, const char *recipe,
                      const struct sm_choice *choice, const int32_t *tokens, size_t count,
                      const struct sm_calibration *how, char *why, size_t why_bytes);

#endif
