/* model.h - a model: a mapped checkpoint, or seeded weights of a shape.
 *
 * A model owns the mapping and describes what lies in it; it converts nothing. Tensors point into the mapping,
 * which is read-only, in the formats of dequantise.h; a tensor in another one is refused.
 * Files are hostile: every count, offset, product and sum is checked, and no size is believed before the bytes
 * for it are there. */
#ifndef SM_MODEL_H
#define SM_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "registry.h"
#include "shape.h"

/* A matrix [rows][cols] in a file's own format, or a vector (rows 1). data NULL: the model has none. */
struct sm_tensor {
    const void *data;
    enum sm_format format;
    size_t rows, cols, bytes;
};

/* The tensors a layer may have. A plan does a step for those that are there. */
enum sm_layer_tensor {
    SM_TENSOR_ATTN_NORM,
    SM_TENSOR_Q,
    SM_TENSOR_K,
    SM_TENSOR_V,
    SM_TENSOR_O,
    SM_TENSOR_Q_BIAS,
    SM_TENSOR_K_BIAS,
    SM_TENSOR_V_BIAS,
    SM_TENSOR_O_BIAS,
    SM_TENSOR_FFN_NORM,
    SM_TENSOR_GATE,
    SM_TENSOR_UP,
    SM_TENSOR_DOWN,
    SM_TENSOR_GATE_BIAS,
    SM_TENSOR_UP_BIAS,
    SM_TENSOR_DOWN_BIAS,
    SM_TENSOR_Q_NORM, /* [head_dim], of every head, before it is rotated; so is K_NORM */
    SM_TENSOR_K_NORM,
    SM_TENSOR_POST_ATTN_NORM, /* of the branch, before it is added to the stream; so is POST_FFN_NORM */
    SM_TENSOR_POST_FFN_NORM,
    SM_TENSOR_PER_LAYER_GATE,       /* [per_layer_width][hidden] (model-math: A.4, 3.8) */
    SM_TENSOR_PER_LAYER_PROJECTION, /* [hidden][per_layer_width] */
    SM_TENSOR_PER_LAYER_POST_NORM,  /* [hidden] */
    SM_TENSOR_LAYER_SCALAR,         /* one element, multiplies the stream at the end of the layer */
    SM_LAYER_TENSORS
};

struct sm_layer_tensors {
    struct sm_tensor tensor[SM_LAYER_TENSORS];
};

/* Bytes that tensors point into. */
struct sm_model_part {
    void *at;
    size_t bytes;
};

struct sm_model {
    struct sm_model_shape shape;
    struct sm_tensor embedding, head, output_norm; /* head is the embedding when tied */
    struct sm_tensor rope_divisors;                /* [head_dim / 2] that divide the rotary frequencies, or none */
    /* Per-layer embeddings (model-math: A.4, 2), or none: [vocab][layers * width], [layers * width][hidden], [width].
     */
    struct sm_tensor per_layer_table, per_layer_context, per_layer_norm;
    bool norm_plus_one; /* norm weights are stored less one (Gemma 2 and 3 in safetensors) */
    bool paired_rows;   /* q and k rows are in the order of interleaved pairs and must be put back (model-math: C.4) */
    struct sm_layer_tensors *layer; /* [shape.layers] */

    /* Facts for records. */
    const char *file;  /* as given; NULL: synthetic */
    uint64_t bytes;    /* of the file or files, or of the synthetic weights */
    double parameters; /* elements of the tensors used */
    bool synthetic;
    char formats[96]; /* "F32 61, Q4_1 210, Q8_0 1": the tensors of the file by format */
    double open_s;    /* seconds that opening took, packing not included; 0 until the opener fills it in */

    void *map; /* private: what the tensors point into */
    size_t map_bytes;
    struct sm_model_part *parts; /* private: the same of a folder */
    size_t part_count;
    char *file_owned;
};

/* Maps and checks a GGUF file, or a folder of config.json and safetensors (model.safetensors, or the files of
 * model.safetensors.index.json). 0 on success; -1 and a sentence. Files must not change while they are mapped. */
int sm_model_open(struct sm_model **model, const char *path, char *why, size_t why_bytes);

/* A GGUF file's bytes in memory (alignment 32), which must outlive the model and stay as they are. */
int sm_model_open_memory(struct sm_model **model, const void *bytes, size_t count, char *why, size_t why_bytes);

/* The same of a folder: the text of config.json, and the bytes of model.safetensors. */
int sm_model_open_config(struct sm_model **model, const char *config, size_t config_bytes, const void *tensors,
                         size_t tensor_bytes, char *why, size_t why_bytes);

/* Whether synthetic weights can be in that format: F32, Q4_0, Q4_1 or Q8_0. */
bool sm_model_synthesises(enum sm_format format);

/* Seeded weights of a shape, matrices in `format` and vectors in F32, scaled so that logits are of order one. */
struct sm_synthetic {
    enum sm_format format;
    uint64_t seed;
    void (*made)(void *state, double share); /* called now and then with the share that is done; NULL: not */
    void *made_state;
};
int sm_model_synthetic(struct sm_model **model, const struct sm_model_shape *shape, const struct sm_synthetic *how,
                       char *why, size_t why_bytes);

/* Of a shape, and no weights at all: for what its shape alone tells. Nothing else may be asked of it. */
int sm_model_outline(struct sm_model **model, const struct sm_model_shape *shape, char *why, size_t why_bytes);

/* Safe on NULL. */
void sm_model_close(struct sm_model *model);

/* "Q4_0" and so on; "?" when there is no such format. */
const char *sm_format_name(enum sm_format format);

/* 0 and the format named so (case does not matter), or -1. */
int sm_format_named(const char *name, enum sm_format *format);

#endif
