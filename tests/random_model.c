#include "random_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "quant.h"
#include "random.h"

#define ALIGN 64

/* Walks the tensors twice: once for their sizes, once to fill them. */
struct maker {
    struct sm_model *model;
    enum sm_format format;
    unsigned features;
    struct sm_random random;
    char *base; /* NULL: sizes only */
    size_t used;
};

/* Features that the whole model has or has not. */
enum {
    HEAD_NORM = 1 << 0,
    POST_NORM = 1 << 1,
    SCALARS = 1 << 2,
    BIASES = 1 << 3,
};

static void fill(struct maker *k, const struct sm_tensor *t, void *to, float centre, double spread)
{
    float *x = to;
    struct sm_block_q8_0 *block = to;
    for (size_t i = 0; t->format == SM_FORMAT_F32 && i < t->rows * t->cols; i++)
        x[i] = centre + (float)spread * sm_random_normal(&k->random);
    for (size_t b = 0; t->format == SM_FORMAT_Q8_0 && b < t->rows * t->cols / SM_GROUP; b++) {
        block[b].d = sm_f32_to_f16((float)spread / 73);
        for (size_t i = 0; i < SM_GROUP; i++) block[b].q[i] = (int8_t)((int)sm_random_below(&k->random, 255) - 127);
    }
}

static void add(struct maker *k, struct sm_tensor *t, size_t rows, size_t cols, float centre, double spread)
{
    const enum sm_format format = rows > 1 ? k->format : SM_FORMAT_F32;
    const size_t elements = rows * cols;
    *t = (struct sm_tensor){.format = format, .rows = rows, .cols = cols};
    t->bytes = format == SM_FORMAT_F32 ? elements * sizeof(float) : elements / SM_GROUP * sizeof(struct sm_block_q8_0);
    if (k->base) {
        t->data = k->base + k->used;
        fill(k, t, k->base + k->used, centre, spread);
    }
    k->used += (t->bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static void add_matrix(struct maker *k, struct sm_tensor *t, size_t rows, size_t cols)
{
    add(k, t, rows, cols, 0, 1 / sqrt((double)cols));
}

static void add_norm(struct maker *k, struct sm_tensor *t, size_t cols)
{
    add(k, t, 1, cols, 1, 0.2);
}

static void add_layer(struct maker *k, size_t l)
{
    const struct sm_model_shape *s = &k->model->shape;
    const struct sm_layer_shape *a = &s->layer[l];
    struct sm_tensor *t = k->model->layer[l].tensor;
    const size_t q = a->heads * a->head_dim, kv = a->kv_heads * a->head_dim;
    const bool owner = a->kv_source == l;
    add_norm(k, &t[SM_TENSOR_ATTN_NORM], s->hidden);
    add_matrix(k, &t[SM_TENSOR_Q], q, s->hidden);
    if (owner) add_matrix(k, &t[SM_TENSOR_K], kv, s->hidden);
    if (owner && !a->value_is_key) add_matrix(k, &t[SM_TENSOR_V], kv, s->hidden);
    add_matrix(k, &t[SM_TENSOR_O], s->hidden, q);
    if (k->features & BIASES) {
        add(k, &t[SM_TENSOR_Q_BIAS], 1, q, 0, 0.3);
        if (owner) add(k, &t[SM_TENSOR_K_BIAS], 1, kv, 0, 0.3);
        add(k, &t[SM_TENSOR_O_BIAS], 1, s->hidden, 0, 0.3);
    }
    if (k->features & HEAD_NORM) {
        add_norm(k, &t[SM_TENSOR_Q_NORM], a->head_dim);
        if (owner) add_norm(k, &t[SM_TENSOR_K_NORM], a->head_dim);
    }
    add_norm(k, &t[SM_TENSOR_FFN_NORM], s->hidden);
    add_matrix(k, &t[SM_TENSOR_GATE], a->ffn, s->hidden);
    add_matrix(k, &t[SM_TENSOR_UP], a->ffn, s->hidden);
    add_matrix(k, &t[SM_TENSOR_DOWN], s->hidden, a->ffn);
    if (k->features & POST_NORM) {
        add_norm(k, &t[SM_TENSOR_POST_ATTN_NORM], s->hidden);
        add_norm(k, &t[SM_TENSOR_POST_FFN_NORM], s->hidden);
    }
    if (s->per_layer_width) {
        add_matrix(k, &t[SM_TENSOR_PER_LAYER_GATE], s->per_layer_width, s->hidden);
        add_matrix(k, &t[SM_TENSOR_PER_LAYER_PROJECTION], s->hidden, s->per_layer_width);
        add_norm(k, &t[SM_TENSOR_PER_LAYER_POST_NORM], s->hidden);
    }
    if (k->features & SCALARS) add(k, &t[SM_TENSOR_LAYER_SCALAR], 1, 1, 1, 0.1);
}

static void add_all(struct maker *k)
{
    struct sm_model *m = k->model;
    const struct sm_model_shape *s = &m->shape;
    add(k, &m->embedding, s->vocab, s->hidden, 0, 1);
    if (s->per_layer_width) {
        add(k, &m->per_layer_table, s->vocab, s->layers * s->per_layer_width, 0, 1);
        add_matrix(k, &m->per_layer_context, s->layers * s->per_layer_width, s->hidden);
        add_norm(k, &m->per_layer_norm, s->per_layer_width);
    }
    for (size_t l = 0; l < s->layers; l++) add_layer(k, l);
    add_norm(k, &m->output_norm, s->hidden);
    if (s->tied)
        m->head = m->embedding;
    else
        add_matrix(k, &m->head, s->vocab, s->hidden);
}

static bool flip(struct sm_random *r)
{
    return sm_random_below(r, 2);
}

/* A layer of its own kind; or, when there is an earlier one of some kind, another of that, perhaps with its keys. */
static void draw_layer(struct sm_model_shape *s, size_t l, bool per_layer, struct sm_random *r)
{
    struct sm_layer_shape *a = &s->layer[l];
    const uint32_t like = l ? sm_random_below(r, (uint32_t)l) : 0;
    if (l && flip(r)) {
        *a = s->layer[like];
        if (flip(r)) a->kv_source = l;
    } else {
        a->kv_heads = 1 + sm_random_below(r, 2);
        a->heads = a->kv_heads * (1 + sm_random_below(r, 3));
        a->head_dim = a->heads % 2 ? 32 : 16 * (1 + sm_random_below(r, 2)); /* rows of whole blocks */
        a->window = flip(r) ? 1 + sm_random_below(r, 10) : 0;
        a->kv_source = l;
        a->rope_theta = flip(r) ? 10000 : 100;
        a->rope_pairs = flip(r) ? a->head_dim / 2 : a->head_dim / 8;
        a->rope_factor = flip(r) ? 1 : 4;
        a->value_is_key = sm_random_below(r, 4) == 0;
        a->value_norm = sm_random_below(r, 3) == 0;
        a->attention_scale = (float)(1 / sqrt((double)a->head_dim) * (flip(r) ? 1 : 1.5));
        a->attention_softcap = flip(r) ? 3 + 5 * fabsf(sm_random_unit(r)) : 0;
    }
    a->ffn = 32 * (1 + sm_random_below(r, 3));
    if (per_layer && a->ffn < s->layers * s->per_layer_width) a->ffn = s->layers * s->per_layer_width;
}

static void draw_shape(struct sm_model_shape *s, struct sm_random *r)
{
    static const char *const archs[] = {"llama", "gemma2", "gemma3", "gemma4"};
    snprintf(s->name, sizeof s->name, "random");
    snprintf(s->arch, sizeof s->arch, "%s", archs[sm_random_below(r, 4)]);
    s->runs = true;
    s->tied = flip(r);
    s->hidden = 32 * (1 + sm_random_below(r, 2));
    s->vocab = 24 + sm_random_below(r, 40);
    s->context = 1024;
    s->eps = 1e-5f;
    s->embedding_scale = flip(r) ? sqrtf((float)s->hidden) : 1;
    s->final_softcap = flip(r) ? 5 : 0;
    s->activation = flip(r) ? SM_ACTIVATION_GELU : SM_ACTIVATION_SILU;
    s->layers = 1 + sm_random_below(r, 4);
    const bool per_layer = sm_random_below(r, 3) == 0;
    s->per_layer_width = per_layer ? 32 : 0;
    for (size_t l = 0; l < s->layers; l++) draw_layer(s, l, per_layer, r);
}

void random_model_create(struct random_model *m, uint64_t seed, enum sm_format format)
{
    struct maker k = {.model = &m->model, .format = format, .random = {seed ^ 0x5107}};
    char why[256];
    *m = (struct random_model){0};
    draw_shape(&m->model.shape, &k.random);
    if (sm_shape_check(&m->model.shape, why, sizeof why)) fail_msg("%s", why);
    for (unsigned bit = HEAD_NORM; bit <= BIASES; bit <<= 1)
        if (flip(&k.random)) k.features |= bit;
    if (!(k.features & POST_NORM)) k.features &= ~(unsigned)SCALARS; /* they scale the sum that a post norm ends with */
    m->model.layer = calloc(m->model.shape.layers, sizeof *m->model.layer);
    assert_non_null(m->model.layer);
    add_all(&k);
    m->memory = aligned_alloc(ALIGN, k.used);
    assert_non_null(m->memory);
    k.base = m->memory;
    k.used = 0;
    add_all(&k);
    m->model.synthetic = true;
}

void random_model_destroy(struct random_model *m)
{
    free(m->model.layer);
    free(m->memory);
}

const char *random_model_text(const struct random_model *m)
{
    static char text[512];
    const struct sm_model_shape *s = &m->model.shape;
    int n = snprintf(text, sizeof text, "hidden %zu, vocab %zu, %s", s->hidden, s->vocab,
                     s->per_layer_width ? "per-layer embeddings" : "plain");
    for (size_t l = 0; l < s->layers && n < (int)sizeof text; l++) {
        const struct sm_layer_shape *a = &s->layer[l];
        n += snprintf(text + n, sizeof text - (size_t)n, "; %zu/%zu heads of %zu, window %zu, keys of layer %zu",
                      a->heads, a->kv_heads, a->head_dim, a->window, a->kv_source);
    }
    return text;
}
