/* A model from a GGUF file: the shape from its metadata, the tensors by their names. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map_file.h"
#include "model_gguf.h"
#include "model_open.h"
#include "sentence.h"

int gguf_refuse(const struct gguf_loader *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)sm_sentence(l->why, l->why_bytes, "loading", l->where, format, args);
    va_end(args);
    return -1;
}

/* The format that a tensor of ggml's type is in, or SM_FORMAT_NONE. */
static enum sm_format format_of(uint32_t type)
{
    static const enum sm_format formats[] = {
        [0] = SM_FORMAT_F32,   [1] = SM_FORMAT_F16,   [2] = SM_FORMAT_Q4_0,  [3] = SM_FORMAT_Q4_1,
        [6] = SM_FORMAT_Q5_0,  [7] = SM_FORMAT_Q5_1,  [8] = SM_FORMAT_Q8_0,  [10] = SM_FORMAT_Q2_K,
        [11] = SM_FORMAT_Q3_K, [12] = SM_FORMAT_Q4_K, [13] = SM_FORMAT_Q5_K, [14] = SM_FORMAT_Q6_K,
        [30] = SM_FORMAT_BF16};
    return type < sizeof formats / sizeof *formats ? formats[type] : SM_FORMAT_NONE;
}

/* The tensor of that name and shape. Absent ones are an error when they are needed. */
static int find(struct gguf_loader *l, const char *name, size_t rows, size_t cols, bool needed, struct sm_tensor *to)
{
    const struct sm_gguf_tensor *t = sm_gguf_tensor(&l->gguf, name);
    size_t elements, bytes;
    if (!t) return needed ? gguf_refuse(l, "there is no tensor %s", name) : 0;
    if (t->dims[0] != cols || t->dims[1] != rows || t->dims[2] != 1 || t->dims[3] != 1)
        return gguf_refuse(l, "tensor %s is %zu x %zu, not %zu x %zu", name, t->dims[1], t->dims[0], rows, cols);
    const enum sm_format format = format_of(t->type);
    if (format == SM_FORMAT_NONE)
        return gguf_refuse(l, "tensor %s is stored as %s, which is not read", name,
                           sm_ggml_type(t->type, &elements, &bytes));
    *to = (struct sm_tensor){t->data, format, rows, cols, t->bytes};
    l->model->parameters += (double)rows * (double)cols;
    return 0;
}

/* What a tensor is to a layer of this kind. */
enum use {
    UNKNOWN, /* nothing reads it: a file that has it means another model */
    UNUSED,  /* consumers of other layers' keys and values may carry their own; they are ignored */
    OPTIONAL,
    NEEDED,
};

struct named {
    const char *suffix;
    size_t rows, cols;
    enum use use;
};

/* The names of a layer's tensors (model-math: C.3). */
static void name_tensors(const struct sm_model_shape *s, const struct sm_layer_shape *a, bool owner,
                         struct named names[SM_LAYER_TENSORS])
{
    const size_t q = a->heads * a->head_dim, kv = a->kv_heads * a->head_dim, d = s->hidden, p = s->per_layer_width;
    const enum use kept = owner ? NEEDED : UNUSED, post = s->post_norms ? NEEDED : UNKNOWN;
    const enum use per_layer = p ? NEEDED : UNKNOWN;
    const struct named list[SM_LAYER_TENSORS] = {
        [SM_TENSOR_ATTN_NORM] = {"attn_norm.weight", 1, d, NEEDED},
        [SM_TENSOR_Q] = {"attn_q.weight", q, d, NEEDED},
        [SM_TENSOR_K] = {"attn_k.weight", kv, d, kept},
        [SM_TENSOR_V] = {"attn_v.weight", kv, d, a->value_is_key ? UNUSED : kept},
        [SM_TENSOR_O] = {"attn_output.weight", d, q, NEEDED},
        [SM_TENSOR_Q_BIAS] = {"attn_q.bias", 1, q, OPTIONAL},
        [SM_TENSOR_K_BIAS] = {"attn_k.bias", 1, kv, owner ? OPTIONAL : UNUSED},
        [SM_TENSOR_V_BIAS] = {"attn_v.bias", 1, kv, owner && !a->value_is_key ? OPTIONAL : UNUSED},
        [SM_TENSOR_O_BIAS] = {"attn_output.bias", 1, d, OPTIONAL},
        [SM_TENSOR_FFN_NORM] = {"ffn_norm.weight", 1, d, NEEDED},
        [SM_TENSOR_GATE] = {"ffn_gate.weight", a->ffn, d, NEEDED},
        [SM_TENSOR_UP] = {"ffn_up.weight", a->ffn, d, NEEDED},
        [SM_TENSOR_DOWN] = {"ffn_down.weight", d, a->ffn, NEEDED},
        [SM_TENSOR_GATE_BIAS] = {"ffn_gate.bias", 1, a->ffn, OPTIONAL},
        [SM_TENSOR_UP_BIAS] = {"ffn_up.bias", 1, a->ffn, OPTIONAL},
        [SM_TENSOR_DOWN_BIAS] = {"ffn_down.bias", 1, d, OPTIONAL},
        [SM_TENSOR_Q_NORM] = {"attn_q_norm.weight", 1, a->head_dim, s->qk_norm ? NEEDED : UNKNOWN},
        [SM_TENSOR_K_NORM] = {"attn_k_norm.weight", 1, a->head_dim, s->qk_norm ? kept : UNKNOWN},
        [SM_TENSOR_POST_ATTN_NORM] = {"post_attention_norm.weight", 1, d, post},
        [SM_TENSOR_POST_FFN_NORM] = {"post_ffw_norm.weight", 1, d, post},
        [SM_TENSOR_PER_LAYER_GATE] = {"inp_gate.weight", p, d, per_layer},
        [SM_TENSOR_PER_LAYER_PROJECTION] = {"proj.weight", d, p, per_layer},
        [SM_TENSOR_PER_LAYER_POST_NORM] = {"post_norm.weight", 1, d, per_layer},
        [SM_TENSOR_LAYER_SCALAR] = {"layer_output_scale.weight", 1, 1, s->layer_scalar ? OPTIONAL : UNKNOWN},
    };
    memcpy(names, list, sizeof list);
}

static int find_layer(struct gguf_loader *l, size_t i)
{
    const struct sm_model_shape *s = &l->model->shape;
    struct sm_layer_shape *a = &l->model->shape.layer[i];
    const bool owner = a->kv_source == i;
    static const char *const unread[] = {"attn_norm.bias", "ffn_norm.bias", "ffn_gate_inp.weight"};
    struct named names[SM_LAYER_TENSORS];
    char name[64];
    snprintf(name, sizeof name, "blk.%zu.attn_v.weight", i);
    /* A layer of Gemma 4 without values takes its keys for them: nothing else in the file says so. */
    a->value_is_key = owner && a->value_norm && !sm_gguf_tensor(&l->gguf, name);
    name_tensors(s, a, owner, names);
    for (size_t t = 0; t < SM_LAYER_TENSORS; t++) {
        snprintf(name, sizeof name, "blk.%zu.%s", i, names[t].suffix);
        if (names[t].use == UNKNOWN && sm_gguf_tensor(&l->gguf, name))
            return gguf_refuse(l, "it has a tensor %s, which is not run in a model of %s", name, s->arch);
        if (names[t].use >= OPTIONAL &&
            find(l, name, names[t].rows, names[t].cols, names[t].use == NEEDED, &l->model->layer[i].tensor[t]))
            return -1;
    }
    for (size_t t = 0; t < sizeof unread / sizeof *unread; t++) {
        snprintf(name, sizeof name, "blk.%zu.%s", i, unread[t]);
        if (sm_gguf_tensor(&l->gguf, name)) return gguf_refuse(l, "it has a tensor %s, which is not run", name);
    }
    return 0;
}

/* Gemma 4 says which pairs of its full layers rotate by divisors: one and the same for those that do, and so large a
 * one for the rest that their angle is nothing. */
static int read_partial_rotation(struct gguf_loader *l, const struct sm_gguf_tensor *freqs)
{
    struct sm_model_shape *s = &l->model->shape;
    const float nothing = 1e20f; /* files say 1e30 */
    for (size_t i = 0; i < s->layers; i++) {
        struct sm_layer_shape *a = &s->layer[i];
        if (a->window) continue;
        const size_t half = a->head_dim / 2;
        if (freqs->dims[0] != half || freqs->bytes != half * sizeof(float))
            return gguf_refuse(l, "tensor rope_freqs.weight has %zu divisors, and layer %zu rotates %zu pairs",
                               freqs->dims[0], i, half);
        float first = 0;
        a->rope_pairs = 0;
        for (size_t p = 0; p < half; p++) {
            float divisor;
            memcpy(&divisor, (const char *)freqs->data + p * sizeof divisor, sizeof divisor);
            if (!p) first = divisor;
            if (!(divisor > 0) || (divisor != first && divisor < nothing) || (p > a->rope_pairs && divisor < nothing))
                return gguf_refuse(l, "tensor rope_freqs.weight has a divisor of %g at pair %zu, which is not run",
                                   (double)divisor, p);
            a->rope_pairs += divisor < nothing;
        }
        if (a->rope_pairs) a->rope_factor = (double)first;
    }
    return 0;
}

static int find_rope_divisors(struct gguf_loader *l)
{
    const struct sm_model_shape *s = &l->model->shape;
    const struct sm_gguf_tensor *freqs = sm_gguf_tensor(&l->gguf, "rope_freqs.weight");
    if (!freqs) return 0;
    if (freqs->type != 0) return gguf_refuse(l, "tensor rope_freqs.weight is not F32");
    if (!strcmp(s->arch, "gemma4")) return read_partial_rotation(l, freqs);
    for (size_t i = 0; i < s->layers; i++)
        if (s->layer[i].head_dim != s->layer[0].head_dim || s->layer[i].window)
            return gguf_refuse(l, "rope_freqs fits only some of its layers");
    return find(l, "rope_freqs.weight", 1, s->layer[0].head_dim / 2, true, &l->model->rope_divisors);
}

static int find_tensors(struct gguf_loader *l)
{
    struct sm_model *m = l->model;
    const struct sm_model_shape *s = &m->shape;
    const size_t p = s->per_layer_width;
    if (find(l, "token_embd.weight", s->vocab, s->hidden, true, &m->embedding) ||
        find(l, "output_norm.weight", 1, s->hidden, true, &m->output_norm) ||
        find(l, "output.weight", s->vocab, s->hidden, !s->tied, &m->head) || find_rope_divisors(l))
        return -1;
    if (s->tied) m->head = m->embedding;
    if (p && (find(l, "per_layer_token_embd.weight", s->vocab, s->layers * p, true, &m->per_layer_table) ||
              find(l, "per_layer_model_proj.weight", s->layers * p, s->hidden, true, &m->per_layer_context) ||
              find(l, "per_layer_proj_norm.weight", 1, p, true, &m->per_layer_norm)))
        return -1;
    m->layer = calloc(s->layers, sizeof *m->layer);
    if (!m->layer) return gguf_refuse(l, "out of memory");
    for (size_t i = 0; i < s->layers; i++)
        if (find_layer(l, i)) return -1;
    m->paired_rows = !strcmp(s->arch, "llama");
    return 0;
}

static void count_formats(struct gguf_loader *l)
{
    size_t counts[64] = {0}, elements, bytes, used = 0;
    for (size_t i = 0; i < l->gguf.tensor_count; i++) counts[l->gguf.tensors[i].type % 64]++;
    for (uint32_t t = 0; t < 64; t++) {
        if (!counts[t] || used >= sizeof l->model->formats) continue;
        const int n = snprintf(l->model->formats + used, sizeof l->model->formats - used, "%s%s %zu", used ? ", " : "",
                               sm_ggml_type(t, &elements, &bytes), counts[t]);
        if (n > 0) used += (size_t)n;
    }
}

static int load(struct sm_model *model, const void *bytes, size_t count, const char *where, char *why, size_t why_bytes)
{
    struct gguf_loader l = {.model = model, .where = where, .why = why, .why_bytes = why_bytes};
    if (sm_gguf_parse(&l.gguf, bytes, count, where, why, why_bytes)) return -1;
    model->bytes = count;
    const int bad = gguf_read_shape(&l) || find_tensors(&l);
    if (!bad) count_formats(&l);
    sm_gguf_free(&l.gguf);
    return bad ? -1 : 0;
}

int sm_model_open_memory(struct sm_model **model, const void *bytes, size_t count, char *why, size_t why_bytes)
{
    struct sm_model *m = calloc(1, sizeof *m);
    if (!m) {
        snprintf(why, why_bytes, "loading a model from memory: out of memory");
        return -1;
    }
    if (load(m, bytes, count, "a model in memory", why, why_bytes)) {
        sm_model_close(m);
        return -1;
    }
    *model = m;
    return 0;
}

int sm_model_open_gguf(struct sm_model *m, char *why, size_t why_bytes)
{
    const char *problem;
    m->map = sm_map_file(m->file, &m->map_bytes, &problem);
    if (m->map) return load(m, m->map, m->map_bytes, m->file, why, why_bytes);
    snprintf(why, why_bytes, "loading %s: the file cannot be mapped (%s)", m->file, problem);
    return -1;
}
