/* Shapes of models: every file in the folder, and what is derived from it against published numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "shape.h"

static struct sm_model_shape shape; /* large: not on the stack */
static char why[256];

/* Parameters and linear multiply-adds a token, as published or counted from the published configurations. */
static const struct {
    const char *name;
    double parameters;
    size_t kv_elements, attentions;
} known[] = {
    {"smollm2-135m", 134515008, 11520, 1},  {"smollm2-360m", 361821120, 20480, 1},
    {"smollm2-1.7b", 1711376384, 98304, 1}, {"llama-3.2-1b", 1235814400, 16384, 1},
    {"llama-3.2-3b", 3212749824, 57344, 1}, {"tinyllama-1.1b", 1100048384, 11264, 1},
    {"gemma-2-2b", 2614341888, 53248, 2},   {"gemma-3-270m", 268098176, 9216, 2},
    {"gemma-3-1b", 999885952, 13312, 2},    {"gemma-4-e2b", 4628569379, 9216, 2},
    {"gemma-4-e4b", 7463013418, 28672, 2},  {"gemma-3-4b", 3880263168, 69632, 2},
};

static void test_known_shapes(void **state)
{
    (void)state;
    struct sm_attention_shape attentions[4];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (sm_shape_load(&shape, known[i].name, why, sizeof why)) fail_msg("%s", why);
        assert_string_equal(shape.name, known[i].name);
        assert_true(shape.runs);
        assert_true(sm_shape_parameters(&shape) == known[i].parameters);
        assert_int_equal(sm_shape_kv_elements(&shape), known[i].kv_elements);
        assert_int_equal(sm_shape_attentions(&shape, attentions, 4), known[i].attentions);
    }
}

static void test_matmuls(void **state)
{
    (void)state;
    struct sm_matmul_shape list[16];
    assert_int_equal(sm_shape_load(&shape, "smollm2-135m", why, sizeof why), 0);
    assert_int_equal(sm_shape_matmuls(&shape, list, 16), 5);
    assert_string_equal(list[0].label, "q, o");
    assert_int_equal(list[0].out, 576);
    assert_int_equal(list[0].count, 60);
    assert_string_equal(list[1].label, "k, v");
    assert_string_equal(list[4].label, "head");
    assert_int_equal(list[4].out, 49152);
    assert_int_equal(sm_shape_matmuls(&shape, list, 2), 2);
}

static void test_gemma4_layers(void **state)
{
    (void)state;
    assert_int_equal(sm_shape_load(&shape, "gemma-4-e2b", why, sizeof why), 0);
    assert_int_equal(shape.layer[15].kv_source, 13);
    assert_int_equal(shape.layer[34].kv_source, 14);
    assert_int_equal(shape.layer[14].head_dim, 512);
    assert_int_equal(shape.layer[14].rope_pairs, 64);
    assert_int_equal(shape.layer[13].head_dim, 256);
    assert_int_equal(shape.layer[13].window, 512);
    assert_int_equal(shape.layer[14].window, 0);
    assert_int_equal(shape.layer[15].ffn, 12288);
}

static const char good[] = "name = x\narch = llama\nruns = yes\nhidden = 64\nlayers = 2\nheads = 4\nkv_heads = 2\n"
                           "head_dim = 16\nffn = 96\nvocab = 100\ncontext = 64\nrope_theta = 1e4\neps = 1e-5\n"
                           "tied = yes # a comment\n";

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *sentence;
    } cases[] = {
        {"heads = 4", "heads = 3", "multiple"},
        {"layers = 2", "layers = 9999", "too many layers"},
        {"layers = 2", "layers = 0", "layers is 0"},
        {"tied = yes", "tied = maybe", "neither yes nor no"},
        {"ffn = 96", "", "lacks 'ffn'"},
        {"ffn = 96", "ffn = 96\nffn = 96", "twice"},
        {"ffn = 96", "ffn = 96.5", "whole number"},
        {"ffn = 96", "ffn = 96 97", "more than one"},
        {"ffn = 96", "fnf = 96", "no key 'fnf'"},
        {"ffn = 96", "ffn 96", "key = value"},
        {"ffn = 96", "ffn = ninety", "not a number"},
        {"ffn = 96", "ffn = -1", "whole number"},
        {"head_dim = 16", "head_dim = 12", "multiple of 8"},
        {"eps = 1e-5", "eps = 2", "eps is 2"},
        {"eps = 1e-5", "eps = nan", "not a number"},
        {"ffn = 96", "ffn = 96\nfull_layers = 7", "does not have"},
        {"ffn = 96", "ffn = 96\nkv_shared_layers = 2", "no layer owns"},
        {"ffn = 96", "ffn = 96\nkv_shared_layers = 3", "more than the layers"},
        {"ffn = 96", "ffn = 96\nwindow = 8\nfull_layers = 1\nkv_shared_layers = 1", "no layer owns"},
        {"ffn = 96", "ffn = 96\nqk_norm = maybe", "neither yes nor no"},
        {"ffn = 96", "ffn = 96\nfull_rope_factor = 0", "divides its rotary frequencies by 0"},
        {"ffn = 96", "ffn = 96\nfull_kv_heads = 3", "multiple"},
    };
    assert_int_equal(sm_shape_parse(&shape, good, "here", why, sizeof why), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        const char *at = strstr(good, cases[i].from);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, cases[i].to, at + strlen(cases[i].from));
        assert_int_equal(sm_shape_parse(&shape, text, "here", why, sizeof why), -1);
        if (!strstr(why, cases[i].sentence)) fail_msg("'%s' gave: %s", cases[i].to, why);
    }
    assert_int_equal(sm_shape_load(&shape, "no-such-model", why, sizeof why), -1);
    assert_non_null(strstr(why, "no-such-model"));
    assert_int_equal(sm_shape_load(&shape, SM_SOURCE_DIR "/profiles/shapes/llama-3.2-1b.shape", why, sizeof why), 0);
    assert_string_equal(shape.name, "llama-3.2-1b");
    assert_false(sm_shape_exists("no-such-model"));
    assert_true(sm_shape_exists("smollm2-1.7b"));
}

/* The documented example is read, key by key. */
static void test_documented(void **state)
{
    (void)state;
    static char text[16384];
    FILE *file = fopen(SM_SOURCE_DIR "/profiles/shapes/README.md", "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    char *begin = strstr(text, "```\n"), *end = begin ? strstr(begin + 4, "```\n") : NULL;
    assert_non_null(end);
    *end = '\0';
    if (sm_shape_parse(&shape, begin + 4, "the example", why, sizeof why)) fail_msg("%s", why);
    const struct sm_layer_shape *full = &shape.layer[5], *consumer = &shape.layer[11], *sliding = &shape.layer[6];
    assert_true(full->window == 0 && full->head_dim == 512 && full->kv_heads == 2 && full->rope_pairs == 64);
    assert_true(full->rope_theta == 1e6 && full->rope_factor == 8 && full->value_is_key && full->value_norm);
    assert_true(consumer->kv_source == 5 && consumer->ffn == 12288 && !consumer->value_is_key);
    assert_true(sliding->kv_source == 4 && sliding->window == 512 && sliding->kv_heads == 4);
    assert_true(sliding->rope_theta == 1e4 && sliding->rope_factor == 1 && sliding->rope_pairs == 128);
    assert_true(shape.qk_norm && shape.post_norms && shape.layer_scalar && shape.per_layer_width == 256);
    assert_true(shape.final_softcap == 30 && full->attention_softcap == 50 && full->attention_scale == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_shapes), cmocka_unit_test(test_matmuls),    cmocka_unit_test(test_gemma4_layers),
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
