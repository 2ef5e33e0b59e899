/* A model of a shape from a seed: blocks are made directly, in the format asked for. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "free_memory.h"
#include "model.h"
#include "quant.h"
#include "random.h"

#define ALIGN 64

static size_t row_bytes(enum sm_format format, size_t cols)
{
    switch (format) {
    case SM_FORMAT_F32: return cols * sizeof(float);
    case SM_FORMAT_Q4_0: return cols / SM_GROUP * sizeof(struct sm_block_q4_0);
    case SM_FORMAT_Q4_1: return cols / SM_GROUP * sizeof(struct sm_block_q4_1);
    case SM_FORMAT_Q8_0: return cols / SM_GROUP * sizeof(struct sm_block_q8_0);
    default: return 0;
    }
}

bool sm_model_synthesises(enum sm_format format)
{
    return row_bytes(format, SM_GROUP) != 0;
}

static void fill_random(struct sm_random *random, void *to, size_t bytes)
{
    unsigned char *at = to;
    for (; bytes >= 8; at += 8, bytes -= 8) {
        const uint64_t x = sm_random_u64(random);
        memcpy(at, &x, 8);
    }
}

static void fill_floats(float *to, size_t count, double spread, struct sm_random *random)
{
    for (size_t i = 0; i < count; i++) to[i] = sm_random_unit(random) * (float)(spread * 1.7320508);
}

/* Elements of standard deviation `spread`: uniform nibbles have one of 4.61, uniform bytes one of 73.6. Block scales
 * differ by a factor of up to 2, so that groups count. */
static void fill_blocks(const struct sm_tensor *t, void *to, size_t first, size_t end, double spread,
                        struct sm_random *random)
{
    for (size_t b = first; b < end; b++) {
        const double scale = spread * (0.67 + 0.67 * (double)(sm_random_below(random, 1024)) / 1024);
        if (t->format == SM_FORMAT_Q4_0) {
            struct sm_block_q4_0 *block = (struct sm_block_q4_0 *)to + b;
            block->d = sm_f32_to_f16((float)(scale / 4.61));
            fill_random(random, block->q, sizeof block->q);
        } else if (t->format == SM_FORMAT_Q4_1) {
            struct sm_block_q4_1 *block = (struct sm_block_q4_1 *)to + b;
            block->d = sm_f32_to_f16((float)(scale / 4.61));
            block->m = sm_f32_to_f16((float)(scale / 4.61 * -7.5));
            fill_random(random, block->q, sizeof block->q);
        } else {
            struct sm_block_q8_0 *block = (struct sm_block_q8_0 *)to + b;
            block->d = sm_f32_to_f16((float)(scale / 73.6));
            fill_random(random, block->q, sizeof block->q);
            for (size_t i = 0; i < SM_GROUP; i++)                      /* written always, which vectors can do */
                block->q[i] = block->q[i] == -128 ? 127 : block->q[i]; /* quantisers never give it */
        }
    }
}

/* Walks the tensors twice: once for their sizes, once to fill them. */
struct builder {
    struct sm_model *model;
    const struct sm_synthetic *how;
    char *base; /* NULL: sizes only */
    size_t used, matrices, vectors;
    struct sm_random random;
};

/* Room for a tensor of rows x cols, its shape set; NULL when only sizes are counted. */
static void *add(struct builder *b, struct sm_tensor *t, enum sm_format format, size_t rows, size_t cols)
{
    char *to = b->base ? b->base + b->used : NULL;
    *t = (struct sm_tensor){to, format, rows, cols, rows * row_bytes(format, cols)};
    b->used += (t->bytes + ALIGN - 1) / ALIGN * ALIGN;
    return to;
}

/* All tensors before `end` are there, and this one up to there. */
static void tell_made(const struct builder *b, const char *end)
{
    if (b->how->made) b->how->made(b->how->made_state, (double)(end - b->base) / (double)b->model->map_bytes);
}

static void fill_matrix(struct builder *b, const struct sm_tensor *t, char *to, double spread)
{
    enum { AT_ONCE = 1 << 18 };
    const size_t blocks = t->format == SM_FORMAT_F32 ? 0 : t->rows * (t->cols / SM_GROUP);
    if (!blocks) fill_floats((float *)(void *)to, t->rows * t->cols, spread, &b->random);
    for (size_t first = 0; first < blocks; first += AT_ONCE) {
        const size_t last = first + AT_ONCE < blocks ? first + AT_ONCE : blocks;
        fill_blocks(t, to, first, last, spread, &b->random);
        tell_made(b, to + row_bytes(t->format, last * SM_GROUP));
    }
    if (!blocks) tell_made(b, to + t->bytes);
}

static void add_spread(struct builder *b, struct sm_tensor *t, size_t rows, size_t cols, double spread)
{
    void *to = add(b, t, b->how->format, rows, cols);
    if (to) fill_matrix(b, t, to, spread);
    b->matrices++;
}

/* A matrix that keeps the size of what it multiplies. */
static void add_matrix(struct builder *b, struct sm_tensor *t, size_t rows, size_t cols)
{
    add_spread(b, t, rows, cols, 1 / sqrt((double)cols));
}

/* Elements near `mean`: the weights of a norm, or a scalar. */
static void add_vector(struct builder *b, struct sm_tensor *t, size_t cols, double mean)
{
    float *to = add(b, t, SM_FORMAT_F32, 1, cols);
    for (size_t i = 0; to && i < cols; i++) to[i] = (float)mean * (1 + 0.1f * sm_random_unit(&b->random));
    b->vectors++;
}

static void add_attention(struct builder *b, const struct sm_layer_shape *a, struct sm_tensor *t, bool owner)
{
    const struct sm_model_shape *s = &b->model->shape;
    const size_t q = a->heads * a->head_dim, kv = a->kv_heads * a->head_dim;
    add_matrix(b, &t[SM_TENSOR_Q], q, s->hidden);
    if (owner) add_matrix(b, &t[SM_TENSOR_K], kv, s->hidden);
    if (owner && !a->value_is_key) add_matrix(b, &t[SM_TENSOR_V], kv, s->hidden);
    add_matrix(b, &t[SM_TENSOR_O], s->hidden, q);
    if (!s->qk_norm) return;
    /* Scores of order one, whatever they are scaled by. */
    const double mean = 1 / sqrt((double)a->attention_scale * sqrt((double)a->head_dim));
    add_vector(b, &t[SM_TENSOR_Q_NORM], a->head_dim, mean);
    if (owner) add_vector(b, &t[SM_TENSOR_K_NORM], a->head_dim, mean);
}

static void add_layer(struct builder *b, size_t l)
{
    const struct sm_model_shape *s = &b->model->shape;
    const struct sm_layer_shape *a = &s->layer[l];
    struct sm_tensor *t = b->model->layer[l].tensor;
    add_vector(b, &t[SM_TENSOR_ATTN_NORM], s->hidden, 1);
    add_attention(b, a, t, a->kv_source == l);
    add_vector(b, &t[SM_TENSOR_FFN_NORM], s->hidden, 1);
    add_matrix(b, &t[SM_TENSOR_GATE], a->ffn, s->hidden);
    add_matrix(b, &t[SM_TENSOR_UP], a->ffn, s->hidden);
    add_matrix(b, &t[SM_TENSOR_DOWN], s->hidden, a->ffn);
    if (s->post_norms) {
        add_vector(b, &t[SM_TENSOR_POST_ATTN_NORM], s->hidden, 1);
        add_vector(b, &t[SM_TENSOR_POST_FFN_NORM], s->hidden, 1);
    }
    if (s->per_layer_width) {
        add_matrix(b, &t[SM_TENSOR_PER_LAYER_GATE], s->per_layer_width, s->hidden);
        add_matrix(b, &t[SM_TENSOR_PER_LAYER_PROJECTION], s->hidden, s->per_layer_width);
        add_vector(b, &t[SM_TENSOR_PER_LAYER_POST_NORM], s->hidden, 1);
    }
    if (s->layer_scalar) add_vector(b, &t[SM_TENSOR_LAYER_SCALAR], 1, 1);
}

static void add_all(struct builder *b)
{
    struct sm_model *m = b->model;
    const struct sm_model_shape *s = &m->shape;
    const size_t p = s->per_layer_width;
    add_matrix(b, &m->embedding, s->vocab, s->hidden);
    for (size_t l = 0; l < s->layers; l++) add_layer(b, l);
    if (p) {
        add_spread(b, &m->per_layer_table, s->vocab, s->layers * p, 1 / sqrt((double)p)); /* read times sqrt(p) */
        add_matrix(b, &m->per_layer_context, s->layers * p, s->hidden);
        add_vector(b, &m->per_layer_norm, p, 1);
    }
    add_vector(b, &m->output_norm, s->hidden, 1);
    if (s->tied)
        m->head = m->embedding;
    else
        add_matrix(b, &m->head, s->vocab, s->hidden);
}

static const char *refusal(const struct sm_model_shape *shape, enum sm_format format)
{
    if (!shape->runs) return "models of its architecture are not run";
    if (!sm_model_synthesises(format)) return "synthetic weights are F32, Q4_0, Q4_1 or Q8_0";
    for (size_t i = 0; i < shape->layers; i++)
        if (shape->qk_norm && !(shape->layer[i].attention_scale > 0))
            return "its scores are not scaled by a number above 0";
    if (format == SM_FORMAT_F32) return NULL;
    for (size_t i = 0; i < shape->layers; i++)
        if (shape->layer[i].ffn % SM_GROUP || shape->layer[i].heads * shape->layer[i].head_dim % SM_GROUP)
            return "its widths are not multiples of 32, which block formats need";
    return shape->hidden % SM_GROUP || shape->per_layer_width % SM_GROUP
               ? "its width is not a multiple of 32, which block formats need"
               : NULL;
}

/* Reserves what the tensors need. 0; -1 with a sentence. */
static int reserve(struct sm_model *m, const struct sm_synthetic *how, char *why, size_t why_bytes)
{
    struct builder sizes = {.model = m, .how = how};
    add_all(&sizes);
    const size_t room = sm_free_memory();
    m->map_bytes = sizes.used;
    if (m->map_bytes > room) {
        snprintf(why, why_bytes, "its %s weights take %.3g GiB, and %.3g GiB are free", sm_format_name(how->format),
                 (double)m->map_bytes / 0x1p30, (double)room / 0x1p30);
        return -1;
    }
    m->map = mmap(NULL, m->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m->map != MAP_FAILED) return 0;
    m->map = NULL;
    snprintf(why, why_bytes, "out of memory");
    return -1;
}

int sm_model_synthetic(struct sm_model **model, const struct sm_model_shape *shape, const struct sm_synthetic *how,
                       char *why, size_t why_bytes)
{
    char reason[128] = "out of memory";
    const char *refused = refusal(shape, how->format);
    struct sm_model *m = refused ? NULL : calloc(1, sizeof *m);
    if (m) {
        m->shape = *shape;
        m->layer = calloc(shape->layers, sizeof *m->layer);
    }
    if (!m || !m->layer || reserve(m, how, reason, sizeof reason)) {
        snprintf(why, why_bytes, "making a synthetic %s: %s", shape->name, refused ? refused : reason);
        sm_model_close(m);
        return -1;
    }
    struct builder b = {.model = m, .how = how, .base = m->map, .random = {how->seed}};
    add_all(&b);
    m->synthetic = true;
    m->bytes = b.used;
    m->parameters = sm_shape_parameters(shape);
    if (how->format == SM_FORMAT_F32)
        snprintf(m->formats, sizeof m->formats, "F32 %zu", b.matrices + b.vectors);
    else
        snprintf(m->formats, sizeof m->formats, "F32 %zu, %s %zu", b.vectors, sm_format_name(how->format), b.matrices);
    *model = m;
    return 0;
}
