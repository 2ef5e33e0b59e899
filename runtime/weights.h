/* weights.h - a model's weights packed for the kernels that will read them, by a recipe.
 *
 * A recipe says, for each role of a matrix, what it becomes first, and what its activations become:
 *     native     quantised matrices on int8 rows in their own format, or the nearest that has a kernel; others in float
 *     float      everything dequantised to float, halves as they are
 *     w4g32-a8   4-bit groups of 32 (Q4_0; Q4_1 stays) on int8 rows, the head in Q8_0
 *     w4c-a8     4 bits per output channel on int8 rows with a scale each; head and tables in 8 bits
 *     w8c-a8     the same in 8 bits throughout
 *     w4c-a16    4 bits per output channel on int16 rows with static scales; head and tables in 8 bits
 *     w8c-a16    the same in 8 bits throughout
 * and w4c-a8-clip, w4c-a16-clip: with a search for the range of each channel (quantise_channel.h), which takes long.
 * Norms, biases, softmax and the residual stream are floats in all of them.
 * Which tensors were made into another format, and what that cost, is kept for records.
 * Packing happens once; several plans and caches share the result. Rows of the embedding and of the per-layer table are
 * read from the model's own bytes, unless no kernel reads their format: the model must outlive the weights. Norms that
 * a file stores less one are whole here. */
#ifndef SM_WEIGHTS_H
#define SM_WEIGHTS_H

#include "model.h"
#include "registry.h"

/* A variant forced by name. */
struct sm_forced {
    const char *family, *variant;
};

/* Where the scale of attention is applied: on the scores at each call, or beforehand on the copy of q_proj or k_proj
 * (weight and bias; on the norm of its heads where it has one, which would undo the other) that the weights hold. In k,
 * cached keys come out scaled. Scales of quantised blocks are half floats: exact in them when the scale is a power of
 * two (1/8 for a head_dim of 64) and leaves none below 2^-14, else rounded by 2^-11 and more. */
enum sm_scale_in { SM_SCALE_IN_SCORES, SM_SCALE_IN_Q, SM_SCALE_IN_K, SM_SCALE_INS };

/* "scores", "q", "k"; 0 or -1. */
const char *sm_scale_in_name(enum sm_scale_in in);
int sm_scale_in_named(const char *name, enum sm_scale_in *in);

#define SM_SCALES_FROM_BYTES 192

/* What a model's owner may choose. Variants: the best one that `features` can run, unless the family is forced. */
struct sm_choice {
    uint32_t features; /* sm_cpu_features() as a rule */
    const struct sm_forced *forced;
    size_t forced_count;
    enum sm_scale_in scale_in;
    bool weights_only;              /* matrices as the recipe makes them, but as floats and on float rows */
    const struct sm_scales *scales; /* recipes on int16 rows need them (scales.h); not kept */
    /* Called now and then by the thread that packs, with the share that is done; NULL: not. Not kept. */
    void (*packed)(void *state, double share);
    void *packed_state;
};

/* The variant of that family for that format (SM_FORMAT_NONE: it has none), or NULL and a sentence. */
const struct sm_variant *sm_choose(const struct sm_choice *choice, const char *family, enum sm_format format, char *why,
                                   size_t why_bytes);

/* The same of a family without weights whose operands lie in that layout (NULL: any; sm_choose takes the first
 * variant's). `other`: a layout that more of its operands have, so a variant that is forced for those is not meant
 * here; or NULL. */
const struct sm_variant *sm_choose_layout(const struct sm_choice *choice, const char *family, const char *layout,
                                          const char *other, char *why, size_t why_bytes);

/* What activations become before a matrix reads them (quant.h). */
enum sm_rows {
    SM_ROWS_F32, /* nothing */
    SM_ROWS_A8,  /* int8, a scale per group of 32 */
    SM_ROWS_A8R, /* int8, a scale per row */
    SM_ROWS_A16, /* int16, a static scale */
};

/* A packed matrix and the kernel that reads it. */
struct sm_weight {
    const struct sm_family *family;
    const struct sm_variant *variant;
    enum sm_rows rows; /* of its activations */
    float x_scale;     /* of int16 ones */
    const void *data;
    size_t bytes;
    const float *bias; /* or NULL */
    size_t out, in;
};

/* What the model does not have is NULL: a vector, or the data of a matrix. */
struct sm_layer_weights {
    struct sm_weight q, k, v, o, gate, up, down, per_layer_gate, per_layer_projection;
    const float *attn_norm, *ffn_norm, *q_norm, *k_norm, *post_attn_norm, *post_ffn_norm, *per_layer_post_norm;
    const float *scalar; /* one */
    float score_scale;   /* what is left for the scores: the layer's attention_scale, or 1 */
};

/* Matrices and tables of one format that were made into another. */
struct sm_conversion {
    enum sm_format from, to;
    size_t tensors;
    double relative_rms;           /* RMS of the differences over the RMS of the values; 0: nothing was lost */
    double max_error;              /* the largest difference, in shares of the largest value of its tensor */
    double squares, error_squares; /* what relative_rms is made of */
};

struct sm_weights {
    const struct sm_model *model;
    const char *recipe;
    enum sm_rows rows;       /* what its recipe makes of activations */
    struct sm_choice choice; /* a copy; the forced names are the weights' own */
    struct sm_layer_weights *layer;
    struct sm_weight head, per_layer_context;
    const float *output_norm, *per_layer_norm;
    struct sm_tensor embedding, per_layer_table; /* the model's own, or made into a format that has a kernel */
    struct sm_conversion conversion[32];
    size_t conversion_count;
    size_t bytes;                           /* held by the weights, beside the model's own */
    float (*kv_scales)[2];                  /* [layers], for a cache in int16, of the scales given; or NULL */
    char scales_from[SM_SCALES_FROM_BYTES]; /* what the scales given say of themselves */
    double pack_s;                          /* 0 until the caller that has a clock fills it in */
    void *memory, *names;
    size_t memory_bytes;
};

/* 0 on success; -1 and a sentence. A number in the model that is not finite is refused here. */
int sm_weights_create(struct sm_weights **weights, const struct sm_model *model, const char *recipe,
                      const struct sm_choice *choice, char *why, size_t why_bytes);

/* Safe on NULL. */
void sm_weights_destroy(struct sm_weights *weights);

/* Whether a recipe runs on int16 rows. */
bool sm_recipe_needs_scales(const char *recipe);

/* The names of the recipes, fewer than SM_RECIPES_MOST; NULL past the end. */
#define SM_RECIPES_MOST 16
const char *sm_recipe_name(size_t i);

#endif
