/* Going on with the last valid row alone. */
#include "plan_parts.h"

/* Copies the last of a matrix's rows, and returns where to. */
static float *add_copy(struct plan_builder *b, const float *from, size_t cols, unsigned buffer)
{
    const struct sm_tensor table = {.data = from, .format = SM_FORMAT_F32, .rows = b->options->rows, .cols = cols};
    float *to = plan_take(b, cols * sizeof *to);
    plan_gather(b, SM_LABEL_LAST_ROW, &table, b->plan.last_index, to, 1, buffer, buffer);
    return to;
}

void plan_add_last_row(struct plan_builder *b, struct plan_operands *o)
{
    const struct sm_model_shape *s = &b->weights->model->shape;
    struct sm_plan *p = &b->plan;
    p->last_index = plan_take(b, sizeof *p->last_index);
    for (size_t i = 0; i < b->positions->count; i++) {
        const size_t half = b->positions->rotation[i].head_dim / 2;
        p->last_rotation[i].cos = plan_take(b, half * sizeof(float));
        p->last_rotation[i].sin = plan_take(b, half * sizeof(float));
    }
    b->rows = 1;
    b->narrow = true;
    o->x = add_copy(b, o->x, s->hidden, PLAN_X);
    if (s->per_layer_width) o->per_layer = add_copy(b, o->per_layer, s->layers * s->per_layer_width, PLAN_PER_LAYER);
    for (size_t i = 0; i < p->mask_count; i++)
        p->mask[i].last = add_copy(b, p->mask[i].mask, p->mask[i].past + b->options->rows, PLAN_MASK);
}
