/* attention_judge_body.h - judges answers of the attention families against the formula in double, in units of the
 * bound that attention.h derives, over the KV type SM_ATTENTION_KV. */
#ifndef SM_ATTENTION_JUDGE_BODY_H
#define SM_ATTENTION_JUDGE_BODY_H

#include <math.h>
#include <stdlib.h>

#include "attention_kv_body.h"
#include "random.h"
#include "workload.h"

/* Scratch of error(): one KV head's keys and values; and of one row and head the logits, how far they may be off,
 * and of the columns that weigh anything which they are, their weight, and how far it may be off. */
struct judge {
    const struct sm_attention *a; /* inputs in the canonical layout, and the output */
    enum sm_regime regime;
    double *key, *value;            /* [columns][head_dim] */
    double *logit, *slack, *weight; /* [columns] */
    double *rounding;  /* [columns] how far a rounded weight may be off, where the type has a scale a slot */
    size_t *column;    /* [columns] */
    double most;       /* the largest logit */
    size_t past_first; /* of the layout that ran */
};

static void judge_logits(struct judge *judge, size_t r, size_t h)
{
    const struct sm_attention *a = judge->a;
    const float *q = a->q + r * a->q_stride + h * a->head_dim;
    double q_most = 0;
    for (size_t d = 0; d < a->head_dim; d++) q_most = fmax(q_most, fabs((double)q[d]));
    judge->most = -INFINITY;
    for (size_t j = 0; j < a->past + a->now; j++) {
        const double *key = judge->key + j * a->head_dim;
        double z = 0, magnitude = 0, key_sum = 0;
        for (size_t d = 0; d < a->head_dim; d++) {
            const double p = (double)q[d] * key[d];
            z += p;
            magnitude += fabs(p);
            key_sum += fabs(key[d]);
        }
        const double scale = (double)a->scale, cap = (double)a->softcap;
        judge->slack[j] = sm_attention_dot_slack(a->head_dim, SM_ATTENTION_KV == 8 || SM_ATTENTION_KV == 15,
                                                 fabs(scale) * magnitude, fabs(scale) * q_most * key_sum);
        z *= scale;
        if (cap > 0) z = cap * tanh(z / cap);
        judge->logit[j] = z + (double)a->mask[r * a->mask_stride + j];
        judge->most = fmax(judge->most, judge->logit[j]);
    }
}

/* Of columns that weigh anything, what rounding their weights may add to each, for a value of 1. */
static void judge_rounding(struct judge *judge, size_t g, size_t heavy)
{
    const struct sm_attention *a = judge->a;
    for (size_t i = 0, end; i < heavy; i = end) {
        const int is_past = judge->column[i] < a->past;
        const size_t begin = is_past ? 0 : a->past, lead = is_past ? judge->past_first : 0;
        const size_t group = (judge->column[i] - begin + lead) / SM_ATTENTION_GROUP;
        const struct sm_kv *v = is_past ? &a->v_past : &a->v_now;
        double most = 0;
        for (end = i; end < heavy; end++) {
            const size_t j = judge->column[end];
            if (is_past != (j < a->past) || (j - begin + lead) / SM_ATTENTION_GROUP != group) break;
            judge->rounding[end] = SM_ATTENTION_KV == 8 ? (double)v->scale[g * v->scale_stride + j - begin] : 0;
            most = fmax(most, (judge->weight[end] + judge->slack[end]) * judge->rounding[end]);
        }
        for (size_t n = i; n < end; n++) {
            const double scale = judge->rounding[n], x = (judge->weight[n] + judge->slack[n]) * scale;
            judge->rounding[n] = scale > 0 ? sm_attention_weight_slack(x, most) / scale : 0;
        }
    }
}

/* One head of one row against the formula, in units of the bound that attention.h derives. */
static double judge_head(struct judge *judge, size_t r, size_t h)
{
    const struct sm_attention *a = judge->a;
    const size_t columns = a->past + a->now;
    judge_logits(judge, r, h);
    double sum = 0, least_sum = 0;
    size_t heavy = 0; /* columns that weigh anything: below 2^-160 values of 40 are no floats */
    for (size_t j = 0; j < columns; j++) {
        const double weight = exp(judge->logit[j] - judge->most);
        const double slack =
            judge->slack[j] + sm_attention_logit_slack(columns, (double)a->softcap, judge->logit[j], judge->most);
        sum += weight;
        least_sum += weight * exp(-slack);
        if (weight < 0x1p-160) continue;
        judge->weight[heavy] = weight;
        judge->slack[heavy] = weight * expm1(slack);
        judge->column[heavy++] = j;
    }
    judge_rounding(judge, h / (a->heads / a->kv_heads), heavy);
    double worst = 0;
    for (size_t d = 0; d < a->head_dim; d++) {
        double exact = 0, magnitude = 0, value_most = 0, moved = 0;
        for (size_t i = 0; i < heavy; i++) exact += judge->weight[i] * judge->value[judge->column[i] * a->head_dim + d];
        exact /= sum;
        for (size_t i = 0; i < heavy; i++) {
            const double v = judge->value[judge->column[i] * a->head_dim + d];
            magnitude += judge->weight[i] * fabs(v);
            value_most = v > value_most ? v : -v > value_most ? -v : value_most;
            moved += judge->slack[i] * fabs(v - exact) + judge->rounding[i] * fabs(v);
        }
        const double got = (double)a->out[r * a->out_stride + h * a->head_dim + d], off = fabs(got - exact);
        if ((float)exact == (float)got) continue;
        if (judge->regime == SM_REGIME_EXACT || !(off < INFINITY)) return INFINITY;
        worst = fmax(worst, off / (moved / least_sum +
                                   sm_attention_sum_slack(columns, magnitude / sum + fabs(exact), value_most)));
    }
    return worst;
}

/* A row that may attend to nothing must be finite, and means nothing. */
static int row_is_padding(const struct sm_attention *a, size_t r)
{
    for (size_t j = 0; j < a->past + a->now; j++)
        if (a->mask[r * a->mask_stride + j] > SM_ATTENTION_FORBIDDEN) return 0;
    return 1;
}

/* One in how many rows is judged between the first and the last: as many as SM_JUDGED_OPS pay for by one head each. */
static uint32_t judged_one_in(const struct sm_attention *a)
{
    const double head = 2.0 * (double)(a->past + a->now) * (double)a->head_dim;
    return (uint32_t)ceil((double)a->rows / fmax(SM_JUDGED_OPS / head, 8));
}

static int is_written(const struct sm_attention *a, size_t r, size_t h_begin, size_t h_end)
{
    for (size_t i = h_begin * a->head_dim; i < h_end * a->head_dim; i++)
        if (!isfinite(a->out[r * a->out_stride + i])) return 0;
    return 1;
}

static double judge_row(struct judge *judge, size_t r, size_t h_begin, size_t h_end)
{
    const struct sm_attention *a = judge->a;
    double worst = 0;
    if (row_is_padding(a, r)) return is_written(a, r, h_begin, h_end) ? 0 : INFINITY;
    for (size_t h = h_begin; h < h_end; h++) worst = fmax(worst, judge_head(judge, r, h));
    return worst;
}

static double judge_group(struct judge *judge, size_t g, int full, struct sm_random *random)
{
    const struct sm_attention *a = judge->a;
    const size_t group = a->heads / a->kv_heads, columns = a->past + a->now;
    const uint32_t one_in = judged_one_in(a);
    for (size_t j = 0; j < columns; j++)
        for (size_t d = 0; d < a->head_dim; d++) {
            judge->key[j * a->head_dim + d] = attention_key_at(a, g, j, d);
            judge->value[j * a->head_dim + d] = attention_value_at(a, g, j, d);
        }
    double worst = 0;
    for (size_t r = 0; r < a->rows; r++) {
        size_t begin = g * group, end = begin + group;
        if (!full && r != 0 && r + 1 != a->rows) { /* one head, of one group, of some rows */
            if (!is_written(a, r, begin, end)) return INFINITY;
            if (r % a->kv_heads != g || sm_random_below(random, one_in)) continue;
            begin += sm_random_below(random, (uint32_t)group);
            end = begin + 1;
        }
        worst = fmax(worst, judge_row(judge, r, begin, end));
    }
    return worst;
}

/* The worst of all that is judged (workload.h). past_first: of the layout that ran. NAN: no memory. */
static double attention_error(const struct sm_attention *a, enum sm_regime regime, uint64_t seed, size_t past_first)
{
    const size_t columns = a->past + a->now;
    double *scratch = malloc((2 * columns * a->head_dim + 4 * columns) * sizeof *scratch);
    size_t *column = malloc(columns * sizeof *column);
    if (!scratch || !column) {
        free(scratch);
        free(column);
        return NAN;
    }
    struct judge judge = {.a = a,
                          .regime = regime,
                          .key = scratch,
                          .value = scratch + columns * a->head_dim,
                          .logit = scratch + 2 * columns * a->head_dim,
                          .column = column,
                          .past_first = past_first};
    judge.slack = judge.logit + columns;
    judge.weight = judge.slack + columns;
    judge.rounding = judge.weight + columns;
    const int full = 2.0 * (double)(a->rows * a->heads) * (double)(columns * a->head_dim) <= SM_JUDGED_OPS;
    struct sm_random random = {seed ^ 0x5eed};
    double worst = 0;
    for (size_t g = 0; g < a->kv_heads; g++) worst = fmax(worst, judge_group(&judge, g, full, &random));
    free(scratch);
    free(column);
    return worst;
}

#endif
