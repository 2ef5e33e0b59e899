#include "echo_model.h"

#include <stdio.h>
#include <string.h>

static struct sm_tensor matrix(const float (*rows)[ECHO])
{
    return (struct sm_tensor){rows, SM_FORMAT_F32, ECHO, ECHO, sizeof(float) * ECHO * ECHO};
}

static int bits_in_common(size_t a, size_t b)
{
    int count = 0;
    for (size_t common = a & b; common; common >>= 1) count += (int)(common & 1);
    return count;
}

void echo_model_make(struct echo_model *m, size_t layers, const float key[ECHO], const float value[ECHO])
{
    memset(m, 0, sizeof *m);
    struct sm_model_shape *s = &m->model.shape;
    for (size_t t = 0; t < ECHO; t++) {
        m->ones[t] = m->identity[t][t] = 1;
        for (size_t i = 0; i < ECHO; i++) m->embedding[t][i] = bits_in_common(t, i) % 2 ? -1 : 1;
    }
    for (size_t i = 0; i < ECHO; i++)
        for (size_t c = 0; c < ECHO; c++)
            for (size_t t = 0; t < ECHO; t++) { /* rows of the embedding are orthogonal, of norm 8 */
                m->keys[i][c] += key[t] / ECHO * m->embedding[t][c];
                m->values[i][c] += value[t] / ECHO * m->embedding[t][c];
            }
    snprintf(s->name, sizeof s->name, "echo");
    snprintf(s->arch, sizeof s->arch, "llama");
    s->runs = true;
    s->hidden = s->vocab = ECHO;
    s->context = 64;
    s->embedding_scale = 1;
    s->layers = layers;
    const struct sm_tensor ones = {m->ones, SM_FORMAT_F32, 1, ECHO, sizeof m->ones};
    for (size_t l = 0; l < layers; l++) {
        s->layer[l] = (struct sm_layer_shape){.heads = 1,
                                              .kv_heads = 1,
                                              .head_dim = ECHO,
                                              .ffn = ECHO,
                                              .kv_source = l,
                                              .rope_theta = 10000,
                                              .rope_factor = 1,
                                              .attention_scale = 1};
        struct sm_tensor *t = m->layer[l].tensor;
        t[SM_TENSOR_ATTN_NORM] = t[SM_TENSOR_FFN_NORM] = ones;
        t[SM_TENSOR_K] = matrix(m->keys);
        t[SM_TENSOR_V] = matrix(m->values);
        t[SM_TENSOR_Q] = t[SM_TENSOR_O] = t[SM_TENSOR_GATE] = t[SM_TENSOR_UP] = t[SM_TENSOR_DOWN] = matrix(m->none);
    }
    m->model.layer = m->layer;
    m->model.embedding = matrix(m->embedding);
    m->model.head = matrix(m->identity);
    m->model.output_norm = ones;
    m->model.synthetic = true;
}
