/* plan_parts.h - the operands that the steps of a plan share, and the parts that add them. Private to plan.
 *
 * plan_steps.c has the order of a call and the steps that its parts have in common; plan_attention.c, plan_mlp.c,
 * plan_per_layer.c and plan_head.c have the parts. Steps are of builder->rows rows. */
#ifndef SM_PLAN_PARTS_H
#define SM_PLAN_PARTS_H

#include "plan_builder.h"
#include "quant.h"

/* Keys and values of this call's rows in the KV type. */
struct plan_now {
    void *k, *v;
    float *k_scale, *v_scale; /* i8 only */
};

/* Every row of `x` and so on is as wide as the widest layer needs. */
struct plan_operands {
    int32_t *tokens;
    float *x;      /* the residual stream; with all_rows the first of layers + 1 of them */
    float *normed; /* input of the matrices */
    float *q, *k, *v, *mixed;
    void *partial; /* where attention of one row has its shares */
    float *gate, *up;
    float *branch;    /* what a norm follows before it is added to the stream */
    float *per_layer; /* [rows][layers * per_layer_width] */
    struct sm_a8 a8;  /* one of the three is in use, in the same memory */
    struct sm_a8r a8r;
    struct sm_a16 a16;
    struct plan_now now[SM_SHAPE_MAX_LAYERS]; /* of the layers that own keys and values */
    struct plan_now all;                      /* a layer's columns in one segment, when they are concatenated */
};

const struct sm_layer_shape *plan_layer(const struct plan_builder *b, size_t l);

/* A norm of args->rows rows of args->cols elements. */
struct sm_rmsnorm *plan_norm(struct plan_builder *b, enum sm_label label, const struct sm_rmsnorm *args, unsigned reads,
                             unsigned writes);

/* o->normed = norm of the stream. */
struct sm_rmsnorm *plan_norm_stream(struct plan_builder *b, const struct plan_operands *o, const float *x,
                                    const float *w);

/* y = w x (+ residual, of the stream): x are the floats of `reads`, or the int8 or int16 rows that were made of them.
 */
struct plan_product {
    enum sm_label label;
    const struct sm_weight *w;
    float *y;
    const float *x, *residual; /* or NULL */
    unsigned reads, writes;
};
void plan_matmul(struct plan_builder *b, const struct plan_operands *o, const struct plan_product *product);

/* The int8 or int16 rows of x, when the matrix that comes next reads such. */
void plan_quantise(struct plan_builder *b, const struct plan_operands *o, const struct sm_weight *w, const float *x,
                   unsigned reads);

/* The end of a branch: the stream y = (x + w input) * scale, with the norm of the product where the model has one. */
struct plan_branch {
    enum sm_label label, norm_label;
    const struct sm_weight *w;
    const float *norm; /* or NULL: then scale must be 1 */
    const float *input, *x;
    float *y, scale;
    unsigned reads;
};
void plan_end_branch(struct plan_builder *b, const struct plan_operands *o, const struct plan_branch *branch);

/* o->gate = act(o->gate) * up, `cols` of each row. */
void plan_gate(struct plan_builder *b, const struct plan_operands *o, enum sm_label label, const float *up,
               size_t up_stride, size_t cols, unsigned up_reads);

/* Rows of a table by token, or by another index, times `scale`. */
void plan_gather(struct plan_builder *b, enum sm_label label, const struct sm_tensor *table, const int32_t *token,
                 float *y, float scale, unsigned reads, unsigned writes);

void plan_add_masks(struct plan_builder *b);
void plan_add_attention(struct plan_builder *b, size_t l, const struct plan_operands *o, const float *x, float *y);
void plan_add_mlp(struct plan_builder *b, size_t l, const struct plan_operands *o, float *x);
void plan_add_per_layer_embedding(struct plan_builder *b, const struct plan_operands *o);
void plan_add_per_layer_block(struct plan_builder *b, size_t l, const struct plan_operands *o, float *x);
/* From here on there is one row, the last valid one: of the stream, per-layer embeddings, masks and rotations. */
void plan_add_last_row(struct plan_builder *b, struct plan_operands *o);
void plan_add_head(struct plan_builder *b, const struct plan_operands *o, const float *x);

#endif
