/* The masks of a call, and the attention block of a layer. */
#include <stdio.h>
#include <string.h>

#include "attention.h"
#include "cache_write.h"
#include "kv_concat/kv_concat.h"
#include "plan_parts.h"
#include "rope/rope.h"

#define MASK_FILL -120.0f

static void add_rope(struct plan_builder *b, size_t l, float *y, float *x, size_t heads, unsigned reads,
                     unsigned writes)
{
    const struct sm_layer_shape *a = plan_layer(b, l);
    const size_t kind = b->positions->of_layer[l];
    const struct plan_rotation *rotation = b->narrow ? &b->plan.last_rotation[kind] : &b->plan.rotation[kind];
    const struct sm_rope args = {.x = x,
                                 .x_stride = heads * a->head_dim,
                                 .cos = rotation->cos,
                                 .sin = rotation->sin,
                                 .rows = b->rows,
                                 .heads = heads,
                                 .head_dim = a->head_dim,
                                 .y = y,
                                 .y_stride = heads * a->head_dim};
    const struct sm_shape shape = {{[SM_ROPE_ROWS] = (int64_t)args.rows,
                                    [SM_ROPE_HEADS] = (int64_t)heads,
                                    [SM_ROPE_HEAD_DIM] = (int64_t)a->head_dim}};
    plan_step(b, SM_LABEL_ROPE, plan_variant(b, "rope"), &args, sizeof args, &shape, reads, writes);
}

/* The KV type's own families. */
static struct plan_choice kv_variant(struct plan_builder *b, const char *operation, const char *layout,
                                     const char *other)
{
    char name[32];
    snprintf(name, sizeof name, "%s_%s", operation, sm_kv_name(b->cache->type));
    return plan_variant_for(b, name, layout, other);
}

static struct plan_choice write_variant(struct plan_builder *b, bool values)
{
    const char *const of_values = "slot_major", *const of_keys = b->cache->keys == SM_KEYS_16 ? "blocks16" : of_values;
    return kv_variant(b, "cache_write", values ? of_values : of_keys, values ? of_keys : of_values);
}

int sm_plan_keys(const struct sm_weights *weights, enum sm_kv_type kv, bool concatenated, enum sm_keys *keys, char *why,
                 size_t why_bytes)
{
    char name[32];
    snprintf(name, sizeof name, "attention_%s", sm_kv_name(kv));
    const char *const layout = concatenated ? sm_keys_name(SM_KEYS_PLAIN) : NULL;
    const struct sm_variant *v = sm_choose_layout(&weights->choice, name, layout, NULL, why, why_bytes);
    if (!v) return -1;
    *keys = strcmp(v->layout->name, sm_keys_name(SM_KEYS_16)) ? SM_KEYS_PLAIN : SM_KEYS_16;
    return 0;
}

/* Slots that `slots` keys (or values) of a KV head take. */
static size_t room(const struct plan_builder *b, size_t slots, bool values)
{
    return values ? slots : sm_keys_slots(b->cache->keys, slots);
}

/* Where rows of new keys (or values) come from and go. */
struct plan_rows {
    bool values;
    const float *x;
    void *data;
    float *scale;
    unsigned reads, writes;
};

/* Rows of new keys (or values), all of them into the staging segment, or those that a call sets into slots. */
static void add_write(struct plan_builder *b, size_t l, const struct plan_rows *to, bool into_slots)
{
    const struct sm_layer_shape *a = plan_layer(b, l);
    const size_t rows = b->options->rows, slots = into_slots ? b->options->max_seq - 1 : rows;
    const size_t count = rows < slots ? rows : slots;
    const struct sm_cache_write args = {.cache = to->data,
                                        .scale = to->scale,
                                        .head_stride = room(b, slots, to->values) * a->head_dim,
                                        .scale_stride = slots,
                                        .slots = slots,
                                        .x = to->x,
                                        .x_stride = a->kv_heads * a->head_dim,
                                        .count = count,
                                        .kv_heads = a->kv_heads,
                                        .head_dim = a->head_dim};
    const struct sm_shape shape = {{[SM_CACHE_WRITE_ROWS] = (int64_t)count,
                                    [SM_CACHE_WRITE_MAX_SEQ] = (int64_t)slots + 1,
                                    [SM_CACHE_WRITE_HEAD_DIM] = (int64_t)a->head_dim,
                                    [SM_CACHE_WRITE_KV_HEADS] = (int64_t)a->kv_heads}};
    void *placed = plan_step(b, SM_LABEL_CACHE_WRITE, write_variant(b, to->values), &args, sizeof args, &shape,
                             to->reads, to->writes);
    if (into_slots) plan_keep_write(b, placed, &shape);
}

/* The keys (or values) of a layer as attention may read them: slots of the cache, and the rows of the call. */
struct segments {
    struct sm_kv past, now;
};

static struct segments segments_of(const struct plan_builder *b, size_t l, const struct plan_now *now, bool values)
{
    const struct sm_layer_shape *a = plan_layer(b, l);
    const struct sm_layer_cache *c = &b->cache->layer[a->kv_source];
    const size_t rows = b->options->rows, slots = b->options->max_seq - 1;
    const bool each = b->cache->type == SM_KV_I8; /* a scale for every slot; else a stride of 0: one for all, or none */
    const float *past_scale = values ? c->v_scale : c->k_scale, *now_scale = values ? now->v_scale : now->k_scale;
    return (struct segments){
        .past = {values ? c->v : c->k, past_scale, room(b, slots, values) * a->head_dim, each ? slots : 0},
        .now = {values ? now->v : now->k, past_scale ? now_scale : NULL, room(b, rows, values) * a->head_dim,
                each ? rows : 0},
    };
}

/* A view of the past that is shorter than its slots moves with each call. */
static void keep_view(struct plan_builder *b, size_t l, struct sm_kv *at, size_t *in_block)
{
    const struct sm_layer_shape *a = plan_layer(b, l);
    const size_t past = plan_mask(b, a->window)->past;
    if (past && past < b->options->max_seq - b->options->rows)
        plan_keep_view(b, at, in_block, past, a->head_dim * sm_kv_element_bytes(b->cache->type));
}

/* Both segments put together in `all`, which becomes the rows of the call: nothing is past any more. */
static void add_concat(struct plan_builder *b, size_t l, struct segments *s, void *all, float *all_scale,
                       unsigned reads, unsigned writes)
{
    const struct sm_layer_shape *a = plan_layer(b, l);
    const size_t rows = b->options->rows, past = plan_mask(b, a->window)->past, columns = past + rows;
    const bool each = s->past.scale_stride; /* slot has a scale; else one for all stays what it is */
    const struct sm_kv_concat args = {.out = all,
                                      .out_scale = each ? all_scale : NULL,
                                      .out_stride = columns * a->head_dim,
                                      .out_scale_stride = columns,
                                      .past = s->past,
                                      .now = s->now,
                                      .past_rows = past,
                                      .now_rows = rows,
                                      .kv_heads = a->kv_heads,
                                      .head_dim = a->head_dim,
                                      .element_bytes = sm_kv_element_bytes(b->cache->type)};
    const struct sm_shape shape = {{[SM_KV_CONCAT_ROWS] = (int64_t)rows,
                                    [SM_KV_CONCAT_MAX_SEQ] = (int64_t)columns,
                                    [SM_KV_CONCAT_HEAD_DIM] = (int64_t)a->head_dim,
                                    [SM_KV_CONCAT_KV_HEADS] = (int64_t)a->kv_heads,
                                    [SM_KV_CONCAT_ELEMENT_BYTES] = (int64_t)args.element_bytes}};
    struct sm_kv_concat *placed =
        plan_step(b, SM_LABEL_CONCAT, plan_variant(b, "kv_concat"), &args, sizeof args, &shape, reads, writes);
    keep_view(b, l, placed ? &placed->past : NULL, NULL);
    *s = (struct segments){.now = {all, each ? all_scale : s->past.scale, args.out_stride, each ? columns : 0}};
}

static void add_attention(struct plan_builder *b, size_t l, const struct plan_operands *o)
{
    const struct sm_layer_shape *a = plan_layer(b, l);
    const struct plan_mask *mask = plan_mask(b, a->window);
    const struct plan_now *now = &o->now[a->kv_source];
    const size_t rows = b->options->rows, columns = mask->past + rows;
    const bool concatenated = b->options->concatenated && mask->past;
    struct segments k = segments_of(b, l, now, false), v = segments_of(b, l, now, true);
    if (concatenated) {
        add_concat(b, l, &k, o->all.k, o->all.k_scale, PLAN_NOW_K | PLAN_SLOTS_K, PLAN_ALL_K);
        add_concat(b, l, &v, o->all.v, o->all.v_scale, PLAN_NOW_V | PLAN_SLOTS_V, PLAN_ALL_V);
    }
    const struct sm_attention args = {.out = o->mixed,
                                      .out_stride = a->heads * a->head_dim,
                                      .q = o->q,
                                      .q_stride = a->heads * a->head_dim,
                                      .k_past = k.past,
                                      .v_past = v.past,
                                      .k_now = k.now,
                                      .v_now = v.now,
                                      .mask = b->narrow ? mask->last : mask->mask,
                                      .mask_stride = columns,
                                      .rows = b->rows,
                                      .heads = a->heads,
                                      .kv_heads = a->kv_heads,
                                      .head_dim = a->head_dim,
                                      .past = concatenated ? 0 : mask->past,
                                      .now = concatenated ? columns : rows,
                                      .scale = b->weights->layer[l].score_scale,
                                      .softcap = a->attention_softcap,
                                      .partial = b->rows == 1 ? o->partial : NULL};
    const struct sm_shape shape = {{[SM_ATTENTION_ROWS] = (int64_t)b->rows,
                                    [SM_ATTENTION_MAX_SEQ] = (int64_t)columns,
                                    [SM_ATTENTION_HEAD_DIM] = (int64_t)a->head_dim,
                                    [SM_ATTENTION_HEADS] = (int64_t)a->heads,
                                    [SM_ATTENTION_KV_HEADS] = (int64_t)a->kv_heads,
                                    [SM_ATTENTION_VALID] = -1,
                                    [SM_ATTENTION_WINDOW] = (int64_t)a->window}};
    const unsigned reads = concatenated ? PLAN_ALL_K | PLAN_ALL_V : PLAN_NOW | PLAN_SLOTS;
    const struct plan_choice choice = kv_variant(b, "attention", sm_keys_name(b->cache->keys), NULL);
    struct sm_attention *placed =
        plan_step(b, SM_LABEL_ATTENTION, choice, &args, sizeof args, &shape, PLAN_Q | PLAN_MASK | reads, PLAN_MIXED);
    if (concatenated) return;
    if (mask->past) plan_keep_past(b, placed, mask->past);
    keep_view(b, l, placed ? &placed->k_past : NULL,
              placed && b->cache->keys == SM_KEYS_16 ? &placed->past_first : NULL);
    keep_view(b, l, placed ? &placed->v_past : NULL, NULL);
}

void plan_add_masks(struct plan_builder *b)
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

/* Norms of heads: rows of head_dim, `heads` to a token, from x to y; w NULL: without weights. */
static void add_head_norm(struct plan_builder *b, size_t l, float *y, const float *x, const float *w, size_t heads,
                          unsigned reads, unsigned writes)
{
    const size_t head_dim = plan_layer(b, l)->head_dim;
    const struct sm_rmsnorm args = {.y = y,
                                    .y_stride = head_dim,
                                    .x = x,
                                    .x_stride = head_dim,
                                    .w = w,
                                    .rows = b->rows * heads,
                                    .cols = head_dim,
                                    .eps = b->weights->model->shape.eps};
    plan_norm(b, SM_LABEL_HEAD_NORM, &args, reads, writes);
}

/* The products of a layer that has keys and values of its own. Where values are the projected keys (static-contract:
 * 2.3) the product goes where values are kept, and the keys are made from there. */
static void add_raw_keys_and_values(struct plan_builder *b, size_t l, const struct plan_operands *o)
{
    const struct sm_layer_weights *w = &b->weights->layer[l];
    const bool value_is_key = plan_layer(b, l)->value_is_key;
    plan_matmul(b, o,
                &(struct plan_product){SM_LABEL_QKV, &w->k, value_is_key ? o->v : o->k, o->normed, NULL, PLAN_NORMED,
                                       value_is_key ? PLAN_V : PLAN_K});
    if (!value_is_key)
        plan_matmul(b, o, &(struct plan_product){SM_LABEL_QKV, &w->v, o->v, o->normed, NULL, PLAN_NORMED, PLAN_V});
}

/* The keys and values of this call's rows, in the KV type. */
static void add_keys_and_values(struct plan_builder *b, size_t l, const struct plan_operands *o)
{
    const struct sm_layer_weights *w = &b->weights->layer[l];
    const struct sm_layer_shape *a = plan_layer(b, l);
    const struct plan_now *now = &o->now[l];
    float *raw = a->value_is_key ? o->v : o->k;
    const unsigned raw_bit = a->value_is_key ? PLAN_V : PLAN_K;
    if (w->k_norm) {
        add_head_norm(b, l, o->k, raw, w->k_norm, a->kv_heads, raw_bit, PLAN_K);
        add_rope(b, l, o->k, o->k, a->kv_heads, PLAN_K, PLAN_K);
    } else {
        add_rope(b, l, o->k, raw, a->kv_heads, raw_bit, PLAN_K);
    }
    if (a->value_norm) add_head_norm(b, l, o->v, o->v, NULL, a->kv_heads, PLAN_V, PLAN_V);
    add_write(b, l, &(struct plan_rows){true, o->v, now->v, now->v_scale, PLAN_V, PLAN_NOW_V}, false);
    add_write(b, l, &(struct plan_rows){false, o->k, now->k, now->k_scale, PLAN_K, PLAN_NOW_K}, false);
}

void plan_add_attention(struct plan_builder *b, size_t l, const struct plan_operands *o, const float *x, float *y)
{
    const struct sm_layer_weights *w = &b->weights->layer[l];
    const struct sm_layer_shape *a = plan_layer(b, l);
    const struct sm_layer_cache *c = &b->cache->layer[l];
    const bool owner = a->kv_source == l;
    plan_norm_stream(b, o, x, w->attn_norm);
    plan_quantise(b, o, w->q.rows ? &w->q : w->k.rows ? &w->k : &w->v, o->normed, PLAN_NORMED);
    plan_matmul(b, o, &(struct plan_product){SM_LABEL_QKV, &w->q, o->q, o->normed, NULL, PLAN_NORMED, PLAN_Q});
    if (owner) add_raw_keys_and_values(b, l, o); /* with no barrier between the three */
    if (w->q_norm) add_head_norm(b, l, o->q, o->q, w->q_norm, a->heads, PLAN_Q, PLAN_Q);
    add_rope(b, l, o->q, o->q, a->heads, PLAN_Q, PLAN_Q);
    if (owner) add_keys_and_values(b, l, o);
    add_attention(b, l, o);
    if (owner) {
        add_write(b, l, &(struct plan_rows){false, o->k, c->k, c->k_scale, PLAN_K, PLAN_SLOTS_K}, true);
        add_write(b, l, &(struct plan_rows){true, o->v, c->v, c->v_scale, PLAN_V, PLAN_SLOTS_V}, true);
    }
    const struct plan_branch end = {.label = SM_LABEL_ATTENTION_OUT,
                                    .norm_label = SM_LABEL_POST_NORM,
                                    .w = &w->o,
                                    .norm = w->post_attn_norm,
                                    .input = o->mixed,
                                    .x = x,
                                    .y = y,
                                    .scale = 1,
                                    .reads = PLAN_MIXED};
    plan_end_branch(b, o, &end);
}
