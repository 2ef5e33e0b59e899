#include "hf_tensors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sentence.h"

#define NAME_BYTES 160

int hf_refuse(const struct hf_loader *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)sm_sentence(l->why, l->why_bytes, "loading", l->where, format, args);
    va_end(args);
    return -1;
}

static int by_name(const void *key, const void *entry)
{
    return strcmp(key, (*(const struct sm_safetensor *const *)entry)->name);
}

static const struct sm_safetensor *find(const struct hf_loader *l, const char *prefix, const char *name)
{
    char full[NAME_BYTES];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const struct sm_safetensor **t = l->count ? bsearch(full, l->tensors, l->count, sizeof *l->tensors, by_name) : NULL;
    return t ? *t : NULL;
}

/* What checkpoints put before the names of a text decoder: the one that this file uses. */
static const char *prefix_of(const struct hf_loader *l)
{
    static const char *const all[] = {"model.", "", "model.language_model.", "language_model.model."};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!find(l, all[i], "embed_tokens.weight")) continue;
        if (found) {
            (void)hf_refuse(l, "it has both %sembed_tokens.weight and %sembed_tokens.weight", found, all[i]);
            return NULL;
        }
        found = all[i];
    }
    if (!found) (void)hf_refuse(l, "there is no tensor model.embed_tokens.weight");
    return found;
}

/* A matrix, or a vector when rows is 0. */
static int take(struct hf_loader *l, const char *prefix, const char *name, size_t rows, size_t cols,
                struct sm_tensor *to)
{
    static const enum sm_format formats[SM_SAFETENSORS_TYPES] = {[SM_SAFETENSORS_F32] = SM_FORMAT_F32,
                                                                 [SM_SAFETENSORS_F16] = SM_FORMAT_F16,
                                                                 [SM_SAFETENSORS_BF16] = SM_FORMAT_BF16};
    const struct sm_safetensor *t = find(l, prefix, name);
    if (!t) return hf_refuse(l, "there is no tensor %s%s", prefix, name);
    if (t->rank != (rows ? 2u : 1u))
        return hf_refuse(l, "tensor %s has %zu axes, not %d", t->name, t->rank, rows ? 2 : 1);
    if (rows && (t->sizes[0] != rows || t->sizes[1] != cols))
        return hf_refuse(l, "tensor %s is %zu x %zu, not %zu x %zu", t->name, t->sizes[0], t->sizes[1], rows, cols);
    if (!rows && t->sizes[0] != cols)
        return hf_refuse(l, "tensor %s has %zu elements, not %zu", t->name, t->sizes[0], cols);
    if (formats[t->type] == SM_FORMAT_NONE)
        return hf_refuse(l, "tensor %s is stored as %s; F32, F16 and BF16 are run", t->name,
                         sm_safetensors_type_name(t->type));
    *to = (struct sm_tensor){t->data, formats[t->type], rows ? rows : 1, cols, t->bytes};
    l->model->parameters += (double)to->rows * (double)cols;
    return 0;
}

/* A tensor that a layer of some architecture has. */
struct wanted {
    const char *name;
    size_t rows, cols; /* rows 0: a vector */
    bool here;         /* this layer has it */
};

static void list_attention(const struct hf_loader *l, size_t i, struct wanted *w)
{
    const struct sm_model_shape *s = &l->config->shape;
    const struct sm_layer_shape *a = &s->layer[i];
    const size_t q = a->heads * a->head_dim, kv = a->kv_heads * a->head_dim, d = s->hidden;
    const bool owns = a->kv_source == i, values = owns && !a->value_is_key, bias = l->config->attention_bias;
    w[SM_TENSOR_Q] = (struct wanted){"self_attn.q_proj.weight", q, d, true};
    w[SM_TENSOR_K] = (struct wanted){"self_attn.k_proj.weight", kv, d, owns};
    w[SM_TENSOR_V] = (struct wanted){"self_attn.v_proj.weight", kv, d, values};
    w[SM_TENSOR_O] = (struct wanted){"self_attn.o_proj.weight", d, q, true};
    w[SM_TENSOR_Q_BIAS] = (struct wanted){"self_attn.q_proj.bias", 0, q, bias};
    w[SM_TENSOR_K_BIAS] = (struct wanted){"self_attn.k_proj.bias", 0, kv, bias && owns};
    w[SM_TENSOR_V_BIAS] = (struct wanted){"self_attn.v_proj.bias", 0, kv, bias && values};
    w[SM_TENSOR_O_BIAS] = (struct wanted){"self_attn.o_proj.bias", 0, d, bias};
    w[SM_TENSOR_Q_NORM] = (struct wanted){"self_attn.q_norm.weight", 0, a->head_dim, s->qk_norm};
    w[SM_TENSOR_K_NORM] = (struct wanted){"self_attn.k_norm.weight", 0, a->head_dim, s->qk_norm && owns};
}

static void list_layer(const struct hf_loader *l, size_t i, struct wanted *w)
{
    const struct sm_model_shape *s = &l->config->shape;
    const size_t d = s->hidden, ffn = s->layer[i].ffn, p = s->per_layer_width;
    const bool branches = s->post_norms, bias = l->config->mlp_bias;
    list_attention(l, i, w);
    w[SM_TENSOR_ATTN_NORM] = (struct wanted){"input_layernorm.weight", 0, d, true};
    /* Llama's norm before the MLP has the name of Gemma's norm after attention. */
    w[SM_TENSOR_FFN_NORM] =
        (struct wanted){branches ? "pre_feedforward_layernorm.weight" : "post_attention_layernorm.weight", 0, d, true};
    w[SM_TENSOR_POST_ATTN_NORM] = (struct wanted){"post_attention_layernorm.weight", 0, d, branches};
    w[SM_TENSOR_POST_FFN_NORM] = (struct wanted){"post_feedforward_layernorm.weight", 0, d, branches};
    w[SM_TENSOR_GATE] = (struct wanted){"mlp.gate_proj.weight", ffn, d, true};
    w[SM_TENSOR_UP] = (struct wanted){"mlp.up_proj.weight", ffn, d, true};
    w[SM_TENSOR_DOWN] = (struct wanted){"mlp.down_proj.weight", d, ffn, true};
    w[SM_TENSOR_GATE_BIAS] = (struct wanted){"mlp.gate_proj.bias", 0, ffn, bias};
    w[SM_TENSOR_UP_BIAS] = (struct wanted){"mlp.up_proj.bias", 0, ffn, bias};
    w[SM_TENSOR_DOWN_BIAS] = (struct wanted){"mlp.down_proj.bias", 0, d, bias};
    w[SM_TENSOR_PER_LAYER_GATE] = (struct wanted){"per_layer_input_gate.weight", p, d, p > 0};
    w[SM_TENSOR_PER_LAYER_PROJECTION] = (struct wanted){"per_layer_projection.weight", d, p, p > 0};
    w[SM_TENSOR_PER_LAYER_POST_NORM] = (struct wanted){"post_per_layer_input_norm.weight", 0, d, p > 0};
    w[SM_TENSOR_LAYER_SCALAR] = (struct wanted){"layer_scalar", 0, 1, s->layer_scalar};
}

/* Whether a tensor of a layer may be there: it is read, or it is known to do nothing. */
static bool expected(const struct hf_loader *l, size_t i, const char *name)
{
    static const char *const unused[] = {"self_attn.k_proj.weight", "self_attn.v_proj.weight", "self_attn.k_proj.bias",
                                         "self_attn.v_proj.bias", "self_attn.k_norm.weight"};
    struct wanted w[SM_LAYER_TENSORS];
    list_layer(l, i, w);
    for (size_t t = 0; t < SM_LAYER_TENSORS; t++)
        if (w[t].here && !strcmp(name, w[t].name)) return true;
    const bool owns = l->config->shape.layer[i].kv_source == i;
    for (size_t t = 0; t < sizeof unused / sizeof *unused && !owns; t++)
        if (!strcmp(name, unused[t])) return true;
    return !strcmp(name, "self_attn.rotary_emb.inv_freq"); /* of older files: a table that follows from the config */
}

static int check_unread(const struct hf_loader *l, const char *prefix)
{
    char start[NAME_BYTES];
    const size_t length = (size_t)snprintf(start, sizeof start, "%slayers.", prefix);
    for (size_t t = 0; t < l->count; t++) {
        const char *name = l->tensors[t]->name;
        char *end;
        if (strncmp(name, start, length)) continue;
        const unsigned long layer = strtoul(name + length, &end, 10);
        if (layer >= l->config->shape.layers || *end != '.')
            return hf_refuse(l, "it has a tensor %.80s, and its config %zu layers", name, l->config->shape.layers);
        if (!expected(l, layer, end + 1)) return hf_refuse(l, "it has a tensor %.80s, which is not run", name);
    }
    return 0;
}

static int take_layer(struct hf_loader *l, const char *prefix, size_t i)
{
    struct wanted w[SM_LAYER_TENSORS];
    char start[NAME_BYTES];
    list_layer(l, i, w);
    snprintf(start, sizeof start, "%slayers.%zu.", prefix, i);
    for (size_t t = 0; t < SM_LAYER_TENSORS; t++)
        if (w[t].here && take(l, start, w[t].name, w[t].rows, w[t].cols, &l->model->layer[i].tensor[t])) return -1;
    return 0;
}

int hf_find_tensors(struct hf_loader *l)
{
    struct sm_model *m = l->model;
    const struct sm_model_shape *s = &m->shape;
    const char *prefix = prefix_of(l);
    const size_t p = s->per_layer_width, all = p * s->layers;
    if (!prefix || take(l, prefix, "embed_tokens.weight", s->vocab, s->hidden, &m->embedding) ||
        take(l, prefix, "norm.weight", 0, s->hidden, &m->output_norm))
        return -1;
    const char *before = find(l, "", "lm_head.weight") ? "" : "language_model."; /* its own prefix is shorter */
    if (!s->tied &&
        take(l, find(l, before, "lm_head.weight") ? before : "", "lm_head.weight", s->vocab, s->hidden, &m->head))
        return -1;
    if (s->tied) m->head = m->embedding;
    if (p && (take(l, prefix, "embed_tokens_per_layer.weight", s->vocab, all, &m->per_layer_table) ||
              take(l, prefix, "per_layer_model_projection.weight", all, s->hidden, &m->per_layer_context) ||
              take(l, prefix, "per_layer_projection_norm.weight", 0, p, &m->per_layer_norm)))
        return -1;
    m->layer = calloc(s->layers, sizeof *m->layer);
    if (!m->layer) return hf_refuse(l, "out of memory");
    for (size_t i = 0; i < s->layers; i++)
        if (take_layer(l, prefix, i)) return -1;
    return check_unread(l, prefix);
}
