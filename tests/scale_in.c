/* The attention scale folded into q_proj or k_proj: the same answers as on the scores, to the bit where the scale is a
 * power of two; cached keys scaled as TICO's are; the model itself as it was; and what cannot be folded is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu.h"
#include "runtime_fixture.h"
#include "tiny.h"

#define MAX_SEQ 48

static char why[512];

/* The session of a model's reference results, and the cache after it. */
struct run {
    float *logits; /* [turns_count][vocab]: of the last token of each call */
    struct sm_weights *weights;
    struct sm_session *session;
};

static void keep(struct run *r, const struct tiny *t, size_t at)
{
    memcpy(r->logits + at * t->vocab, sm_session_logits(r->session), t->vocab * sizeof *r->logits);
}

static void open_run(struct run *r, const struct tiny *t, const struct sm_model *model, const char *recipe,
                     const struct sm_choice *choice, enum sm_kv_type kv)
{
    const struct sm_session_options options = {
        .max_seq = MAX_SEQ, .kv = kv, .threads = 2, .append_buckets = {1, 8}, .append_bucket_count = 2};
    *r = (struct run){.logits = calloc(t->turns_count * t->vocab, sizeof(float))};
    assert_non_null(r->logits);
    if (sm_weights_create(&r->weights, model, recipe, choice, why, sizeof why) ||
        sm_session_create(&r->session, r->weights, &options, why, sizeof why))
        fail_msg("%s: %s", t->name, why);
    for (size_t i = 0; i < t->turn_count; i++) {
        const size_t start = t->turn[i].start, prompt = t->turn[i].prompt;
        if (i == 0 ? sm_session_prefill(r->session, t->turns, prompt, SM_PAD_RIGHT, why, sizeof why)
                   : sm_session_append(r->session, t->turns + start, prompt, why, sizeof why))
            fail_msg("%s: %s", t->name, why);
        keep(r, t, start + prompt - 1);
        for (size_t at = start + prompt; at < t->turn[i].end; at++) {
            if (sm_session_decode(r->session, t->turns[at], why, sizeof why)) fail_msg("%s: %s", t->name, why);
            keep(r, t, at);
        }
    }
}

static void close_run(struct run *r)
{
    sm_session_destroy(r->session);
    sm_weights_destroy(r->weights);
    free(r->logits);
}

static bool is_power_of_two(float x)
{
    int exponent;
    return frexpf(x, &exponent) == 0.5f;
}

/* Cached keys of layers folded into k are the others times the scale, values the same: within `tolerance` of them. */
static void compare_caches(const struct run *plain, const struct run *folded, const struct sm_model *m,
                           enum sm_scale_in in, double tolerance)
{
    const struct sm_cache *a = sm_session_cache(plain->session), *b = sm_session_cache(folded->session);
    float x[1024], y[1024];
    for (size_t l = 0; l < a->layers; l++)
        for (int values = 0; values <= 1 && a->layer[l].k; values++)
            for (size_t slot = 0; slot < MAX_SEQ - 1; slot++) {
                const size_t n = a->layer[l].kv_heads * a->layer[l].head_dim;
                const bool scaled = in == SM_SCALE_IN_K && !values;
                assert_true(n <= 1024);
                sm_cache_read(a, l, values, slot, x);
                sm_cache_read(b, l, values, slot, y);
                for (size_t i = 0; i < n && scaled; i++) x[i] *= m->shape.layer[l].attention_scale;
                const double off = difference(x, y, n);
                if (!(off <= tolerance)) fail_msg("%s of layer %zu are off by %g", values ? "values" : "keys", l, off);
            }
}

/* Both foldings of a model against none. bound: of the logits' difference where the scale is no power of two. */
static void check_foldings(const struct tiny *t, const struct sm_model *model, const char *recipe, uint32_t features,
                           double bound)
{
    bool exact = true;
    struct run plain;
    struct sm_choice choice = {.features = features};
    for (size_t l = 0; l < model->shape.layers; l++) exact &= is_power_of_two(model->shape.layer[l].attention_scale);
    if (exact) bound = 0;
    open_run(&plain, t, model, recipe, &choice, SM_KV_F32);
    for (choice.scale_in = SM_SCALE_IN_Q; choice.scale_in < SM_SCALE_INS; choice.scale_in++) {
        struct run folded;
        open_run(&folded, t, model, recipe, &choice, SM_KV_F32);
        const double off = difference(plain.logits, folded.logits, t->turns_count * t->vocab);
        if (!(off <= bound))
            fail_msg("%s %s, scale in %s: off by %g, bound %g", t->name, recipe, sm_scale_in_name(choice.scale_in), off,
                     bound);
        for (size_t l = 0; l < model->shape.layers; l++)
            assert_true(folded.weights->layer[l].score_scale == 1 &&
                        plain.weights->layer[l].score_scale == model->shape.layer[l].attention_scale);
        if (!strcmp(recipe, "float")) compare_caches(&plain, &folded, model, choice.scale_in, bound);
        close_run(&folded);
    }
    close_run(&plain);
}

static uint64_t hash_of(const struct sm_model *m)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t l = 0; l < m->shape.layers; l++)
        for (size_t i = 0; i < SM_LAYER_TENSORS; i++) {
            const struct sm_tensor *t = &m->layer[l].tensor[i];
            for (size_t b = 0; t->data && b < t->bytes; b++)
                hash = (hash ^ ((const uint8_t *)t->data)[b]) * 1099511628211u;
        }
    return hash;
}

static bool is_quantised(const struct tiny_source *s)
{
    return s->file && (strstr(s->file, "q8_0") || strstr(s->file, "q4_0"));
}

static void test_every_model(void **state)
{
    (void)state;
    uint32_t features;
    for (const struct tiny_source *s = tiny_sources; s->model; s++) {
        struct tiny t;
        struct tiny_model m;
        if (s->config) continue;
        tiny_open(&t, s->model);
        tiny_load(&m, s);
        const uint64_t before = hash_of(m.model);
        for (size_t i = 0; sm_cpu_level(i, &features); i++)
            if (!(features & ~sm_cpu_features())) check_foldings(&t, m.model, "float", features, t.tolerance);
        if (is_quantised(s)) check_foldings(&t, m.model, "native", sm_cpu_features(), 0.01 * t.spread);
        assert_true(hash_of(m.model) == before);
        tiny_unload(&m);
        tiny_close(&t);
    }
}

/* Gemma 4 has a scale of 1: with another one, norms of heads, donors and values that are keys have to take it. */
static void test_other_scales(void **state)
{
    static const char *const names[] = {"gemma4-tiny", "gemma4-keqv-tiny", "gemma3-tiny", "gemma2-tiny"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct tiny_source source = {.model = names[i]};
        struct tiny t;
        struct tiny_model m;
        tiny_open(&t, names[i]);
        tiny_load(&m, &source);
        for (size_t l = 0; l < m.model->shape.layers; l++) m.model->shape.layer[l].attention_scale = 0.3f;
        check_foldings(&t, m.model, "float", sm_cpu_features(), t.tolerance);
        for (size_t l = 0; l < m.model->shape.layers; l++) m.model->shape.layer[l].attention_scale = 0.5f;
        check_foldings(&t, m.model, "float", sm_cpu_features(), 0);
        tiny_unload(&m);
        tiny_close(&t);
    }
}

/* Half-float scales of blocks round a folded scale that is no power of two, and nothing else does. */
static void test_blocks_round(void **state)
{
    static const char *const files[] = {"llama-tiny-q8_0.gguf", "llama-tiny-q4_0.gguf"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct tiny_source source = {.model = "llama-tiny", .file = files[i]};
        struct tiny t;
        struct tiny_model m;
        struct run plain, folded;
        struct sm_choice choice = {.features = sm_cpu_features()};
        tiny_open(&t, "llama-tiny");
        tiny_load(&m, &source);
        for (size_t l = 0; l < m.model->shape.layers; l++) m.model->shape.layer[l].attention_scale = 0.3f;
        open_run(&plain, &t, m.model, "native", &choice, SM_KV_F32);
        for (choice.scale_in = SM_SCALE_IN_Q; choice.scale_in < SM_SCALE_INS; choice.scale_in++) {
            open_run(&folded, &t, m.model, "native", &choice, SM_KV_F32);
            const double share = peir(plain.logits, folded.logits, t.turns_count * t.vocab);
            print_message("%s, a scale of 0.3 in %s: PEIR %.5f\n", files[i], sm_scale_in_name(choice.scale_in), share);
            assert_true(share > 0 && share < 0.025);
            close_run(&folded);
        }
        close_run(&plain);
        tiny_unload(&m);
        tiny_close(&t);
    }
}

static void synthetic_logits(const struct sm_model *m, const char *recipe, enum sm_scale_in in, float *logits)
{
    static const int32_t tokens[] = {3, 1, 4, 1, 5, 9, 2, 6};
    const struct sm_choice choice = {.features = sm_cpu_features(), .scale_in = in};
    const struct sm_session_options options = {.max_seq = 24, .kv = SM_KV_F32, .threads = 1};
    struct sm_weights *w = NULL;
    struct sm_session *session = NULL;
    if (sm_weights_create(&w, m, recipe, &choice, why, sizeof why) ||
        sm_session_create(&session, w, &options, why, sizeof why) ||
        sm_session_prefill(session, tokens, 8, SM_PAD_RIGHT, why, sizeof why) ||
        sm_session_decode(session, 35, why, sizeof why))
        fail_msg("%s", why);
    memcpy(logits, sm_session_logits(session), m->shape.vocab * sizeof *logits);
    sm_session_destroy(session);
    sm_weights_destroy(w);
}

/* A head_dim of 64: the scales of all blocks take 1/8 exactly. */
static void test_blocks_exactly(void **state)
{
    static const enum sm_format formats[] = {SM_FORMAT_F32, SM_FORMAT_Q4_0, SM_FORMAT_Q4_1, SM_FORMAT_Q8_0};
    static struct sm_model_shape shape;
    float plain[128], folded[128];
    (void)state;
    assert_int_equal(sm_shape_load(&shape, "smollm2-135m", why, sizeof why), 0);
    shape.layers = 2;
    shape.hidden = 128; /* so that no scale of a block comes out subnormal */
    shape.vocab = 128;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        for (const char *recipe = "native"; recipe; recipe = strcmp(recipe, "float") ? "float" : NULL) {
            struct sm_model *m;
            if (sm_model_synthetic(&m, &shape, &(struct sm_synthetic){.format = formats[i], .seed = 5}, why,
                                   sizeof why))
                fail_msg("%s", why);
            synthetic_logits(m, recipe, SM_SCALE_IN_SCORES, plain);
            for (enum sm_scale_in in = SM_SCALE_IN_Q; in < SM_SCALE_INS; in++) {
                synthetic_logits(m, recipe, in, folded);
                if (memcmp(plain, folded, sizeof plain))
                    fail_msg("%s in %s: a scale of 1/8 in %s changes logits by %g", sm_format_name(formats[i]), recipe,
                             sm_scale_in_name(in), difference(plain, folded, shape.vocab));
            }
            sm_model_close(m);
        }
}

static void test_cache_of_tico(void **state)
{
    (void)state;
    const struct tiny_source source = {.model = "llama-tiny"};
    struct tiny t;
    struct tiny_model m;
    struct run r;
    struct golden tico;
    size_t sizes[4];
    const struct sm_choice choice = {.features = sm_cpu_features(), .scale_in = SM_SCALE_IN_K};
    tiny_open(&t, "llama-tiny");
    tiny_load(&m, &source);
    golden_open(&tico, "llama-tiny/tico");
    open_run(&r, &t, m.model, "float", &choice, SM_KV_F32);
    for (int values = 0; values <= 1; values++) {
        char name[64];
        float slot[64];
        snprintf(name, sizeof name, "tico.buckets_1_8.cache.%s", values ? "v" : "k");
        const float *stored = golden_floats(&tico, name, 4, sizes);
        assert_true(sizes[1] * sizes[3] <= 64 && sizes[2] == MAX_SEQ - 1);
        for (size_t l = 0; l < sizes[0]; l++)
            for (size_t p = 0; p < sizes[2]; p++) {
                sm_cache_read(sm_session_cache(r.session), l, values, p, slot);
                for (size_t g = 0; g < sizes[1]; g++) {
                    const float *head = stored + ((l * sizes[1] + g) * sizes[2] + p) * sizes[3];
                    const double off = difference(slot + g * sizes[3], head, sizes[3]);
                    if (!(off <= t.tolerance)) fail_msg("%s of layer %zu, slot %zu: off by %g", name, l, p, off);
                }
            }
    }
    close_run(&r);
    golden_close(&tico);
    tiny_unload(&m);
    tiny_close(&t);
}

static void refused(const struct sm_model *m, enum sm_scale_in in, const char *sentence)
{
    struct sm_weights *w = NULL;
    const struct sm_choice choice = {.features = sm_cpu_features(), .scale_in = in};
    assert_int_equal(sm_weights_create(&w, m, "float", &choice, why, sizeof why), sentence ? -1 : 0);
    if (sentence && !strstr(why, sentence)) fail_msg("expected '%s' in: %s", sentence, why);
    sm_weights_destroy(w);
}

static void test_refusals(void **state)
{
    (void)state;
    enum sm_scale_in in = SM_SCALE_INS;
    const struct tiny_source sharing = {.model = "gemma4-tiny"}, key_is_value = {.model = "gemma4-keqv-tiny"};
    struct tiny_model m;
    tiny_load(&m, &sharing);
    struct sm_layer_shape *last = &m.model->shape.layer[m.model->shape.layers - 1];
    assert_true(last->kv_source + 1 < m.model->shape.layers);
    last->attention_scale = 0.5f;
    refused(m.model, SM_SCALE_IN_K, "layer 8, 0.5, into k: the layer uses the keys of one that has another scale");
    refused(m.model, SM_SCALE_IN_Q, NULL);
    last->attention_scale = 1.5f;
    refused(m.model, SM_SCALE_IN_Q, "not within 0 and 1");
    refused(m.model, SM_SCALE_IN_SCORES, NULL);
    tiny_unload(&m);
    tiny_load(&m, &key_is_value);
    for (size_t l = 0; l < m.model->shape.layers; l++) m.model->layer[l].tensor[SM_TENSOR_K_NORM].data = NULL;
    refused(m.model, SM_SCALE_IN_K, "also the layer's values");
    refused(m.model, SM_SCALE_IN_Q, NULL);
    tiny_unload(&m);
    assert_int_equal(sm_scale_in_named("k", &in), 0);
    assert_int_equal(in, SM_SCALE_IN_K);
    assert_int_equal(sm_scale_in_named("v", &in), -1);
    assert_string_equal(sm_scale_in_name(SM_SCALE_IN_SCORES), "scores");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_model),   cmocka_unit_test(test_other_scales),
        cmocka_unit_test(test_blocks_round),  cmocka_unit_test(test_blocks_exactly),
        cmocka_unit_test(test_cache_of_tico), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
