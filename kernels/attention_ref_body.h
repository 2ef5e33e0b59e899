/* attention_ref_body.h - the formula of attention.h in double, one row and head at a time: it defines the answer.
 *
 * Softmax is summed as it comes, rescaled whenever a larger logit appears. */
#ifndef SM_ATTENTION_REF_BODY_H
#define SM_ATTENTION_REF_BODY_H

#include <math.h>

#include "attention_kv_body.h"

static double attention_ref_logit(const struct sm_attention *a, size_t r, size_t h, size_t j)
{
    const float *q = a->q + r * a->q_stride + h * a->head_dim;
    const size_t g = h / (a->heads / a->kv_heads);
    double z = 0;
    for (size_t d = 0; d < a->head_dim; d++) z += (double)q[d] * attention_key_at(a, g, j, d);
    z *= (double)a->scale;
    if (a->softcap > 0) z = (double)a->softcap * tanh(z / (double)a->softcap);
    return z + (double)a->mask[r * a->mask_stride + j];
}

static void attention_ref_row(const struct sm_attention *a, size_t r, size_t h)
{
    const size_t g = h / (a->heads / a->kv_heads);
    double weighted[SM_ATTENTION_MAX_HEAD_DIM] = {0}, sum = 0, most = -INFINITY;
    for (size_t j = 0; j < a->past + a->now; j++) {
        const double z = attention_ref_logit(a, r, h, j);
        if (z > most) {
            const double rescale = exp(most - z);
            for (size_t d = 0; d < a->head_dim; d++) weighted[d] *= rescale;
            sum *= rescale;
            most = z;
        }
        const double weight = exp(z - most);
        sum += weight;
        for (size_t d = 0; d < a->head_dim; d++) weighted[d] += weight * attention_value_at(a, g, j, d);
    }
    float *out = a->out + r * a->out_stride + h * a->head_dim;
    for (size_t d = 0; d < a->head_dim; d++) out[d] = (float)(weighted[d] / sum);
}

static void attention_ref(const struct sm_attention *a, struct sm_part part)
{
    part = sm_attention_heads_of(a, part);
    for (size_t r = part.row_begin; r < part.row_end; r++)
        for (size_t h = part.col_begin; h < part.col_end; h++) attention_ref_row(a, r, h);
}

#endif
