/* A model of a shape from a seed: blocks are made directly, in the format asked for. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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

/* Elements of standard deviation `spread`: uniform nibbles have one of 4.61, uniform bytes one of 73.6. Block scales
 * differ by a factor of up to 2, so that groups count. */
static void fill_matrix(const struct sm_tensor *t, void *to, double spread, struct sm_random *random)
{
    const size_t blocks = t->rows * (t->cols / SM_GROUP);
    if (t->format == SM_FORMAT_F32) {
        float *x = to;
        for (size_t i = 0; i < t->rows * t->cols; i++) x[i] = sm_random_unit(random) * (float)(spread * 1.7320508);
        return;
    }
    for (size_t b = 0; b < blocks; b++) {
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
            for (size_t i = 0; i < SM_GROUP; i++)
                if (block->q[i] == -128) block->q[i] = 127; /* quantisers never give it */
        }
    }
}

/* Walks the tensors twice: once for their sizes, once to fill them. */
struct builder {
    struct sm_model *model;
    enum sm_format format;
    char *base; /* NULL: sizes only */
    size_t used;
    struct sm_random random;
};

static void add(struct builder *b, struct sm_tensor *t, size_t rows, size_t cols)
{
    const bool matrix = rows > 1;
    *t = (struct sm_tensor){.format = matrix ? b->format : SM_FORMAT_F32, .rows = rows, .cols = cols};
    t->bytes = rows * row_bytes(t->format, cols);
    if (b->base) {
        char *to = b->base + b->used;
        t->data = to;
        if (matrix) fill_matrix(t, to, 1 / sqrt((double)cols), &b->random);
        for (size_t i = 0; !matrix && i < cols; i++) ((float *)(void *)to)[i] = 1 + 0.1f * sm_random_unit(&b->random);
    }
    b->used += (t->bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static void add_all(struct builder *b)
{
    struct sm_model *m = b->model;
    const struct sm_model_shape *s = &m->shape;
    add(b, &m->embedding, s->vocab, s->hidden);
    for (size_t i = 0; i < s->layers; i++) {
        const struct sm_layer_shape *a = &s->layer[i];
        struct sm_tensor *t = m->layer[i].tensor;
        add(b, &t[SM_TENSOR_ATTN_NORM], 1, s->hidden);
        add(b, &t[SM_TENSOR_Q], a->heads * a->head_dim, s->hidden);
        add(b, &t[SM_TENSOR_K], a->kv_heads * a->head_dim, s->hidden);
        add(b, &t[SM_TENSOR_V], a->kv_heads * a->head_dim, s->hidden);
        add(b, &t[SM_TENSOR_O], s->hidden, a->heads * a->head_dim);
        add(b, &t[SM_TENSOR_FFN_NORM], 1, s->hidden);
        add(b, &t[SM_TENSOR_GATE], a->ffn, s->hidden);
        add(b, &t[SM_TENSOR_UP], a->ffn, s->hidden);
        add(b, &t[SM_TENSOR_DOWN], s->hidden, a->ffn);
    }
    add(b, &m->output_norm, 1, s->hidden);
    if (s->tied)
        m->head = m->embedding;
    else
        add(b, &m->head, s->vocab, s->hidden);
}

static const char *refusal(const struct sm_model_shape *shape, enum sm_format format)
{
    if (!shape->runs) return "models of its architecture are not run";
    if (!sm_model_synthesises(format)) return "synthetic weights are F32, Q4_0, Q4_1 or Q8_0";
    if (format == SM_FORMAT_F32) return NULL;
    for (size_t i = 0; i < shape->layers; i++)
        if (shape->layer[i].ffn % SM_GROUP || shape->layer[i].heads * shape->layer[i].head_dim % SM_GROUP)
            return "its widths are not multiples of 32, which block formats need";
    return shape->hidden % SM_GROUP ? "its width is not a multiple of 32, which block formats need" : NULL;
}

/* The divisors of llama3 scaling (model-math: 0.6), as a converter would have stored them. */
static void add_divisors(struct sm_model *m, float *to)
{
    const struct sm_rope_scaling *s = &m->shape.rope_scaling;
    const struct sm_layer_shape *a = &m->shape.layer[0];
    for (size_t i = 0; i < a->head_dim / 2; i++) {
        const double f = pow(a->rope_theta, -2.0 * (double)i / (double)a->head_dim);
        const double wavelength = 2 * 3.14159265358979323846 / f;
        const double t = (s->original / wavelength - s->low) / (s->high - s->low);
        to[i] = 1;
        if (wavelength > s->original / s->low)
            to[i] = (float)s->factor;
        else if (wavelength >= s->original / s->high)
            to[i] = (float)(1 / ((1 - t) / s->factor + t));
    }
    m->rope_divisors = (struct sm_tensor){to, SM_FORMAT_F32, 1, a->head_dim / 2, a->head_dim / 2 * sizeof *to};
}

int sm_model_synthetic(struct sm_model **model, const struct sm_model_shape *shape, enum sm_format format,
                       uint64_t seed, char *why, size_t why_bytes)
{
    const char *refused = refusal(shape, format);
    struct sm_model *m = refused ? NULL : calloc(1, sizeof *m);
    if (m) m->layer = calloc(shape->layers, sizeof *m->layer);
    if (m && m->layer) {
        m->shape = *shape;
        struct builder sizes = {.model = m, .format = format};
        add_all(&sizes);
        const size_t tail = shape->layer[0].head_dim / 2 * sizeof(float);
        m->map_bytes = sizes.used + tail;
        m->map = mmap(NULL, m->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (m->map == MAP_FAILED) m->map = NULL;
    }
    if (!m || !m->layer || !m->map) {
        snprintf(why, why_bytes, "making a synthetic %s: %s", shape->name, refused ? refused : "out of memory");
        sm_model_close(m);
        return -1;
    }
    struct builder b = {.model = m, .format = format, .base = m->map, .random = {seed}};
    add_all(&b);
    if (shape->rope_scaling.factor > 0) add_divisors(m, (float *)(void *)(b.base + b.used));
    m->synthetic = true;
    m->bytes = b.used;
    m->parameters = sm_shape_parameters(shape);
    const size_t matrices = shape->layers * 7 + (shape->tied ? 1 : 2), vectors = shape->layers * 2 + 1;
    if (format == SM_FORMAT_F32)
        snprintf(m->formats, sizeof m->formats, "F32 %zu", matrices + vectors);
    else
        snprintf(m->formats, sizeof m->formats, "F32 %zu, %s %zu", vectors, sm_format_name(format), matrices);
    *model = m;
    return 0;
}
