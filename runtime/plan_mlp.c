/* The gated MLP of a layer. */
#include "plan_parts.h"

void plan_add_mlp(struct plan_builder *b, size_t l, const struct plan_operands *o, float *x)
{
    const struct sm_layer_weights *w = &b->weights->layer[l];
    const size_t ffn = plan_layer(b, l)->ffn;
    const bool last = !b->weights->model->shape.per_layer_width; /* of the layer's parts */
    plan_norm_stream(b, o, x, w->ffn_norm);
    plan_quantise(b, o, w->gate.rows ? &w->gate : &w->up, o->normed, PLAN_NORMED);
    plan_matmul(b, o,
                &(struct plan_product){SM_LABEL_GATE_UP, &w->gate, o->gate, o->normed, NULL, PLAN_NORMED, PLAN_GATE});
    plan_matmul(b, o, &(struct plan_product){SM_LABEL_GATE_UP, &w->up, o->up, o->normed, NULL, PLAN_NORMED, PLAN_UP});
    plan_gate(b, o, SM_LABEL_ACTIVATION, o->up, ffn, ffn, PLAN_UP);
    const struct plan_branch end = {.label = SM_LABEL_DOWN,
                                    .norm_label = SM_LABEL_POST_NORM,
                                    .w = &w->down,
                                    .norm = w->post_ffn_norm,
                                    .input = o->gate,
                                    .x = x,
                                    .y = x,
                                    .scale = last && w->scalar ? *w->scalar : 1,
                                    .reads = PLAN_GATE};
    plan_end_branch(b, o, &end);
}
