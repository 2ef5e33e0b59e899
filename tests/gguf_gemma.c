/* Gemma 2, 3 and 4 from GGUF files: the shape that the metadata says, the tensors each kind of layer has, and files
 * whose metadata would make another model. */
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
#include "golden.h"
#include "runtime_fixture.h"

static char why[512];

static struct sm_model *open_model(const char *name)
{
    struct sm_model *m = NULL;
    if (sm_model_open(&m, golden_path(name), why, sizeof why)) fail_msg("%s", why);
    assert_true(m->parameters == sm_shape_parameters(&m->shape));
    assert_true(m->shape.activation == SM_ACTIVATION_GELU && m->shape.post_norms && m->shape.tied);
    assert_true(m->shape.embedding_scale == (float)sqrt((double)m->shape.hidden));
    assert_false(m->norm_plus_one); /* their norms hold w + 1 in the file */
    assert_false(m->paired_rows);
    assert_null(m->rope_divisors.data);
    for (size_t l = 0; l < m->shape.layers; l++) assert_non_null(m->layer[l].tensor[SM_TENSOR_POST_FFN_NORM].data);
    return m;
}

static void test_gemma2(void **state)
{
    (void)state;
    struct sm_model *m = open_model("gemma2-tiny/gemma2-tiny-f16.gguf");
    const struct sm_model_shape *s = &m->shape;
    assert_true(s->layers == 4 && s->hidden == 48 && s->vocab == 160 && s->final_softcap == 8 && !s->qk_norm);
    for (size_t l = 0; l < s->layers; l++) {
        const struct sm_layer_shape *a = &s->layer[l];
        assert_int_equal(a->window, l % 2 ? 0 : 8); /* even layers slide */
        assert_true(a->attention_softcap == 2 && a->attention_scale == 0.25f && a->rope_theta == 10000);
        assert_true(a->rope_factor == 1 && a->rope_pairs == 8 && !a->value_norm && !a->value_is_key);
        assert_null(m->layer[l].tensor[SM_TENSOR_Q_NORM].data);
    }
    sm_model_close(m);
}

static void test_gemma3(void **state)
{
    (void)state;
    static const char *const files[] = {"gemma3-tiny/gemma3-tiny-f16.gguf", "gemma3-tiny/gemma3-tiny-q8_0.gguf"};
    for (size_t f = 0; f < 2; f++) {
        struct sm_model *m = open_model(files[f]);
        const struct sm_model_shape *s = &m->shape;
        assert_true(s->layers == 7 && s->final_softcap == 0 && s->qk_norm);
        for (size_t l = 0; l < s->layers; l++) {
            const struct sm_layer_shape *a = &s->layer[l];
            const bool full = l == 5;
            assert_int_equal(a->window, full ? 0 : 8);
            assert_true(a->rope_theta == (full ? 1e6 : 1e4) && a->rope_factor == (full ? 4 : 1));
            assert_true(a->attention_softcap == 0 && a->attention_scale == (float)(1 / sqrt(32.0)));
            assert_int_equal(m->layer[l].tensor[SM_TENSOR_Q_NORM].cols, 32);
            assert_non_null(m->layer[l].tensor[SM_TENSOR_K_NORM].data);
        }
        sm_model_close(m);
    }
}

static void test_gemma4(void **state)
{
    (void)state;
    struct sm_model *m = open_model("gemma4-tiny/gemma4-tiny-f16.gguf");
    const struct sm_model_shape *s = &m->shape;
    static const size_t sources[9] = {0, 1, 2, 3, 4, 2, 4, 4, 2};
    assert_true(s->layers == 9 && s->final_softcap == 8 && s->per_layer_width == 8 && s->layer_scalar);
    assert_true(m->per_layer_table.rows == 160 && m->per_layer_table.cols == 72);
    assert_true(m->per_layer_context.rows == 72 && m->per_layer_norm.cols == 8);
    for (size_t l = 0; l < s->layers; l++) {
        const struct sm_layer_shape *a = &s->layer[l];
        const struct sm_tensor *t = m->layer[l].tensor;
        const bool full = l % 3 == 2, owner = l < 5;
        assert_int_equal(a->window, full ? 0 : 8);
        assert_int_equal(a->head_dim, full ? 32 : 16);
        assert_int_equal(a->rope_pairs, full ? 4 : 8); /* a quarter of the pairs of full layers */
        assert_true(a->rope_theta == (full ? 1e6 : 1e4) && a->rope_factor == 1);
        assert_true(a->attention_scale == 1 && a->attention_softcap == 0 && a->value_norm && !a->value_is_key);
        assert_int_equal(a->ffn, owner ? 64 : 128);
        assert_int_equal(a->kv_source, sources[l]);
        assert_int_equal(t[SM_TENSOR_K].data != NULL, owner);
        assert_int_equal(t[SM_TENSOR_V].data != NULL, owner);
        assert_int_equal(t[SM_TENSOR_K_NORM].data != NULL, owner);
        assert_non_null(t[SM_TENSOR_PER_LAYER_GATE].data);
        assert_non_null(t[SM_TENSOR_PER_LAYER_PROJECTION].data);
        assert_non_null(t[SM_TENSOR_PER_LAYER_POST_NORM].data);
        float scalar;
        memcpy(&scalar, t[SM_TENSOR_LAYER_SCALAR].data, sizeof scalar);
        assert_true(scalar > 0 && scalar != 1);
    }
    sm_model_close(m);
}

/* Loads a copy of `file` in which the bytes `skip` after the first `text` are replaced: the model, or NULL and a
 * sentence. The copy is kept until the next call. */
static struct sm_model *changed_bytes(const char *file, const void *text, size_t text_bytes, size_t skip,
                                      const void *value, size_t count)
{
    static unsigned char copy[1 << 20] __attribute__((aligned(64)));
    struct sm_model *m, *other = NULL;
    if (sm_model_open(&m, golden_path(file), why, sizeof why)) fail_msg("%s", why);
    const size_t bytes = m->map_bytes;
    assert_true(bytes <= sizeof copy);
    memcpy(copy, m->map, bytes);
    sm_model_close(m);
    unsigned char *at = memmem(copy, bytes, text, text_bytes);
    assert_non_null(at);
    memcpy(at + skip, value, count);
    why[0] = '\0';
    return sm_model_open_memory(&other, copy, bytes, why, sizeof why) ? NULL : other;
}

static struct sm_model *changed(const char *file, const char *text, size_t skip, const void *value, size_t count)
{
    return changed_bytes(file, text, strlen(text), skip, value, count);
}

/* A value of the metadata (its key, then a type of four bytes, then the value) or a name changed: refused, with these
 * words. */
static void refused(const char *file, const char *text, size_t skip, const void *value, size_t count, const char *words)
{
    struct sm_model *m = changed(file, text, skip, value, count);
    if (m) fail_msg("%s loaded with another %s", file, text);
    if (!strstr(why, words)) fail_msg("%s: expected '%s' in: %s", text, words, why);
}

#define VALUE(key) key, strlen(key) + 4

static void test_refusals(void **state)
{
    (void)state;
    static const char g2[] = "gemma2-tiny/gemma2-tiny-f16.gguf", g3[] = "gemma3-tiny/gemma3-tiny-f16.gguf",
                      g4[] = "gemma4-tiny/gemma4-tiny-f16.gguf";
    const uint32_t zero = 0, nine = 9, ten = 10;
    const float none = 0, infinite = INFINITY;
    refused(g2, "gemma2.attn_logit_softcapping", 8, "X", 1, "lacks one of gemma2's two softcaps");
    refused(g2, "gemma2.attention.key_length", 8, "X", 1, "lacks gemma2.attention.key_length");
    refused(g2, "gemma2.attention.sliding_window", 8, "X", 1, "lacks gemma2.attention.sliding_window");
    refused(g2, VALUE("gemma2.attention.sliding_window"), &zero, 4, "sliding_window is 0");
    refused(g2, "blk.1.post_attention_norm.weight", 6, "X", 1, "no tensor blk.1.post_attention_norm.weight");
    refused(g3, "gemma3.rope.freq_base", 8, "X", 1, "lacks gemma3.rope.freq_base");
    refused(g3, "linear", 0, "yarnxx", 6, "rotary scaling is of a kind");
    refused(g3, VALUE("gemma3.rope.scaling.factor"), &none, 4, "factor of 0");
    refused(g3, VALUE("gemma3.rope.scaling.factor"), &infinite, 4, "factor of inf");
    refused(g3, "blk.0.attn_q_norm.weight", 6, "X", 1, "no tensor blk.0.attn_q_norm.weight");
    refused(g4, VALUE("gemma4.attention.shared_kv_layers"), &nine, 4, "no layer of its kind owns any");
    refused(g4, VALUE("gemma4.attention.shared_kv_layers"), &ten, 4, "10 of its 9 layers");
    refused(g4, "gemma4.attention.sliding_window_pattern", 20, "X", 1, "lacks gemma4.attention.sliding_window_pattern");
    refused(g4, VALUE("gemma4.embedding_length_per_layer_input"), &zero, 4, "tensor blk.0.inp_gate.weight");
    refused(g4, VALUE("gemma4.attention.key_length_swa"), &nine, 4, "keys of 9 elements");
    refused(g4, "blk.7.inp_gate.weight", 6, "X", 1, "no tensor blk.7.inp_gate.weight");
    refused(g4, "blk.4.attn_k.weight", 6, "X", 1, "no tensor blk.4.attn_k.weight");
}

/* Which pairs of a full layer rotate is read from divisors; those that say something else are refused. */
static void test_rope_divisors(void **state)
{
    (void)state;
    static const char g4[] = "gemma4-tiny/gemma4-tiny-f16.gguf";
    static const float divisors[16] = {1,     1,     1,     1,     1e30f, 1e30f, 1e30f, 1e30f,
                                       1e30f, 1e30f, 1e30f, 1e30f, 1e30f, 1e30f, 1e30f, 1e30f};
    static const struct {
        size_t at;
        float value;
        const char *words;
    } bad[] = {{1, 2, "divisor of 2 at pair 1"},
               {9, 1, "divisor of 1 at pair 9"},
               {0, -1, "divisor of -1 at pair 0"},
               {3, NAN, "nan at pair 3"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        float other[16];
        memcpy(other, divisors, sizeof other);
        other[bad[i].at] = bad[i].value;
        assert_null(changed_bytes(g4, divisors, sizeof divisors, 0, other, sizeof other));
        if (!strstr(why, bad[i].words)) fail_msg("expected '%s' in: %s", bad[i].words, why);
    }
    const float halved[6] = {2, 2, 2, 2, 2, 1e30f};
    struct sm_model *m = changed_bytes(g4, divisors, sizeof divisors, 0, halved, sizeof halved);
    if (!m) fail_msg("%s", why);
    assert_true(m->shape.layer[8].rope_pairs == 5 && m->shape.layer[8].rope_factor == 2);
    assert_true(m->shape.layer[7].rope_pairs == 8 && m->shape.layer[7].rope_factor == 1);
    sm_model_close(m);
}

/* A layer without a value matrix takes its keys for values; what a consumer does not need is not asked for. */
static void test_absent_values(void **state)
{
    (void)state;
    static const char g4[] = "gemma4-tiny/gemma4-tiny-f16.gguf";
    struct sm_model *m = changed(g4, "blk.2.attn_v.weight", 6, "X", 1);
    if (!m) fail_msg("%s", why);
    assert_true(m->shape.layer[2].value_is_key && !m->shape.layer[1].value_is_key && !m->shape.layer[5].value_is_key);
    assert_null(m->layer[2].tensor[SM_TENSOR_V].data);
    assert_true(m->parameters == sm_shape_parameters(&m->shape));
    sm_model_close(m);
    m = changed(g4, "blk.3.layer_output_scale.weight", 6, "X", 1);
    if (!m) fail_msg("%s", why);
    assert_null(m->layer[3].tensor[SM_TENSOR_LAYER_SCALAR].data);
    sm_model_close(m);
}

/* What these models answer, to the last row: a prefill, and the same tokens decoded after the first ten. */
static void test_logits(void **state)
{
    (void)state;
    static const struct {
        const char *name, *file, *logits;
    } files[] = {{"gemma2-tiny", "f16", "gguf.f16.logits"},
                 {"gemma3-tiny", "f16", "gguf.f16.logits"},
                 {"gemma3-tiny", "q8_0", "gguf.q8_0.logits"},
                 {"gemma4-tiny", "f16", "gguf.f16.logits"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct golden golden, gguf;
        struct fixture f;
        char name[128], path[4096];
        size_t sizes[2], count;
        snprintf(name, sizeof name, "%s/golden", files[i].name);
        golden_open(&golden, name);
        snprintf(name, sizeof name, "%s/gguf", files[i].name);
        golden_open(&gguf, name);
        snprintf(name, sizeof name, "%s/%s-%s.gguf", files[i].name, files[i].name, files[i].file);
        snprintf(path, sizeof path, "%s", golden_path(name));
        const int32_t *tokens = golden_ints(&golden, "full.tokens", 1, &count);
        const float *logits = golden_floats(&gguf, files[i].logits, 2, sizes);
        const double tolerance = 4 * golden_number(&golden, "float32_vs_float64_max_abs");
        const struct fixture_options o = {path, "float", sm_cpu_features(), 48, 2, SM_KV_F32, true};
        fixture_open(&f, &o);
        if (sm_session_prefill(f.session, tokens, count, SM_PAD_RIGHT, why, sizeof why)) fail_msg("%s", why);
        const float *rows = sm_plan_logits(sm_session_plan(f.session, SM_PHASE_PREFILL));
        const double prefill = difference(rows, logits, count * sizes[1]);
        double decode = 0;
        if (sm_session_prefill(f.session, tokens, 10, SM_PAD_RIGHT, why, sizeof why)) fail_msg("%s", why);
        for (size_t p = 10; p < count; p++) {
            if (sm_session_decode(f.session, tokens[p], why, sizeof why)) fail_msg("%s", why);
            const double off = difference(sm_session_logits(f.session), logits + p * sizes[1], sizes[1]);
            if (!(off <= decode)) decode = off;
        }
        print_message("%s: prefill off by %.2g, decode by %.2g, of %.2g\n", name, prefill, decode, tolerance);
        assert_true(prefill <= tolerance && decode <= tolerance);
        fixture_close(&f);
        golden_close(&golden);
        golden_close(&gguf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemma2),   cmocka_unit_test(test_gemma3),        cmocka_unit_test(test_gemma4),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_rope_divisors), cmocka_unit_test(test_absent_values),
        cmocka_unit_test(test_logits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
