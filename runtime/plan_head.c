/* The final norm, the head and the greatest logit: on the last valid row alone, unless all are asked for. */
#include "argmax/argmax.h"
#include "plan_parts.h"
#include "softcap_f32/softcap_f32.h"

void plan_add_head(struct plan_builder *b, const struct plan_operands *o, const float *x)
{
    const struct sm_model_shape *s = &b->weights->model->shape;
    const struct sm_weight *w = &b->weights->head;
    struct sm_plan *p = &b->plan;
    b->rows = b->options->all_rows ? b->options->rows : 1;
    p->logits = plan_take(b, b->rows * s->vocab * sizeof *p->logits);
    p->argmax = plan_take(b, sizeof *p->argmax);
    p->capped = plan_take(b, sizeof *p->capped);
    if (s->final_softcap > 0) {
        const struct sm_variant *v = plan_variant(b, "softcap_f32").variant;
        p->softcap = v ? v->fn : NULL;
    }
    p->last_x = x;
    p->normed = o->normed;
    p->norm_args = plan_norm_stream(b, o, x, b->weights->output_norm);
    plan_quantise(b, o, w, o->normed, PLAN_NORMED);
    plan_matmul(b, o, &(struct plan_product){SM_LABEL_HEAD, w, p->logits, o->normed, NULL, PLAN_NORMED, PLAN_LOGITS});
    const struct sm_argmax args = {
        .index = p->argmax, .x = p->logits, .x_stride = s->vocab, .rows = 1, .cols = s->vocab};
    const struct sm_shape shape = {{[SM_ARGMAX_ROWS] = 1, [SM_ARGMAX_COLS] = (int64_t)s->vocab}};
    p->argmax_args =
        plan_step(b, SM_LABEL_ARGMAX, plan_variant(b, "argmax"), &args, sizeof args, &shape, PLAN_LOGITS, PLAN_ARGMAX);
}
