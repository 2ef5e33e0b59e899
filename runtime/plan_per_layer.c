/* Per-layer embeddings (model-math: A.4): made once a token from its table row and its embedding, and what each layer
 * does with its share of them. */
#include <math.h>

#include "plan_parts.h"

void plan_add_per_layer_embedding(struct plan_builder *b, const struct plan_operands *o)
{
    const struct sm_model *m = b->weights->model;
    const struct sm_model_shape *s = &m->shape;
    const size_t width = s->per_layer_width;
    const struct sm_weight *w = &b->weights->per_layer_context;
    b->plan.per_layer = o->per_layer;
    /* The gate is not in use yet, and wide enough. */
    plan_gather(b, SM_LABEL_PER_LAYER_EMBEDDING, &b->weights->per_layer_table, o->tokens, o->gate, sqrtf((float)width),
                PLAN_TOKENS, PLAN_GATE);
    plan_quantise(b, o, w, o->x, PLAN_X);
    plan_matmul(
        b, o,
        &(struct plan_product){SM_LABEL_PER_LAYER_EMBEDDING, w, o->per_layer, o->x, NULL, PLAN_X, PLAN_PER_LAYER});
    /* The model scales the product by 1 / sqrt(hidden) before the norm, which undoes it but for eps: instead eps is
     * scaled by hidden. */
    const struct sm_rmsnorm args = {.y = o->per_layer,
                                    .y_stride = width,
                                    .x = o->per_layer,
                                    .x_stride = width,
                                    .w = b->weights->per_layer_norm,
                                    .rows = b->rows * s->layers,
                                    .cols = width,
                                    .eps = s->eps * (float)s->hidden,
                                    .residual = o->gate,
                                    .residual_stride = width,
                                    .scale = (float)sqrt(0.5)};
    plan_norm(b, SM_LABEL_PER_LAYER_EMBEDDING, &args, PLAN_PER_LAYER | PLAN_GATE, PLAN_PER_LAYER);
}

void plan_add_per_layer_block(struct plan_builder *b, size_t l, const struct plan_operands *o, float *x)
{
    const struct sm_model_shape *s = &b->weights->model->shape;
    const struct sm_layer_weights *w = &b->weights->layer[l];
    const size_t width = s->per_layer_width;
    const float *share = plan_offset(b, o->per_layer, l * width * sizeof(float));
    plan_quantise(b, o, &w->per_layer_gate, x, PLAN_X);
    plan_matmul(
        b, o,
        &(struct plan_product){SM_LABEL_PER_LAYER_BLOCK, &w->per_layer_gate, o->gate, x, NULL, PLAN_X, PLAN_GATE});
    plan_gate(b, o, SM_LABEL_PER_LAYER_BLOCK, share, s->layers * width, width, PLAN_PER_LAYER);
    const struct plan_branch end = {.label = SM_LABEL_PER_LAYER_BLOCK,
                                    .norm_label = SM_LABEL_PER_LAYER_BLOCK,
                                    .w = &w->per_layer_projection,
                                    .norm = w->per_layer_post_norm,
                                    .input = o->gate,
                                    .x = x,
                                    .y = x,
                                    .scale = w->scalar ? *w->scalar : 1,
                                    .reads = PLAN_GATE};
    plan_end_branch(b, o, &end);
}
