/* The steps of a call, in order: what a decoder is, as data and kernels. */
#include <stdio.h>
#include <string.h>

#include "argmax/argmax.h"
#include "attention.h"
#include "cache_write.h"
#include "embedding.h"
#include "gated.h"
#include "mask_build/mask_build.h"
#include "matmul_f32/matmul_f32.h"
#include "matmul_w4g32_a8/matmul_w4g32_a8.h"
#include "matmul_w8g32_a8/matmul_w8g32_a8.h"
#include "plan_builder.h"
#include "quantise_a8/quantise_a8.h"
#include "rmsnorm/rmsnorm.h"
#include "rope/rope.h"

#define MASK_FILL -120.0f

/* The operands that steps share. Every row of `x` and so on is as wide as the widest layer needs. */
struct operands {
    int32_t *tokens;
    float *x;      /* the residual stream; with all_rows the first of layers + 1 of them */
    float *normed; /* input of the matrices */
    float *q, *k, *v, *mixed;
    float *gate, *up;
    struct sm_a8 a8;
    void *k_now, *v_now;
    float *k_now_scale, *v_now_scale;
};

static const struct sm_layer_shape *layer_of(const struct plan_builder *b, size_t l)
{
    return &b->weights->model->shape.layer[l];
}

static void reserve_operands(struct plan_builder *b, struct operands *o)
{
    const struct sm_model_shape *s = &b->weights->model->shape;
    const size_t rows = b->options->rows, states = b->options->all_rows ? s->layers + 1 : 1;
    size_t q = 0, kv = 0, ffn = 0, kv_heads = 0;
    for (size_t l = 0; l < s->layers; l++) {
        const struct sm_layer_shape *a = &s->layer[l];
        if (a->heads * a->head_dim > q) q = a->heads * a->head_dim;
        if (a->kv_heads * a->head_dim > kv) kv = a->kv_heads * a->head_dim;
        if (a->kv_heads > kv_heads) kv_heads = a->kv_heads;
        if (a->ffn > ffn) ffn = a->ffn;
    }
    const size_t widest = ffn > q ? (ffn > s->hidden ? ffn : s->hidden) : (q > s->hidden ? q : s->hidden);
    const size_t float_row = rows * sizeof(float);
    o->tokens = plan_take(b, rows * sizeof *o->tokens);
    o->x = plan_take(b, states * float_row * s->hidden);
    o->normed = plan_take(b, float_row * s->hidden);
    o->q = plan_take(b, float_row * q);
    o->k = plan_take(b, float_row * kv);
    o->v = plan_take(b, float_row * kv);
    o->mixed = plan_take(b, float_row * q);
    o->gate = plan_take(b, float_row * ffn);
    o->up = plan_take(b, float_row * ffn);
    o->a8.q = plan_take(b, rows * widest);
    o->a8.scale = plan_take(b, float_row * (widest / SM_GROUP + 1));
    o->a8.sum = plan_take(b, rows * sizeof(int32_t) * (widest / SM_GROUP + 1));
    o->k_now = plan_take(b, rows * kv * sm_kv_element_bytes(b->cache->type));
    o->v_now = plan_take(b, rows * kv * sm_kv_element_bytes(b->cache->type));
    o->k_now_scale = plan_take(b, float_row * kv_heads);
    o->v_now_scale = plan_take(b, float_row * kv_heads);
}

static void add_embedding(struct plan_builder *b, const struct operands *o)
{
    const struct sm_model *m = b->weights->model;
    const struct sm_embedding args = {.y = o->x,
                                      .y_stride = m->shape.hidden,
                                      .token = o->tokens,
                                      .table = m->embedding.data,
                                      .rows = b->options->rows,
                                      .cols = m->shape.hidden,
                                      .vocab = m->shape.vocab,
                                      .scale = m->shape.embedding_scale};
    char family[32] = "embedding_";
    const char *format = sm_format_name(m->embedding.format);
    for (size_t i = strlen(family); *format && i + 1 < sizeof family; i++, format++)
        family[i] = *format >= 'A' && *format <= 'Z' ? (char)(*format - 'A' + 'a') : *format;
    const struct sm_shape shape = {{[SM_EMBEDDING_ROWS] = (int64_t)args.rows,
                                    [SM_EMBEDDING_COLS] = (int64_t)args.cols,
                                    [SM_EMBEDDING_VOCAB] = (int64_t)args.vocab}};
    plan_step(b, SM_LABEL_EMBEDDING, plan_variant(b, family), &args, sizeof args, &shape, PLAN_TOKENS, PLAN_X);
}

static struct sm_rmsnorm *add_norm(struct plan_builder *b, float *y, const float *x, const float *w, size_t rows)
{
    const struct sm_model_shape *s = &b->weights->model->shape;
    const struct sm_rmsnorm args = {.y = y,
                                    .y_stride = s->hidden,
                                    .x = x,
                                    .x_stride = s->hidden,
                                    .w = w,
                                    .rows = rows,
                                    .cols = s->hidden,
                                    .eps = s->eps};
    const struct sm_shape shape = {{[SM_RMSNORM_ROWS] = (int64_t)rows, [SM_RMSNORM_COLS] = (int64_t)s->hidden}};
    return plan_step(b, SM_LABEL_NORM, plan_variant(b, "rmsnorm"), &args, sizeof args, &shape, PLAN_X, PLAN_NORMED);
}

static void add_quantise(struct plan_builder *b, const struct operands *o, const float *x, size_t rows, size_t cols,
                         unsigned reads)
{
    const struct sm_quantise_a8 args = {.out = o->a8, .x = x, .x_stride = cols, .rows = rows, .cols = cols};
    const struct sm_shape shape = {{[SM_QUANTISE_A8_ROWS] = (int64_t)rows, [SM_QUANTISE_A8_COLS] = (int64_t)cols}};
    plan_step(b, SM_LABEL_QUANTISE, plan_variant(b, "quantise_a8"), &args, sizeof args, &shape, reads, PLAN_A8);
}

/* y = w x (+ residual): x are the floats of `reads`, or the int8 rows that were made of them. */
static void add_matmul(struct plan_builder *b, enum sm_label label, const struct sm_weight *w, float *y,
                       const float *residual, const struct operands *o, const float *x, size_t rows, unsigned reads,
                       unsigned writes)
{
    const struct plan_choice choice = {w->family, w->variant};
    /* The three families have their axes in one order. */
    const struct sm_shape shape = {{[SM_MATMUL_F32_ROWS] = (int64_t)rows,
                                    [SM_MATMUL_F32_OUT] = (int64_t)w->out,
                                    [SM_MATMUL_F32_IN] = (int64_t)w->in}};
    if (residual) reads |= PLAN_X;
    if (w->family == &sm_family_matmul_w4g32_a8) {
        const struct sm_matmul_w4g32_a8 args = {y, w->out, o->a8, w->data, w->bias, residual, rows, w->out, w->in};
        plan_step(b, label, choice, &args, sizeof args, &shape, (reads & PLAN_X) | PLAN_A8, writes);
    } else if (w->family == &sm_family_matmul_w8g32_a8) {
        const struct sm_matmul_w8g32_a8 args = {y, w->out, o->a8, w->data, w->bias, residual, rows, w->out, w->in};
        plan_step(b, label, choice, &args, sizeof args, &shape, (reads & PLAN_X) | PLAN_A8, writes);
    } else {
        const struct sm_matmul_f32 args = {y, w->out, x, w->in, w->data, w->bias, residual, rows, w->out, w->in};
        plan_step(b, label, choice, &args, sizeof args, &shape, reads, writes);
    }
}

static void add_rope(struct plan_builder *b, size_t l, float *x, size_t heads, unsigned buffer)
{
    const struct sm_layer_shape *a = layer_of(b, l);
    const struct plan_rotation *rotation = &b->plan.rotation[b->positions->of_layer[l]];
    const struct sm_rope args = {.x = x,
                                 .x_stride = heads * a->head_dim,
                                 .cos = rotation->cos,
                                 .sin = rotation->sin,
                                 .rows = b->options->rows,
                                 .heads = heads,
                                 .head_dim = a->head_dim};
    const struct sm_shape shape = {{[SM_ROPE_ROWS] = (int64_t)args.rows,
                                    [SM_ROPE_HEADS] = (int64_t)heads,
                                    [SM_ROPE_HEAD_DIM] = (int64_t)a->head_dim}};
    plan_step(b, SM_LABEL_ROPE, plan_variant(b, "rope"), &args, sizeof args, &shape, buffer, buffer);
}

/* The KV type's own families. */
static struct plan_choice kv_variant(struct plan_builder *b, const char *operation)
{
    char name[32];
    snprintf(name, sizeof name, "%s_%s", operation, sm_kv_name(b->cache->type));
    return plan_variant(b, name);
}

/* Rows of new keys (or values) into `to`, all of them into the staging segment, or those that a call sets into
 * slots. */
static void add_write(struct plan_builder *b, size_t l, void *to, float *scale, const float *x, bool into_slots,
                      unsigned reads, unsigned writes)
{
    const struct sm_layer_shape *a = layer_of(b, l);
    const size_t rows = b->options->rows, slots = into_slots ? b->options->max_seq - 1 : rows;
    const size_t count = rows < slots ? rows : slots;
    const struct sm_cache_write args = {.cache = to,
                                        .scale = scale,
                                        .head_stride = slots * a->head_dim,
                                        .scale_stride = slots,
                                        .slots = slots,
                                        .x = x,
                                        .x_stride = a->kv_heads * a->head_dim,
                                        .count = count,
                                        .kv_heads = a->kv_heads,
                                        .head_dim = a->head_dim};
    const struct sm_shape shape = {{[SM_CACHE_WRITE_ROWS] = (int64_t)count,
                                    [SM_CACHE_WRITE_MAX_SEQ] = (int64_t)slots + 1,
                                    [SM_CACHE_WRITE_HEAD_DIM] = (int64_t)a->head_dim,
                                    [SM_CACHE_WRITE_KV_HEADS] = (int64_t)a->kv_heads}};
    void *placed =
        plan_step(b, SM_LABEL_CACHE_WRITE, kv_variant(b, "cache_write"), &args, sizeof args, &shape, reads, writes);
    if (into_slots) plan_keep_write(b, placed, &shape);
}

static void add_attention(struct plan_builder *b, size_t l, const struct operands *o)
{
    const struct sm_layer_shape *a = layer_of(b, l);
    const struct sm_layer_cache *c = &b->cache->layer[a->kv_source];
    const struct plan_mask *mask = plan_mask(b, a->window);
    const size_t rows = b->options->rows, past = mask->past, slots = b->options->max_seq - 1;
    const size_t stride = slots * a->head_dim, now_stride = rows * a->head_dim;
    const struct sm_attention args = {.out = o->mixed,
                                      .out_stride = a->heads * a->head_dim,
                                      .q = o->q,
                                      .q_stride = a->heads * a->head_dim,
                                      .k_past = {c->k, c->k_scale, stride, slots},
                                      .v_past = {c->v, c->v_scale, stride, slots},
                                      .k_now = {o->k_now, c->k_scale ? o->k_now_scale : NULL, now_stride, rows},
                                      .v_now = {o->v_now, c->k_scale ? o->v_now_scale : NULL, now_stride, rows},
                                      .mask = mask->mask,
                                      .mask_stride = past + rows,
                                      .rows = rows,
                                      .heads = a->heads,
                                      .kv_heads = a->kv_heads,
                                      .head_dim = a->head_dim,
                                      .past = past,
                                      .now = rows,
                                      .scale = a->attention_scale,
                                      .softcap = a->attention_softcap};
    const struct sm_shape shape = {{[SM_ATTENTION_ROWS] = (int64_t)rows,
                                    [SM_ATTENTION_MAX_SEQ] = (int64_t)(past + rows),
                                    [SM_ATTENTION_HEAD_DIM] = (int64_t)a->head_dim,
                                    [SM_ATTENTION_HEADS] = (int64_t)a->heads,
                                    [SM_ATTENTION_KV_HEADS] = (int64_t)a->kv_heads,
                                    [SM_ATTENTION_VALID] = -1,
                                    [SM_ATTENTION_WINDOW] = (int64_t)a->window}};
    void *placed = plan_step(b, SM_LABEL_ATTENTION, kv_variant(b, "attention"), &args, sizeof args, &shape,
                             PLAN_Q | PLAN_NOW | PLAN_SLOTS | PLAN_MASK, PLAN_MIXED);
    if (past && past < b->options->max_seq - rows)
        plan_keep_view(b, placed, a->head_dim * sm_kv_element_bytes(b->cache->type));
}

static void add_masks(struct plan_builder *b)
{
    for (size_t i = 0; i < b->plan.mask_count; i++) {
        const size_t rows = b->options->rows, past = b->plan.mask[i].past;
        const struct sm_mask_build args = {.mask = b->plan.mask[i].mask,
                                           .mask_stride = past + rows,
                                           .rows = rows,
                                           .past = past,
                                           .window = b->plan.mask[i].window,
                                           .fill = b->options->mask_fill != 0 ? b->options->mask_fill : MASK_FILL};
        const struct sm_shape shape = {{[SM_MASK_BUILD_ROWS] = (int64_t)args.rows,
                                        [SM_MASK_BUILD_MAX_SEQ] = (int64_t)(past + rows),
                                        [SM_MASK_BUILD_WINDOW] = (int64_t)args.window}};
        b->plan.mask[i].args =
            plan_step(b, SM_LABEL_MASK, plan_variant(b, "mask_build"), &args, sizeof args, &shape, 0, PLAN_MASK);
    }
}

static void add_attention_block(struct plan_builder *b, size_t l, const struct operands *o, const float *x, float *y)
{
    const struct sm_layer_weights *w = &b->weights->layer[l];
    const struct sm_layer_shape *a = layer_of(b, l);
    const struct sm_layer_cache *c = &b->cache->layer[l];
    const size_t rows = b->options->rows;
    add_norm(b, o->normed, x, w->attn_norm, rows);
    if (w->q.a8 || w->k.a8 || w->v.a8) add_quantise(b, o, o->normed, rows, w->q.in, PLAN_NORMED);
    add_matmul(b, SM_LABEL_QKV, &w->q, o->q, NULL, o, o->normed, rows, PLAN_NORMED, PLAN_Q);
    add_matmul(b, SM_LABEL_QKV, &w->k, o->k, NULL, o, o->normed, rows, PLAN_NORMED, PLAN_K);
    add_matmul(b, SM_LABEL_QKV, &w->v, o->v, NULL, o, o->normed, rows, PLAN_NORMED, PLAN_V);
    add_rope(b, l, o->q, a->heads, PLAN_Q);
    add_rope(b, l, o->k, a->kv_heads, PLAN_K);
    add_write(b, l, o->v_now, o->v_now_scale, o->v, false, PLAN_V, PLAN_NOW_V);
    add_write(b, l, o->k_now, o->k_now_scale, o->k, false, PLAN_K, PLAN_NOW_K);
    add_attention(b, l, o);
    add_write(b, l, c->k, c->k_scale, o->k, true, PLAN_K, PLAN_SLOTS_K);
    add_write(b, l, c->v, c->v_scale, o->v, true, PLAN_V, PLAN_SLOTS_V);
    if (w->o.a8) add_quantise(b, o, o->mixed, rows, w->o.in, PLAN_MIXED);
    add_matmul(b, SM_LABEL_ATTENTION_OUT, &w->o, y, x, o, o->mixed, rows, PLAN_MIXED, PLAN_X);
}

static void add_mlp_block(struct plan_builder *b, size_t l, const struct operands *o, float *x)
{
    const struct sm_layer_weights *w = &b->weights->layer[l];
    const size_t rows = b->options->rows, ffn = layer_of(b, l)->ffn;
    const char *family = b->weights->model->shape.activation == SM_ACTIVATION_GELU ? "gated_gelu" : "gated_silu";
    const struct sm_gated args = {.y = o->gate,
                                  .y_stride = ffn,
                                  .gate = o->gate,
                                  .gate_stride = ffn,
                                  .up = o->up,
                                  .up_stride = ffn,
                                  .rows = rows,
                                  .cols = ffn};
    const struct sm_shape shape = {{[SM_GATED_ROWS] = (int64_t)rows, [SM_GATED_COLS] = (int64_t)ffn}};
    add_norm(b, o->normed, x, w->ffn_norm, rows);
    if (w->gate.a8 || w->up.a8) add_quantise(b, o, o->normed, rows, w->gate.in, PLAN_NORMED);
    add_matmul(b, SM_LABEL_GATE_UP, &w->gate, o->gate, NULL, o, o->normed, rows, PLAN_NORMED, PLAN_GATE);
    add_matmul(b, SM_LABEL_GATE_UP, &w->up, o->up, NULL, o, o->normed, rows, PLAN_NORMED, PLAN_UP);
    plan_step(b, SM_LABEL_ACTIVATION, plan_variant(b, family), &args, sizeof args, &shape, PLAN_GATE | PLAN_UP,
              PLAN_GATE);
    if (w->down.a8) add_quantise(b, o, o->gate, rows, ffn, PLAN_GATE);
    add_matmul(b, SM_LABEL_DOWN, &w->down, x, x, o, o->gate, rows, PLAN_GATE, PLAN_X);
}

/* The final norm, the head and the greatest logit: on the last valid row alone, unless all are asked for. */
static void add_head(struct plan_builder *b, const struct operands *o, const float *x)
{
    const struct sm_model_shape *s = &b->weights->model->shape;
    const size_t rows = b->options->all_rows ? b->options->rows : 1;
    const struct sm_weight *w = &b->weights->head;
    struct sm_plan *p = &b->plan;
    p->logits = plan_take(b, rows * s->vocab * sizeof *p->logits);
    p->argmax = plan_take(b, sizeof *p->argmax);
    p->last_x = x;
    p->normed = o->normed;
    p->norm_args = add_norm(b, o->normed, x, b->weights->output_norm, rows);
    if (w->a8) add_quantise(b, o, o->normed, rows, w->in, PLAN_NORMED);
    add_matmul(b, SM_LABEL_HEAD, w, p->logits, NULL, o, o->normed, rows, PLAN_NORMED, PLAN_LOGITS);
    const struct sm_argmax args = {
        .index = p->argmax, .x = p->logits, .x_stride = s->vocab, .rows = 1, .cols = s->vocab};
    const struct sm_shape shape = {{[SM_ARGMAX_ROWS] = 1, [SM_ARGMAX_COLS] = (int64_t)s->vocab}};
    p->argmax_args =
        plan_step(b, SM_LABEL_ARGMAX, plan_variant(b, "argmax"), &args, sizeof args, &shape, PLAN_LOGITS, PLAN_ARGMAX);
}

void plan_add_steps(struct plan_builder *b)
{
    const struct sm_model_shape *s = &b->weights->model->shape;
    const size_t state = b->options->rows * s->hidden;
    struct operands o;
    plan_begin(b);
    reserve_operands(b, &o);
    b->plan.tokens = o.tokens;
    b->plan.hidden = o.x;
    add_masks(b);
    add_embedding(b, &o);
    for (size_t l = 0; l < s->layers; l++) {
        float *y = o.x;
        const float *x = o.x;
        b->layer = l;
        if (b->options->all_rows) {
            x = plan_offset(b, o.x, l * state * sizeof(float));
            y = plan_offset(b, o.x, (l + 1) * state * sizeof(float));
        }
        add_attention_block(b, l, &o, x, y);
        add_mlp_block(b, l, &o, y);
    }
    b->layer = SM_NO_LAYER;
    add_head(b, &o, b->options->all_rows ? plan_offset(b, o.x, s->layers * state * sizeof(float)) : o.x);
}
