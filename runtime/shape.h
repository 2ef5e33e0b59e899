/* shape.h - the shape of a model: what its layers are, as data, without its weights.
 *
 * A shape comes from a text file profiles/shapes/NAME.shape (`key = value` lines, # starts a comment) or, in
 * model.h, from a checkpoint. Layers are described one by one: models whose layers differ (window, head width,
 * inner width, shared keys and values) are other data, not other code. This header stands alone: it needs
 * neither the rest of runtime nor kernels. */
#ifndef SM_SHAPE_H
#define SM_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#define SM_SHAPE_MAX_LAYERS 256
#define SM_SHAPE_NAME_BYTES 64

enum sm_activation { SM_ACTIVATION_SILU, SM_ACTIVATION_GELU };

/* One decoder layer. */
struct sm_layer_shape {
    size_t heads, kv_heads, head_dim;
    size_t ffn;              /* inner width of its MLP */
    size_t window;           /* keys a row may see, itself included; 0: all of them */
    size_t kv_source;        /* the layer whose keys and values it attends to: itself, or an earlier one */
    double rope_theta;       /* base of its rotary frequencies */
    size_t rope_pairs;       /* pairs that rotate, of head_dim / 2 */
    double rope_factor;      /* divides its rotary frequencies; 1: none */
    bool value_is_key;       /* no value matrix: values are the projected keys, before their norm and rotation */
    bool value_norm;         /* values are normed, without weights */
    float attention_scale;   /* multiplies the scores */
    float attention_softcap; /* 0: none */
};

/* Change of the rotary frequencies for long contexts (model-math: 0.6). factor 0: none. */
struct sm_rope_scaling {
    double factor, low, high, original;
};

struct sm_model_shape {
    char name[SM_SHAPE_NAME_BYTES];
    char arch[16]; /* "llama", "gemma2", ...: GGUF's general.architecture */
    bool runs;     /* runtime can build a plan of it; false: its kernel shapes can be benchmarked */
    bool tied;     /* the head is the embedding */
    size_t hidden, vocab, context;
    float eps;             /* of the norms */
    float embedding_scale; /* multiplies embedding rows */
    float final_softcap;   /* 0: none */
    enum sm_activation activation;
    bool qk_norm;           /* layers norm their queries and keys, head by head */
    bool post_norms;        /* layers norm the outputs of attention and MLP before they add them */
    bool layer_scalar;      /* layers multiply the stream by a number at their end */
    size_t per_layer_width; /* of per-layer embeddings; 0: none */
    struct sm_rope_scaling rope_scaling;
    size_t layers;
    struct sm_layer_shape layer[SM_SHAPE_MAX_LAYERS];
};

/* The shape named so, a file of the shapes' folder; what holds a '/' or ".shape" is the path of a file. 0 on success;
 * -1 and a sentence in `why`. */
int sm_shape_load(struct sm_model_shape *shape, const char *name_or_path, char *why, size_t why_bytes);

/* The same from text; `where` names it in errors. */
int sm_shape_parse(struct sm_model_shape *shape, const char *text, const char *where, char *why, size_t why_bytes);

/* Whether a shape of that name is in the shapes' folder. */
bool sm_shape_exists(const char *name);

/* The folder of the shapes: the environment's SLOTMARK_SHAPES, else the one the program was built with. */
const char *sm_shape_folder(void);

/* Every size in range and every pair that must agree agreeing: 0, or -1 and a sentence. */
int sm_shape_check(const struct sm_model_shape *shape, char *why, size_t why_bytes);

/* A weight matrix of the model, y = w x: w is [out][in]. */
struct sm_matmul_shape {
    size_t out, in;
    size_t count;   /* matrices of this size in the model, the head among them */
    char label[48]; /* what they are: "q, o", "gate, up", "head" */
};

/* The distinct matrix sizes in the order a token meets them, at most `capacity` of them (SM_SHAPE_MAX_MATMULS is
 * enough for every shape file). Returns how many it wrote. */
#define SM_SHAPE_MAX_MATMULS 32
size_t sm_shape_matmuls(const struct sm_model_shape *shape, struct sm_matmul_shape *list, size_t capacity);

struct sm_attention_shape {
    size_t heads, kv_heads, head_dim, window;
    float softcap;
    size_t count; /* layers of this geometry */
};

/* The distinct attention geometries, as above; 8 are enough for every shape file. */
size_t sm_shape_attentions(const struct sm_model_shape *shape, struct sm_attention_shape *list, size_t capacity);

/* Weights in the model, norms and biases included. */
double sm_shape_parameters(const struct sm_model_shape *shape);

/* Elements of keys and values that a cached token needs, over all layers that own them. */
size_t sm_shape_kv_elements(const struct sm_model_shape *shape);

#endif
