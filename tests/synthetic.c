/* Synthetic models of every architecture: which tensors they have, that the same seed gives the same weights, that
 * they run with numbers of order one, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cpu.h"
#include "runtime_fixture.h"

#define COMMON                                                                                                         \
    "name = x\nruns = yes\nhidden = 64\nheads = 4\nkv_heads = 2\nhead_dim = 32\nffn = 96\nvocab = 160\ncontext = 64\n" \
    "rope_theta = 1e4\neps = 1e-6\ntied = yes\nactivation = gelu\n"
#define GEMMA COMMON "post_norms = yes\nwindow = 5\nembedding_scale = 8\n"

static const struct {
    const char *name, *text;
} shapes[] = {
    {"llama", COMMON "arch = llama\nlayers = 4\nrope_scaling = 32 1 4 8192\n"},
    {"gemma2", GEMMA "arch = gemma2\nlayers = 4\nfull_layers = 1 3\nattention_softcap = 50\nfinal_softcap = 30\n"},
    {"gemma3", GEMMA "arch = gemma3\nlayers = 7\nfull_layers = 5\nqk_norm = yes\nfull_rope_theta = 1e6\n"
                     "full_rope_factor = 8\n"},
    {"gemma4", GEMMA "arch = gemma4\nlayers = 9\nfull_layers = 2 5 8\nqk_norm = yes\nvalue_norm = yes\n"
                     "layer_scalar = yes\nkv_shared_layers = 4\nkv_shared_ffn = 192\nper_layer_width = 32\n"
                     "full_head_dim = 64\nfull_rope_theta = 1e6\nfull_rope_part = 0.25\nattention_scale = 1\n"
                     "final_softcap = 30\n"},
    {"gemma4, keys for values", GEMMA "arch = gemma4\nlayers = 6\nfull_layers = 2 5\nqk_norm = yes\nvalue_norm = yes\n"
                                      "value_is_key = yes\nfull_kv_heads = 1\nfull_head_dim = 64\n"
                                      "full_rope_theta = 1e6\nattention_scale = 1\nfinal_softcap = 30\n"},
};
#define SHAPES (sizeof shapes / sizeof *shapes)

static const enum sm_format formats[] = {SM_FORMAT_F32, SM_FORMAT_Q4_0, SM_FORMAT_Q4_1, SM_FORMAT_Q8_0};
static struct sm_model_shape shape;
static char why[512];

static struct sm_model *make(size_t i, enum sm_format format, uint64_t seed)
{
    struct sm_model *m = NULL;
    if (sm_shape_parse(&shape, shapes[i].text, shapes[i].name, why, sizeof why) ||
        sm_model_synthetic(&m, &shape, &(struct sm_synthetic){.format = format, .seed = seed}, why, sizeof why))
        fail_msg("%s", why);
    return m;
}

static double counted(const struct sm_tensor *t)
{
    return t->data ? (double)t->rows * (double)t->cols : 0;
}

/* All tensors together are the parameters of the shape: none is missing, and none too many. */
static void test_tensors(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        struct sm_model *m = make(i, SM_FORMAT_Q8_0, 1);
        double sum = counted(&m->embedding) + counted(&m->output_norm) + counted(&m->per_layer_table) +
                     counted(&m->per_layer_context) + counted(&m->per_layer_norm);
        for (size_t l = 0; l < shape.layers; l++) {
            const struct sm_tensor *t = m->layer[l].tensor;
            for (size_t k = 0; k < SM_LAYER_TENSORS; k++) sum += counted(&t[k]);
            const bool owner = shape.layer[l].kv_source == l;
            assert_int_equal(t[SM_TENSOR_K].data != NULL, owner);
            assert_int_equal(t[SM_TENSOR_V].data != NULL, owner && !shape.layer[l].value_is_key);
            assert_int_equal(t[SM_TENSOR_K_NORM].data != NULL, owner && shape.qk_norm);
        }
        if (sum != sm_shape_parameters(&shape) || sum != m->parameters)
            fail_msg("%s: %g elements, %g parameters", shapes[i].name, sum, sm_shape_parameters(&shape));
        sm_model_close(m);
    }
    assert_true(shape.layer[5].value_is_key && !shape.layer[4].value_is_key && shape.layer[5].kv_heads == 1);
}

static void test_seeds(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++)
        for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
            struct sm_model *a = make(i, formats[f], 7), *b = make(i, formats[f], 7), *c = make(i, formats[f], 8);
            assert_memory_equal(a->map, b->map, a->map_bytes);
            assert_int_equal(a->map_bytes, c->map_bytes);
            assert_memory_not_equal(a->map, c->map, a->map_bytes);
            assert_true(a->synthetic && strstr(a->formats, sm_format_name(formats[f])));
            sm_model_close(a);
            sm_model_close(b);
            sm_model_close(c);
        }
}

static double rms(const float *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += (double)x[i] * (double)x[i];
    return sqrt(sum / (double)count);
}

/* Prefill and decode give logits of order one, and the stream stays small enough for half floats. */
static void check_run(size_t i, struct sm_model *model, const char *recipe)
{
    static const int32_t tokens[12] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
    struct fixture f = {.model = model};
    const struct sm_choice choice = {.features = sm_cpu_features()};
    const struct sm_session_options options = {.max_seq = 24, .kv = SM_KV_F16, .threads = 2, .all_rows = true};
    if (sm_weights_create(&f.weights, f.model, recipe, &choice, why, sizeof why) ||
        sm_session_create(&f.session, f.weights, &options, why, sizeof why) ||
        sm_session_prefill(f.session, tokens, 12, SM_PAD_RIGHT, why, sizeof why))
        fail_msg("%s, %s: %s", shapes[i].name, recipe, why);
    const struct sm_plan *plan = sm_session_plan(f.session, SM_PHASE_PREFILL);
    for (size_t l = 0; l < shape.layers; l++) {
        const double stream = rms(sm_plan_hidden(plan, l), 12 * shape.hidden);
        if (!(stream > 0.01 && stream < 100))
            fail_msg("%s: the stream before layer %zu is %g", shapes[i].name, l, stream);
    }
    for (int step = 0; step < 3; step++) {
        const double logits = rms(sm_session_logits(f.session), shape.vocab);
        if (!(logits > 0.1 && logits < 10)) fail_msg("%s, %s: logits of %g", shapes[i].name, recipe, logits);
        if (sm_session_decode(f.session, sm_session_argmax(f.session), why, sizeof why)) fail_msg("%s", why);
    }
    fixture_close(&f);
}

static void test_runs(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        check_run(i, make(i, SM_FORMAT_F32, 3), "float");
        check_run(i, make(i, SM_FORMAT_Q4_0, 3), "native");
        check_run(i, make(i, SM_FORMAT_Q8_0, 3), "native");
    }
}

static void refused(const struct sm_model_shape *s, enum sm_format format, const char *words)
{
    struct sm_model *m = NULL;
    assert_int_equal(sm_model_synthetic(&m, s, &(struct sm_synthetic){.format = format, .seed = 7}, why, sizeof why),
                     -1);
    assert_null(m);
    if (!strstr(why, words)) fail_msg("expected '%s' in: %s", words, why);
}

static void test_refusals(void **state)
{
    (void)state;
    static struct sm_model_shape other;
    sm_model_close(make(3, SM_FORMAT_Q8_0, 1));
    refused(&shape, SM_FORMAT_F16, "F32, Q4_0, Q4_1 or Q8_0");
    refused(&shape, SM_FORMAT_Q6_K, "F32, Q4_0, Q4_1 or Q8_0");
    other = shape, other.layer[1].ffn = 88;
    refused(&other, SM_FORMAT_Q8_0, "multiples of 32");
    other = shape, other.per_layer_width = 24;
    refused(&other, SM_FORMAT_Q4_0, "multiple of 32");
    other = shape, other.runs = false;
    refused(&other, SM_FORMAT_Q8_0, "not run");
    other = shape, other.layer[0].attention_scale = 0;
    refused(&other, SM_FORMAT_Q8_0, "not scaled");
    other = shape, other.vocab = (size_t)1 << 22, other.hidden = (size_t)1 << 17; /* two tebibytes */
    refused(&other, SM_FORMAT_F32, "GiB are free");
}

struct shares {
    size_t count;
    double last;
};

static void note_share(void *state, double share)
{
    struct shares *s = state;
    if (!(share > s->last && share <= 1)) fail_msg("%g is told after %g", share, s->last);
    s->last = share;
    s->count++;
}

/* A table of half a million blocks is told of while it is made, not only after it. */
static void test_shares(void **state)
{
    (void)state;
    const enum sm_format two[] = {SM_FORMAT_Q4_0, SM_FORMAT_F32};
    sm_model_close(make(0, SM_FORMAT_Q4_0, 1));
    shape.vocab = (size_t)(1 << 19) * 32 / shape.hidden + 1;
    for (size_t i = 0; i < 2; i++) {
        struct sm_model *m = NULL;
        struct shares shares = {0};
        const struct sm_synthetic how = {.format = two[i], .seed = 1, .made = note_share, .made_state = &shares};
        if (sm_model_synthetic(&m, &shape, &how, why, sizeof why)) fail_msg("%s", why);
        assert_true(shares.count >= shape.layers * 7 + (i ? 1 : 3));
        assert_true(shares.last > 0.99);
        sm_model_close(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tensors), cmocka_unit_test(test_seeds),
                                       cmocka_unit_test(test_runs), cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_shares)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
