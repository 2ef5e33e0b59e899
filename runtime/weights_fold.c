#include "weights_fold.h"

#include <stdio.h>
#include <string.h>

#include "quant.h"

const char *sm_scale_in_name(enum sm_scale_in in)
{
    static const char *const names[SM_SCALE_INS] = {"scores", "q", "k"};
    return (unsigned)in < SM_SCALE_INS ? names[in] : "?";
}

int sm_scale_in_named(const char *name, enum sm_scale_in *in)
{
    for (int i = 0; i < SM_SCALE_INS; i++)
        if (!strcmp(name, sm_scale_in_name((enum sm_scale_in)i))) {
            *in = (enum sm_scale_in)i;
            return 0;
        }
    return -1;
}

/* Why not, or NULL. */
static const char *unfoldable(const struct sm_model *m, const struct sm_layer_shape *a, enum sm_scale_in in)
{
    const struct sm_layer_shape *donor = &m->shape.layer[a->kv_source];
    if (in == SM_SCALE_IN_SCORES) return NULL;
    if (!(a->attention_scale > 0 && a->attention_scale <= 1)) return "it is not within 0 and 1";
    if (in == SM_SCALE_IN_Q) return NULL;
    if (a->attention_scale != donor->attention_scale) return "the layer uses the keys of one that has another scale";
    if (donor->value_is_key && !m->layer[a->kv_source].tensor[SM_TENSOR_K_NORM].data)
        return "what k_proj gives is also the layer's values";
    return NULL;
}

int fold_check(const struct sm_model *m, size_t layer, enum sm_scale_in in, char *why, size_t why_bytes)
{
    const char *wrong = unfoldable(m, &m->shape.layer[layer], in);
    if (wrong)
        snprintf(why, why_bytes, "folding the attention scale of layer %zu, %g, into %s: %s", layer,
                 (double)m->shape.layer[layer].attention_scale, sm_scale_in_name(in), wrong);
    return wrong ? -1 : 0;
}

float fold_factor(const struct sm_model *m, size_t layer, enum sm_scale_in in, enum sm_layer_tensor tensor)
{
    const struct sm_tensor *t = m->layer[layer].tensor;
    const bool q = in == SM_SCALE_IN_Q;
    const enum sm_layer_tensor norm = q ? SM_TENSOR_Q_NORM : SM_TENSOR_K_NORM, matrix = q ? SM_TENSOR_Q : SM_TENSOR_K,
                               bias = q ? SM_TENSOR_Q_BIAS : SM_TENSOR_K_BIAS;
    const bool folded = t[norm].data ? tensor == norm : tensor == matrix || tensor == bias;
    return in != SM_SCALE_IN_SCORES && folded ? m->shape.layer[layer].attention_scale : 1;
}

static uint16_t f16_times(uint16_t h, float factor)
{
    return sm_f32_to_f16(sm_f16_to_f32(h) * factor);
}

void fold_rows(enum sm_format format, void *rows, size_t count, size_t cols, float factor)
{
    const size_t blocks = count * cols / SM_GROUP;
    switch (format) {
    case SM_FORMAT_Q4_0:
        for (size_t i = 0; i < blocks; i++) {
            struct sm_block_q4_0 *b = (struct sm_block_q4_0 *)rows + i;
            b->d = f16_times(b->d, factor);
        }
        break;
    case SM_FORMAT_Q4_1:
        for (size_t i = 0; i < blocks; i++) {
            struct sm_block_q4_1 *b = (struct sm_block_q4_1 *)rows + i;
            b->d = f16_times(b->d, factor);
            b->m = f16_times(b->m, factor);
        }
        break;
    case SM_FORMAT_Q8_0:
        for (size_t i = 0; i < blocks; i++) {
            struct sm_block_q8_0 *b = (struct sm_block_q8_0 *)rows + i;
            b->d = f16_times(b->d, factor);
        }
        break;
    case SM_FORMAT_W4C:
    case SM_FORMAT_W8C:
        for (size_t r = 0; r < count; r++) {
            char *row = (char *)rows + r * sm_channel_bytes(cols, format == SM_FORMAT_W4C ? 4 : 8);
            ((struct sm_channel *)(void *)row)->scale *= factor;
        }
        break;
    default:
        for (size_t i = 0; i < count * cols; i++) ((float *)rows)[i] *= factor;
    }
}
