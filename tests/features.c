/* With one feature of a small model switched off, its logits are wrong: by what the reference implementation's change
 * when the same is done to it. The features are those that golden.json lists, all of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu.h"
#include "tiny.h"

/* Tensors that took the place of a model's own. */
static struct {
    void *made[512];
    size_t count;
} pool;

static float *make(struct sm_tensor *t, size_t rows, size_t cols)
{
    float *at = calloc(rows * cols, sizeof *at);
    assert_true(at && pool.count < sizeof pool.made / sizeof *pool.made);
    pool.made[pool.count++] = at;
    *t = (struct sm_tensor){at, SM_FORMAT_F32, rows, cols, rows * cols * sizeof *at};
    return at;
}

static void fill(struct sm_tensor *t, float value)
{
    float *at = make(t, t->rows, t->cols);
    for (size_t i = 0; i < t->rows * t->cols; i++) at[i] = value;
}

/* A float of a tensor, which may lie anywhere. */
static float element(const struct sm_tensor *t, size_t i)
{
    float x;
    assert_int_equal(t->format, SM_FORMAT_F32);
    memcpy(&x, (const char *)t->data + i * sizeof x, sizeof x);
    return x;
}

typedef void edit_layer(struct sm_model *m, struct sm_layer_shape *a, struct sm_tensor *t);

static void each_layer(struct sm_model *m, edit_layer *edit)
{
    for (size_t l = 0; l < m->shape.layers; l++) edit(m, &m->shape.layer[l], m->layer[l].tensor);
}

/* EACH(name, statements on m, a and t): an edit of every layer. */
#define EACH(name, ...)                                                                                                \
    static void name##_of(struct sm_model *m, struct sm_layer_shape *a, struct sm_tensor *t)                           \
    {                                                                                                                  \
        (void)m, (void)a, (void)t;                                                                                     \
        __VA_ARGS__                                                                                                    \
    }                                                                                                                  \
    static void name(struct sm_model *m)                                                                               \
    {                                                                                                                  \
        each_layer(m, name##_of);                                                                                      \
    }

static void set_ones(const struct sm_model *m, struct sm_tensor *t)
{
    if (t->data) fill(t, m->norm_plus_one ? 0 : 1);
}

EACH(layer_norms_one, {
    static const enum sm_layer_tensor norms[] = {SM_TENSOR_ATTN_NORM, SM_TENSOR_FFN_NORM, SM_TENSOR_POST_ATTN_NORM,
                                                 SM_TENSOR_POST_FFN_NORM, SM_TENSOR_PER_LAYER_POST_NORM};
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++) set_ones(m, &t[norms[i]]);
})

/* All but those of heads: the reference took the norm of the per-layer embeddings along. */
static void norms_one(struct sm_model *m)
{
    layer_norms_one(m);
    set_ones(m, &m->output_norm);
    set_ones(m, &m->per_layer_norm);
}

static void llama3_off(struct sm_model *m)
{
    m->shape.rope_scaling.factor = 0;
    m->rope_divisors.data = NULL;
}

static void embedding_one(struct sm_model *m)
{
    m->shape.embedding_scale = 1;
}

static void softcap_off(struct sm_model *m)
{
    m->shape.final_softcap = 0;
}

static void table_zero(struct sm_model *m)
{
    fill(&m->per_layer_table, 0);
}

static void context_zero(struct sm_model *m)
{
    fill(&m->per_layer_context, 0);
}

static void per_layer_off(struct sm_model *m)
{
    m->shape.per_layer_width = 0;
}

EACH(theta_by_ten, a->rope_theta *= 10;)
EACH(biases_zero, for (size_t i = SM_TENSOR_Q_BIAS; i <= SM_TENSOR_O_BIAS; i++) t[i].data = NULL;)
EACH(q_bias_zero, t[SM_TENSOR_Q_BIAS].data = NULL;)
EACH(k_bias_zero, t[SM_TENSOR_K_BIAS].data = NULL;)
EACH(v_bias_zero, t[SM_TENSOR_V_BIAS].data = NULL;)
EACH(o_bias_zero, t[SM_TENSOR_O_BIAS].data = NULL;)
EACH(window_off, a->window = 0;)
EACH(window_larger, a->window += a->window > 0;)
EACH(window_smaller, a->window -= a->window > 0;)
EACH(scale_off, a->attention_scale /= sqrtf(1.5f);)
EACH(scale_of_head_dim, a->attention_scale = 1 / sqrtf((float)a->head_dim);)
EACH(attention_softcap_off, a->attention_softcap = 0;)
EACH(types_swapped, a->window = a->window ? 0 : 8;)
EACH(linear_off, a->rope_factor = 1;)
EACH(local_is_global, if (a->window) a->rope_theta = m->shape.layer[5].rope_theta;)
EACH(global_is_local, if (!a->window) a->rope_theta = m->shape.layer[0].rope_theta;)
EACH(head_norms_one, {
    set_ones(m, &t[SM_TENSOR_Q_NORM]);
    set_ones(m, &t[SM_TENSOR_K_NORM]);
})
EACH(head_norms_off, t[SM_TENSOR_Q_NORM].data = t[SM_TENSOR_K_NORM].data = NULL;)
EACH(all_pairs, a->rope_pairs = a->head_dim / 2;)
/* theta^(-2i / w) = (theta^(a / w))^(-2i / a) */
EACH(by_rotated_width, a->rope_theta = pow(a->rope_theta, (double)a->head_dim / (2 * (double)a->rope_pairs));)
EACH(scalars_one, t[SM_TENSOR_LAYER_SCALAR].data = NULL;)
EACH(value_norm_off, a->value_norm = false;)
EACH(value_norm_off_where_key, if (a->value_is_key) a->value_norm = false;)
EACH(
    own_values, if (a->kv_source != (size_t)(a - m->shape.layer)) {
        const struct sm_tensor *donor = m->layer[a->kv_source].tensor;
        a->kv_source = (size_t)(a - m->shape.layer);
        t[SM_TENSOR_K] = donor[SM_TENSOR_K];
        t[SM_TENSOR_V] = donor[SM_TENSOR_V];
        t[SM_TENSOR_K_NORM] = donor[SM_TENSOR_K_NORM];
    })
EACH(
    half_width, if (a->ffn > m->shape.layer[0].ffn) {
        const struct sm_tensor up = t[SM_TENSOR_UP];
        float *at = make(&t[SM_TENSOR_UP], up.rows, up.cols);
        for (size_t i = 0; i < up.rows / 2 * up.cols; i++) at[i] = element(&up, i);
    })
/* A norm leaves nothing of a row's size, so the value norm of the normed keys is that of the keys times the weights. */
EACH(
    value_of_normed_key, if (a->value_is_key) {
        const struct sm_tensor *k = &t[SM_TENSOR_K];
        float *at = make(&t[SM_TENSOR_V], k->rows, k->cols);
        for (size_t r = 0; r < k->rows; r++)
            for (size_t c = 0; c < k->cols; c++)
                at[r * k->cols + c] = element(k, r * k->cols + c) * element(&t[SM_TENSOR_K_NORM], r % a->head_dim);
        a->value_is_key = false;
    })

static const struct {
    const char *name;
    void (*edit)(struct sm_model *m);
} features[] = {
    {"all hidden-size norm weights set to one", norms_one},
    {"rope_theta times 10", theta_by_ten},
    {"llama3 RoPE scaling off", llama3_off},
    {"attention biases zero", biases_zero},
    {"q_proj bias zero", q_bias_zero},
    {"k_proj bias zero", k_bias_zero},
    {"v_proj bias zero", v_bias_zero},
    {"o_proj bias zero", o_bias_zero},
    {"sliding window off", window_off},
    {"sliding window one larger", window_larger},
    {"sliding window one smaller", window_smaller},
    {"embedding scale one", embedding_one},
    {"query_pre_attn_scalar off by a factor 1.5", scale_off},
    {"query_pre_attn_scalar = head_dim", scale_of_head_dim},
    {"attention softcap off", attention_softcap_off},
    {"final softcap off", softcap_off},
    {"layer types swapped", types_swapped},
    {"linear RoPE factor off", linear_off},
    {"local theta = global theta", local_is_global},
    {"global theta = local theta", global_is_local},
    {"q/k norm weights one", head_norms_one},
    {"q/k norms off", head_norms_off},
    {"partial rotary off (all pairs rotate)", all_pairs},
    {"exponent divided by the rotated width instead of head_dim", by_rotated_width},
    {"layer scalars one", scalars_one},
    {"v norm off", value_norm_off},
    {"v norm off on the K = V layers only", value_norm_off_where_key},
    {"attention scale 1/sqrt(head_dim) instead of 1", scale_of_head_dim},
    {"per-layer token table zero", table_zero},
    {"per-layer context projection zero", context_zero},
    {"per-layer block off in every layer", per_layer_off},
    {"KV sharing off (consumers project their own K/V with the store layer's weights)", own_values},
    {"second half of the double-wide MLPs off", half_width},
    {"value taken after the key norm on K = V layers", value_of_normed_key},
};
#define FEATURES (sizeof features / sizeof *features)

static void check_feature(const struct tiny *t, const char *name, double stored)
{
    struct tiny_model l;
    const struct sm_session_options o = {.max_seq = t->full_count + 1, .kv = SM_KV_F32, .threads = 1};
    size_t i = 0;
    while (i < FEATURES && strcmp(features[i].name, name)) i++;
    if (i == FEATURES) fail_msg("%s: nothing here switches this off: %s", t->name, name);
    tiny_load(&l, &(struct tiny_source){.model = t->name});
    features[i].edit(l.model);
    const double change = tiny_full_difference(t, l.model, sm_cpu_features(), &o, SM_PAD_RIGHT, t->full_logits);
    print_message("%-16s %-80s %8.4f, stored %8.4f\n", t->name, name, change, stored);
    assert_true(change > 100 * t->tolerance);
    /* Both runs are in float32, and the switched-off model is as far from its float64 as the model itself, about. */
    if (!(fabs(change - stored) <= 10 * t->tolerance)) fail_msg("%s: %s: not what is stored", t->name, name);
    tiny_unload(&l);
    for (i = 0; i < pool.count; i++) free(pool.made[i]);
    pool.count = 0;
}

static void test_features(void **state)
{
    (void)state;
    static const char *const models[] = {"llama-tiny",  "llama3-rope-tiny", "gemma2-tiny",
                                         "gemma3-tiny", "gemma4-tiny",      "gemma4-keqv-tiny"};
    size_t checked = 0;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        struct tiny t;
        const char *name;
        json_t *stored;
        tiny_open(&t, models[m]);
        json_t *all = json_object_get(t.golden.facts, "feature_switched_off_max_abs_change");
        assert_true(json_object_size(all) > 0);
        json_object_foreach(all, name, stored)
        {
            check_feature(&t, name, json_number_value(stored));
            checked++;
        }
        tiny_close(&t);
    }
    assert_true(checked >= 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_features)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
