/* attention_workload_body.h - the workload of the attention families (workload.h), over the KV type SM_ATTENTION_KV.
 *
 * RANDOM   queries, keys and values near normal, scale 1 / sqrt(head_dim), all rows real; unused slots hold stale
 *          tokens, as after a longer session: the hardest case for a variant that wants to skip them.
 * EXACT    every key and every query is of one of eight classes and unlike classes are orthogonal, so that a logit
 *          is 0 or at least 256: weights are 0 or 1, sums are of small integers, and one division rounds. A row
 *          whose class is only in hidden slots attends to those, mask or no mask. With a softcap all logits are 0.
 * EXTREME  logits in the hundreds, zeros, subnormal halves, saturated int8 and int16, wide slot scales.
 *
 * But for RANDOM some rows are padding, whose answers must only be finite. */
#ifndef SM_ATTENTION_WORKLOAD_BODY_H
#define SM_ATTENTION_WORKLOAD_BODY_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention_judge_body.h"
#include "guard.h"
#include "mask_build/mask_build.h"
#include "random.h"
#include "workload.h"

#define CLASSES 8
#define ROW_PADDING 5 /* floats after each row of queries, mask and output that no kernel may write */

enum operand {
    OUT,
    PARTIAL, /* of one row */
    Q,
    MASK,
    K_PAST,
    V_PAST,
    K_NOW,
    V_NOW,
    K_PAST_SCALE,
    V_PAST_SCALE,
    K_NOW_SCALE,
    V_NOW_SCALE,
    K_PAST_BLOCKS, /* the same keys in the layout keys16 */
    K_NOW_BLOCKS,
    OPERANDS
};

struct work {
    enum sm_regime regime;
    uint64_t seed;
    struct sm_guarded operand[OPERANDS];
    uint64_t hash[OPERANDS];
    struct sm_attention args, in_blocks; /* the second with keys16 */
};

static size_t past_of(const struct sm_shape *s)
{
    return (size_t)(s->dim[SM_ATTENTION_MAX_SEQ] - s->dim[SM_ATTENTION_ROWS]);
}

static const char *refuse(const struct sm_shape *s)
{
    if (s->dim[SM_ATTENTION_ROWS] > s->dim[SM_ATTENTION_MAX_SEQ]) return "rows is larger than max_seq";
    if (s->dim[SM_ATTENTION_VALID] > (int64_t)past_of(s)) return "valid is larger than the past, max_seq - rows";
    if (s->dim[SM_ATTENTION_HEAD_DIM] % 8) return "head_dim is not a multiple of 8";
    if (s->dim[SM_ATTENTION_HEADS] % s->dim[SM_ATTENTION_KV_HEADS]) return "heads is not a multiple of kv_heads";
    return NULL;
}

static void destroy(void *work)
{
    struct work *k = work;
    if (!k) return;
    for (size_t i = 0; i < OPERANDS; i++) sm_guarded_destroy(&k->operand[i]);
    free(k);
}

/* The scale of all int16 elements of a regime, which saturate in the extreme one. */
static float tensor_scale(enum sm_regime regime)
{
    return regime == SM_REGIME_EXACT ? 0.5f : regime == SM_REGIME_EXTREME ? 40.0f / 32768 : 4.0f / 32767;
}

/* One slot of keys or values: its elements, and its scale where the type has one for each slot. */
static void fill_slot(attention_element *e, float *scale, size_t head_dim, enum sm_regime regime, int is_key,
                      struct sm_random *r)
{
    static const float sizes[] = {0, 0x1p-20f, 1, 8, 40};
    const float size = regime == SM_REGIME_EXTREME ? sizes[sm_random_below(r, 5)] : 1;
    const size_t class = sm_random_below(r, CLASSES);
    const float step = SM_ATTENTION_KV == 15         ? tensor_scale(regime)
                       : SM_ATTENTION_KV != 8        ? 1
                       : regime == SM_REGIME_EXACT   ? (float)(1u << sm_random_below(r, 3)) * 0.5f
                       : regime == SM_REGIME_EXTREME ? (size == 0 ? 0x1p-100f : size / 127)
                                                     : 0.015f + 0.01f * sm_random_unit(r);
    if (scale) *scale = step;
    for (size_t d = 0; d < head_dim; d++) {
        float x;
        if (regime == SM_REGIME_EXACT)
            x = is_key ? (d % CLASSES == class ? 16.0f : 0.0f) : (float)((int)sm_random_below(r, 7) - 3) * step;
        else if (regime == SM_REGIME_EXTREME)
            x = size * (float)((int)sm_random_below(r, 3) - 1);
        else
            x = sm_random_normal(r);
#if SM_ATTENTION_KV == 32
        e[d] = x;
#elif SM_ATTENTION_KV == 16
        e[d] = sm_f32_to_f16(x);
#else
        const float n = roundf(x / step), most = SM_ATTENTION_KV == 15 ? 32767 : 127,
                    least = -(SM_ATTENTION_KV == 15 ? 32768 : 127);
        e[d] = (attention_element)(n > most ? most : n < least ? least : n);
#endif
    }
}

/* Slots beyond `slots` of each head's stride belong to nobody: they stay poison, a NaN where the type has one. */
static int fill_segment(struct work *k, enum operand data, enum operand scale, struct sm_kv *kv, size_t slots,
                        size_t stride_slots, int is_key, struct sm_random *r)
{
    const struct sm_attention *a = &k->args;
    const size_t elements = a->kv_heads * stride_slots * a->head_dim;
    if (sm_guarded_create(&k->operand[data], elements * sizeof(attention_element), sizeof(attention_element)))
        return -1;
    sm_guarded_poison(&k->operand[data]);
    *kv = (struct sm_kv){.data = k->operand[data].data, .head_stride = stride_slots * a->head_dim};
    if (SM_ATTENTION_KV == 8) {
        if (sm_guarded_create(&k->operand[scale], a->kv_heads * stride_slots * sizeof(float), sizeof(float))) return -1;
        sm_guarded_poison(&k->operand[scale]);
        kv->scale = k->operand[scale].data;
        kv->scale_stride = stride_slots;
    }
    if (SM_ATTENTION_KV == 15) {
        if (sm_guarded_create(&k->operand[scale], sizeof(float), sizeof(float))) return -1;
        kv->scale = k->operand[scale].data;
        *(float *)k->operand[scale].data = tensor_scale(k->regime);
    }
    for (size_t g = 0; g < a->kv_heads; g++)
        for (size_t slot = 0; slot < slots; slot++)
            fill_slot((attention_element *)k->operand[data].data + (g * stride_slots + slot) * a->head_dim,
                      SM_ATTENTION_KV == 8 ? (float *)k->operand[scale].data + g * stride_slots + slot : NULL,
                      a->head_dim, k->regime, is_key, r);
    return 0;
}

static void fill_queries(struct work *k, struct sm_random *r)
{
    static const float sizes[] = {0, 0x1p-10f, 1, 8};
    const struct sm_attention *a = &k->args;
    for (size_t row = 0; row < a->rows; row++)
        for (size_t h = 0; h < a->heads; h++) {
            float *q = (float *)k->operand[Q].data + row * a->q_stride + h * a->head_dim;
            const size_t class = sm_random_below(r, CLASSES);
            const float size = sizes[sm_random_below(r, 4)];
            for (size_t d = 0; d < a->head_dim; d++) switch (k->regime) {
                case SM_REGIME_EXACT: q[d] = a->softcap > 0 ? 0.0f : d % CLASSES == class ? 16.0f : 0.0f; break;
                case SM_REGIME_EXTREME: q[d] = size * sm_random_unit(r); break;
                default: q[d] = sm_random_normal(r);
                }
        }
}

static int fill_mask(struct work *k, const struct sm_shape *s, struct sm_random *r)
{
    const struct sm_attention *a = &k->args;
    const int64_t valid = s->dim[SM_ATTENTION_VALID];
    const struct sm_mask_build build = {
        .mask = k->operand[MASK].data,
        .mask_stride = a->mask_stride,
        .rows = a->now,
        .past = a->past,
        .past_valid = valid < 0 ? a->past : (size_t)valid,
        .valid = k->regime == SM_REGIME_RANDOM ? a->rows : 1 + sm_random_below(r, (uint32_t)a->rows),
        .window = (size_t)s->dim[SM_ATTENTION_WINDOW],
        .fill = -120};
    sm_mask_build_ref(&build, sm_part_whole(a->now, a->past + a->now));
    return 0;
}

static int fill_operands(struct work *k, const struct sm_shape *s)
{
    struct sm_attention *a = &k->args;
    struct sm_random r = {k->seed};
    /* the cache has max_seq - 1 slots, of which a bucket passes the first max_seq - rows */
    const size_t cache_slots = a->past + a->now - 1;
    if (sm_guarded_create(&k->operand[OUT], a->rows * a->out_stride * sizeof(float), 4) ||
        sm_guarded_create(&k->operand[Q], a->rows * a->q_stride * sizeof(float), 4) ||
        sm_guarded_create(&k->operand[MASK], a->rows * a->mask_stride * sizeof(float), 4))
        return -1;
    const size_t partial = a->rows == 1 ? sm_attention_partial_bytes(a->heads, a->kv_heads, a->head_dim) : 0;
    if (partial && sm_guarded_create(&k->operand[PARTIAL], partial, 64)) return -1;
    a->out = k->operand[OUT].data;
    a->partial = k->operand[PARTIAL].data;
    a->q = k->operand[Q].data;
    a->mask = k->operand[MASK].data;
    fill_queries(k, &r);
    if (fill_segment(k, K_PAST, K_PAST_SCALE, &a->k_past, a->past, cache_slots, 1, &r) ||
        fill_segment(k, V_PAST, V_PAST_SCALE, &a->v_past, a->past, cache_slots, 0, &r) ||
        fill_segment(k, K_NOW, K_NOW_SCALE, &a->k_now, a->now, a->now, 1, &r) ||
        fill_segment(k, V_NOW, V_NOW_SCALE, &a->v_now, a->now, a->now, 0, &r))
        return -1;
    return fill_mask(k, s, &r);
}

static void *create(const struct sm_shape *s, enum sm_regime regime, uint64_t seed)
{
    struct work *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    k->regime = regime;
    k->seed = seed;
    const size_t rows = (size_t)s->dim[SM_ATTENTION_ROWS], heads = (size_t)s->dim[SM_ATTENTION_HEADS];
    const size_t head_dim = (size_t)s->dim[SM_ATTENTION_HEAD_DIM];
    k->args = (struct sm_attention){
        .out_stride = heads * head_dim + ROW_PADDING,
        .q_stride = heads * head_dim + ROW_PADDING,
        .mask_stride = (size_t)s->dim[SM_ATTENTION_MAX_SEQ] + ROW_PADDING,
        .rows = rows,
        .heads = heads,
        .kv_heads = (size_t)s->dim[SM_ATTENTION_KV_HEADS],
        .head_dim = head_dim,
        .past = past_of(s),
        .now = rows,
        .scale = regime == SM_REGIME_EXACT ? 1 : 1 / sqrtf((float)head_dim),
        .softcap = (float)s->dim[SM_ATTENTION_SOFTCAP],
    };
    if (fill_operands(k, s)) {
        destroy(k);
        return NULL;
    }
    for (size_t i = Q; i < OPERANDS; i++)
        if (k->operand[i].map) k->hash[i] = sm_guarded_hash(&k->operand[i]);
    return k;
}

/* The keys of a segment in blocks of 16 slots, `first` of them before the segment's own. All slots of the blocks that
 * it touches hold a token; blocks beyond belong to nobody. */
static int lay_in_blocks(struct work *k, enum operand data, struct sm_kv *kv, size_t first, size_t slots,
                         size_t stride_slots, struct sm_random *r)
{
    const struct sm_attention *a = &k->args;
    const size_t block = SM_CACHE_WRITE_BLOCK, whole = (first + slots + block - 1) / block * block;
    const struct sm_kv from = *kv;
    attention_element stale[SM_ATTENTION_MAX_HEAD_DIM];
    float scale;
    kv->head_stride = sm_blocks16_elements(first + stride_slots, a->head_dim, ATTENTION_TOGETHER) +
                      (k->regime == SM_REGIME_RANDOM ? 0 : (size_t)(k->seed % 2));
    if (sm_guarded_create(&k->operand[data], a->kv_heads * kv->head_stride * sizeof(attention_element),
                          sizeof(attention_element)))
        return -1;
    sm_guarded_poison(&k->operand[data]);
    kv->data = k->operand[data].data;
    for (size_t g = 0; g < a->kv_heads; g++)
        for (size_t slot = 0; slots && slot < whole; slot++) {
            attention_element *to = (attention_element *)k->operand[data].data + g * kv->head_stride;
            const attention_element *e = stale;
            if (slot >= first && slot < first + slots)
                e = (const attention_element *)from.data + g * from.head_stride + (slot - first) * a->head_dim;
            else
                fill_slot(stale, &scale, a->head_dim, k->regime, 1, r);
            for (size_t d = 0; d < a->head_dim; d++)
                to[sm_blocks16_at(slot, d, a->head_dim, ATTENTION_TOGETHER)] = e[d];
        }
    k->hash[data] = sm_guarded_hash(&k->operand[data]);
    return 0;
}

static const void *prepare(void *work, const struct sm_variant *variant)
{
    struct work *k = work;
    const struct sm_attention *a = &k->args;
    sm_guarded_poison(&k->operand[OUT]);
    if (a->partial) memset(a->partial, 0, k->operand[PARTIAL].bytes);
    if (strcmp(variant->layout->name, "keys16")) return a;
    if (k->operand[K_NOW_BLOCKS].map) return &k->in_blocks;
    struct sm_random r = {k->seed ^ 0xb10c};
    k->in_blocks = *a;
    k->in_blocks.past_first = k->regime == SM_REGIME_RANDOM ? 0 : (size_t)(k->seed % SM_CACHE_WRITE_BLOCK);
    if (lay_in_blocks(k, K_PAST_BLOCKS, &k->in_blocks.k_past, k->in_blocks.past_first, a->past, a->past + a->now - 1,
                      &r) ||
        lay_in_blocks(k, K_NOW_BLOCKS, &k->in_blocks.k_now, 0, a->now, a->now, &r))
        return NULL;
    return &k->in_blocks;
}

static double ops(const struct sm_shape *s)
{
    return 2.0 * (double)s->dim[SM_ATTENTION_ROWS] * (double)s->dim[SM_ATTENTION_MAX_SEQ] *
           (double)s->dim[SM_ATTENTION_HEADS] * (double)s->dim[SM_ATTENTION_HEAD_DIM];
}

static double error(void *work, const struct sm_variant *variant)
{
    const struct work *k = work;
    return attention_error(&k->args, k->regime, k->seed,
                           strcmp(variant->layout->name, "keys16") ? 0 : k->in_blocks.past_first);
}

static const char *damage(void *work)
{
    struct work *k = work;
    const struct sm_attention *a = &k->args;
    for (size_t i = 0; i < OPERANDS; i++) {
        if (!k->operand[i].map) continue;
        if (sm_guarded_intact(&k->operand[i])) return i < Q ? "wrote outside the output" : "changed an input";
        if (i >= Q && sm_guarded_hash(&k->operand[i]) != k->hash[i]) return "changed an input";
    }
    for (size_t r = 0; r < a->rows; r++) {
        const uint8_t *p = (const uint8_t *)(a->out + r * a->out_stride + a->heads * a->head_dim);
        for (size_t i = 0; i < ROW_PADDING * sizeof(float); i++)
            if (p[i] != 0xff) return "wrote between the rows of the output";
    }
    return NULL;
}

/* Keys and values once each, with their scales; queries, mask and output once. */
static double bytes(const struct sm_shape *s)
{
    const double rows = (double)s->dim[SM_ATTENTION_ROWS], columns = (double)s->dim[SM_ATTENTION_MAX_SEQ];
    const double slot =
        (double)s->dim[SM_ATTENTION_HEAD_DIM] * sizeof(attention_element) + (SM_ATTENTION_KV == 8 ? sizeof(float) : 0);
    return 2 * (double)s->dim[SM_ATTENTION_KV_HEADS] * columns * slot +
           sizeof(float) * rows *
               (2 * (double)s->dim[SM_ATTENTION_HEADS] * (double)s->dim[SM_ATTENTION_HEAD_DIM] + columns);
}

static size_t footprint(const struct sm_shape *s)
{
    return (size_t)bytes(s);
}

#define ATTENTION_WORKLOAD(family_name)                                                                                \
    {                                                                                                                  \
        .family = family_name, .refuse = refuse, .create = create, .prepare = prepare, .error = error,                 \
        .damage = damage, .ops = ops, .bytes = bytes, .ops_unit = "multiply-adds", .footprint = footprint,             \
        .destroy = destroy,                                                                                            \
    }

#endif
