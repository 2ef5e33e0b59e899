/* The steps of a call, in order: what a decoder is, as data and kernels. */
#include <stdio.h>
#include <string.h>

#include "embedding.h"
#include "gated.h"
#include "matmul_channel.h"
#include "matmul_f32/matmul_f32.h"
#include "matmul_w4g32_a8/matmul_w4g32_a8.h"
#include "matmul_w8g32_a8/matmul_w8g32_a8.h"
#include "plan_parts.h"
#include "quantise_a16/quantise_a16.h"
#include "quantise_a8/quantise_a8.h"
#include "quantise_a8r/quantise_a8r.h"

const struct sm_layer_shape *plan_layer(const struct plan_builder *b, size_t l)
{
    return &b->weights->model->shape.layer[l];
}

struct sm_rmsnorm *plan_norm(struct plan_builder *b, enum sm_label label, const struct sm_rmsnorm *args, unsigned reads,
                             unsigned writes)
{
    const struct sm_shape shape = {{[SM_RMSNORM_ROWS] = (int64_t)args->rows,
                                    [SM_RMSNORM_COLS] = (int64_t)args->cols,
                                    [SM_RMSNORM_RESIDUAL] = args->scale != 0}};
    return plan_step(b, label, plan_variant(b, "rmsnorm"), args, sizeof *args, &shape, reads, writes);
}

struct sm_rmsnorm *plan_norm_stream(struct plan_builder *b, const struct plan_operands *o, const float *x,
                                    const float *w)
{
    const struct sm_model_shape *s = &b->weights->model->shape;
    const struct sm_rmsnorm args = {.y = o->normed,
                                    .y_stride = s->hidden,
                                    .x = x,
                                    .x_stride = s->hidden,
                                    .w = w,
                                    .rows = b->rows,
                                    .cols = s->hidden,
                                    .eps = s->eps};
    return plan_norm(b, SM_LABEL_NORM, &args, PLAN_X, PLAN_NORMED);
}

void plan_quantise(struct plan_builder *b, const struct plan_operands *o, const struct sm_weight *w, const float *x,
                   unsigned reads)
{
    /* The three families have their axes in one order. */
    const struct sm_shape shape = {{[SM_QUANTISE_A8_ROWS] = (int64_t)b->rows, [SM_QUANTISE_A8_COLS] = (int64_t)w->in}};
    if (w->rows == SM_ROWS_A8) {
        const struct sm_quantise_a8 args = {o->a8, x, w->in, b->rows, w->in};
        plan_step(b, SM_LABEL_QUANTISE, plan_variant(b, "quantise_a8"), &args, sizeof args, &shape, reads, PLAN_A8);
    } else if (w->rows == SM_ROWS_A8R) {
        const struct sm_quantise_a8r args = {o->a8r, x, w->in, b->rows, w->in};
        plan_step(b, SM_LABEL_QUANTISE, plan_variant(b, "quantise_a8r"), &args, sizeof args, &shape, reads, PLAN_A8);
    } else if (w->rows == SM_ROWS_A16) {
        const struct sm_quantise_a16 args = {{o->a16.q, o->a16.sum, w->x_scale}, x, w->in, b->rows, w->in};
        plan_step(b, SM_LABEL_QUANTISE, plan_variant(b, "quantise_a16"), &args, sizeof args, &shape, reads, PLAN_A8);
    }
}

void plan_matmul(struct plan_builder *b, const struct plan_operands *o, const struct plan_product *p)
{
    const struct sm_weight *w = p->w;
    const size_t rows = b->rows;
    union {
        struct sm_matmul_f32 f32;
        struct sm_matmul_w4g32_a8 w4g32;
        struct sm_matmul_w8g32_a8 w8g32;
        struct sm_matmul_c_a8 a8;
        struct sm_matmul_c_a16 a16;
    } args;
    /* All families have their axes in one order. */
    const struct sm_shape shape = {{[SM_MATMUL_F32_ROWS] = (int64_t)rows,
                                    [SM_MATMUL_F32_OUT] = (int64_t)w->out,
                                    [SM_MATMUL_F32_IN] = (int64_t)w->in}};
    const unsigned reads = (w->rows ? PLAN_A8 : p->reads) | (p->residual ? PLAN_X : 0);
    size_t bytes;
    if (w->rows == SM_ROWS_A8R) {
        args.a8 = (struct sm_matmul_c_a8){p->y, w->out, o->a8r, w->data, w->bias, p->residual, rows, w->out, w->in};
        bytes = sizeof args.a8;
    } else if (w->rows == SM_ROWS_A16) {
        const struct sm_a16 x = {o->a16.q, o->a16.sum, w->x_scale};
        args.a16 = (struct sm_matmul_c_a16){p->y, w->out, x, w->data, w->bias, p->residual, rows, w->out, w->in};
        bytes = sizeof args.a16;
    } else if (w->family == &sm_family_matmul_w4g32_a8) {
        args.w4g32 =
            (struct sm_matmul_w4g32_a8){p->y, w->out, o->a8, w->data, w->bias, p->residual, rows, w->out, w->in};
        bytes = sizeof args.w4g32;
    } else if (w->family == &sm_family_matmul_w8g32_a8) {
        args.w8g32 =
            (struct sm_matmul_w8g32_a8){p->y, w->out, o->a8, w->data, w->bias, p->residual, rows, w->out, w->in};
        bytes = sizeof args.w8g32;
    } else {
        args.f32 =
            (struct sm_matmul_f32){p->y, w->out, p->x, w->in, w->data, w->bias, p->residual, rows, w->out, w->in};
        bytes = sizeof args.f32;
    }
    plan_step(b, p->label, (struct plan_choice){w->family, w->variant}, &args, bytes, &shape, reads, p->writes);
}

void plan_end_branch(struct plan_builder *b, const struct plan_operands *o, const struct plan_branch *e)
{
    const struct sm_model_shape *s = &b->weights->model->shape;
    plan_quantise(b, o, e->w, e->input, e->reads);
    if (!e->norm) {
        if (e->scale != 1) plan_fail(b, "it has a layer scalar after a branch without a norm");
        plan_matmul(b, o, &(struct plan_product){e->label, e->w, e->y, e->input, e->x, e->reads, PLAN_X});
        return;
    }
    plan_matmul(b, o, &(struct plan_product){e->label, e->w, o->branch, e->input, NULL, e->reads, PLAN_BRANCH});
    const struct sm_rmsnorm args = {.y = e->y,
                                    .y_stride = s->hidden,
                                    .x = o->branch,
                                    .x_stride = s->hidden,
                                    .w = e->norm,
                                    .rows = b->rows,
                                    .cols = s->hidden,
                                    .eps = s->eps,
                                    .residual = e->x,
                                    .residual_stride = s->hidden,
                                    .scale = e->scale};
    plan_norm(b, e->norm_label, &args, PLAN_BRANCH | PLAN_X, PLAN_X);
}

void plan_gate(struct plan_builder *b, const struct plan_operands *o, enum sm_label label, const float *up,
               size_t up_stride, size_t cols, unsigned up_reads)
{
    const char *family = b->weights->model->shape.activation == SM_ACTIVATION_GELU ? "gated_gelu" : "gated_silu";
    const struct sm_gated args = {.y = o->gate,
                                  .y_stride = cols,
                                  .gate = o->gate,
                                  .gate_stride = cols,
                                  .up = up,
                                  .up_stride = up_stride,
                                  .rows = b->rows,
                                  .cols = cols};
    const struct sm_shape shape = {{[SM_GATED_ROWS] = (int64_t)b->rows, [SM_GATED_COLS] = (int64_t)cols}};
    plan_step(b, label, plan_variant(b, family), &args, sizeof args, &shape, PLAN_GATE | up_reads, PLAN_GATE);
}

void plan_gather(struct plan_builder *b, enum sm_label label, const struct sm_tensor *table, const int32_t *token,
                 float *y, float scale, unsigned reads, unsigned writes)
{
    const struct sm_embedding args = {.y = y,
                                      .y_stride = table->cols,
                                      .token = token,
                                      .table = table->data,
                                      .rows = b->rows,
                                      .cols = table->cols,
                                      .vocab = table->rows,
                                      .scale = scale};
    char family[32] = "embedding_";
    const char *format = sm_format_name(table->format);
    for (size_t i = strlen(family); *format && i + 1 < sizeof family; i++, format++)
        family[i] = *format >= 'A' && *format <= 'Z' ? (char)(*format - 'A' + 'a') : *format;
    const struct sm_shape shape = {{[SM_EMBEDDING_ROWS] = (int64_t)args.rows,
                                    [SM_EMBEDDING_COLS] = (int64_t)args.cols,
                                    [SM_EMBEDDING_VOCAB] = (int64_t)args.vocab}};
    plan_step(b, label, plan_variant(b, family), &args, sizeof args, &shape, reads, writes);
}

/* What all rows of a buffer need, over the layers. */
struct widths {
    size_t q, kv, ffn, kv_heads, gate, widest, partial_bytes;
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static struct widths widths_of(const struct sm_model_shape *s)
{
    struct widths w = {0};
    for (size_t l = 0; l < s->layers; l++) {
        const struct sm_layer_shape *a = &s->layer[l];
        w.q = larger(w.q, a->heads * a->head_dim);
        w.kv = larger(w.kv, a->kv_heads * a->head_dim);
        w.kv_heads = larger(w.kv_heads, a->kv_heads);
        w.ffn = larger(w.ffn, a->ffn);
        w.partial_bytes = larger(w.partial_bytes, sm_attention_partial_bytes(a->heads, a->kv_heads, a->head_dim));
    }
    w.gate = larger(w.ffn, s->layers * s->per_layer_width); /* where the per-layer table's rows are gathered */
    w.widest = larger(larger(w.ffn, w.q), larger(s->hidden, s->per_layer_width));
    return w;
}

static struct plan_now take_now(struct plan_builder *b, size_t rows, size_t kv, size_t kv_heads)
{
    const size_t row = kv * sm_kv_element_bytes(b->cache->type);
    return (struct plan_now){.k = plan_take(b, sm_keys_slots(b->cache->keys, rows) * row),
                             .v = plan_take(b, rows * row),
                             .k_scale = plan_take(b, rows * kv_heads * sizeof(float)),
                             .v_scale = plan_take(b, rows * kv_heads * sizeof(float))};
}

/* The rows of a donor last until its last consumer; all other layers take turns with one buffer. */
static void reserve_now(struct plan_builder *b, struct plan_operands *o, const struct widths *w)
{
    const struct sm_model_shape *s = &b->weights->model->shape;
    const struct plan_now shared = take_now(b, b->options->rows, w->kv, w->kv_heads);
    for (size_t l = 0; l < s->layers; l++) {
        const enum sm_layer_kind kind = sm_layer_kind_of(s, l);
        const bool donor = kind == SM_LAYER_FULL_DONOR || kind == SM_LAYER_SLIDING_DONOR;
        const struct sm_layer_shape *a = &s->layer[l];
        o->now[l] = donor ? take_now(b, b->options->rows, a->kv_heads * a->head_dim, a->kv_heads) : shared;
        if (b->cache->type == SM_KV_I16) { /* one scale for the cache and the call's own rows */
            o->now[l].k_scale = b->cache->layer[a->kv_source].k_scale;
            o->now[l].v_scale = b->cache->layer[a->kv_source].v_scale;
        }
    }
}

static void reserve_operands(struct plan_builder *b, struct plan_operands *o)
{
    const struct sm_model_shape *s = &b->weights->model->shape;
    const struct widths w = widths_of(s);
    const size_t rows = b->options->rows, states = b->options->all_rows ? s->layers + 1 : 1;
    const size_t float_row = rows * sizeof(float);
    o->tokens = plan_take(b, rows * sizeof *o->tokens);
    o->x = plan_take(b, states * float_row * s->hidden);
    o->normed = plan_take(b, float_row * s->hidden);
    o->q = plan_take(b, float_row * w.q);
    o->k = plan_take(b, float_row * w.kv);
    o->v = plan_take(b, float_row * w.kv);
    o->mixed = plan_take(b, float_row * w.q);
    o->partial = plan_take(b, w.partial_bytes);
    o->gate = plan_take(b, float_row * w.gate);
    o->up = plan_take(b, float_row * w.ffn);
    o->branch = plan_take(b, float_row * s->hidden);
    o->per_layer = plan_take(b, float_row * s->layers * s->per_layer_width);
    o->a8.q = plan_take(b, rows * w.widest * (b->weights->rows == SM_ROWS_A16 ? sizeof *o->a16.q : 1));
    o->a8.scale = plan_take(b, float_row * (w.widest / SM_GROUP + 1));
    o->a8.sum = plan_take(b, rows * sizeof(int32_t) * (w.widest / SM_GROUP + 1));
    o->a8r = (struct sm_a8r){o->a8.q, o->a8.scale, o->a8.sum};
    o->a16 = (struct sm_a16){.q = (int16_t *)(void *)o->a8.q};
    if (b->weights->rows == SM_ROWS_A16) o->a16.sum = plan_take(b, rows * sizeof *o->a16.sum);
    reserve_now(b, o, &w);
    if (b->options->concatenated && b->options->phase != SM_PHASE_PREFILL)
        o->all = take_now(b, b->options->max_seq, w.kv, w.kv_heads);
}

/* The first of the layers that may run on the last row alone; SM_NO_LAYER: there are none. */
static size_t first_consumer(const struct plan_builder *b)
{
    size_t l = b->weights->model->shape.layers;
    const size_t layers = l;
    while (l && plan_layer(b, l - 1)->kv_source != l - 1) l--;
    return b->options->last_row && !b->options->all_rows && b->options->rows > 1 && l < layers ? l : SM_NO_LAYER;
}

void plan_add_steps(struct plan_builder *b)
{
    const struct sm_model *m = b->weights->model;
    const struct sm_model_shape *s = &m->shape;
    const size_t state = b->options->rows * s->hidden;
    struct plan_operands o;
    plan_begin(b);
    reserve_operands(b, &o);
    b->plan.tokens = o.tokens;
    b->plan.hidden = o.x;
    plan_add_masks(b);
    plan_gather(b, SM_LABEL_EMBEDDING, &b->weights->embedding, o.tokens, o.x, s->embedding_scale, PLAN_TOKENS, PLAN_X);
    if (s->per_layer_width) plan_add_per_layer_embedding(b, &o);
    float *x = o.x;
    const size_t narrow = first_consumer(b);
    for (size_t l = 0; l < s->layers; l++) {
        if (l == narrow) {
            plan_add_last_row(b, &o);
            x = o.x;
        }
        float *y = b->options->all_rows ? plan_offset(b, o.x, (l + 1) * state * sizeof(float)) : o.x;
        b->layer = l;
        plan_add_attention(b, l, &o, x, y);
        plan_add_mlp(b, l, &o, y);
        if (s->per_layer_width) plan_add_per_layer_block(b, l, &o, y);
        x = y;
    }
    b->layer = SM_NO_LAYER;
    plan_add_head(b, &o, x);
}
