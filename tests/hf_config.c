/* config.json: what the keys of both generations mean, one change at a time, and what is refused by name. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"
#include "hf_config.h"
#include "hf_fixture.h"

static char why[512];
static struct sm_hf_config config;

/* A small model's config with a key changed: "key" or "object/key", to a JSON text, or removed when it is NULL. */
static char *changed(size_t m, size_t style, const char *path, const char *to)
{
    char file[128], key[64];
    json_error_t error;
    snprintf(file, sizeof file, "%s/%s", small_models[m], config_styles[style]);
    json_t *top = json_load_file(golden_path(file), 0, &error), *object = top;
    assert_non_null(top);
    for (const char *slash; path && (slash = strchr(path, '/')); path = slash + 1) {
        snprintf(key, sizeof key, "%.*s", (int)(slash - path), path);
        object = json_object_get(object, key);
        if (!json_is_object(object)) fail_msg("%s has no object %s", file, key);
    }
    if (path && to) {
        json_t *value = json_loads(to, JSON_DECODE_ANY, &error);
        assert_non_null(value);
        json_object_set_new(object, path, value);
    } else if (path && json_object_del(object, path))
        fail_msg("%s has no %s", file, path);
    char *text = json_dumps(top, 0);
    json_decref(top);
    assert_non_null(text);
    return text;
}

static int parse(const char *text)
{
    why[0] = '\0';
    return sm_hf_config_parse(&config, text, strlen(text), "it", why, sizeof why);
}

static void parse_changed(size_t m, size_t style, const char *path, const char *to)
{
    char *text = changed(m, style, path, to);
    if (parse(text)) fail_msg("%s with %s = %s: %s", small_models[m], path ? path : "", to ? to : "nothing", why);
    free(text);
}

static void expect(size_t m, size_t style, const char *path, const char *to, const char *words)
{
    char *text = changed(m, style, path, to);
    if (!parse(text)) fail_msg("%s with %s = %s was read", small_models[m], path, to ? to : "nothing");
    if (!strstr(why, words)) fail_msg("%s with %s: expected '%s' in: %s", small_models[m], path, words, why);
    free(text);
}

enum { LLAMA, LLAMA3, GEMMA2, GEMMA3, GEMMA4, KEQV };
enum { NEW, OLD };

/* What the files say, written down by hand: kinds of layers, windows, rotary embeddings, scales. */
static void test_meaning(void **state)
{
    (void)state;
    const struct sm_model_shape *s = &config.shape;
    parse_changed(LLAMA, OLD, NULL, NULL);
    assert_true(s->runs && !s->tied && s->layers == 3 &&
                s->layer[2].head_dim == 16); /* the older file lacks head_dim */
    assert_true(s->embedding_scale == 1 && s->layer[0].attention_scale == 0.25f && !config.norm_plus_one);
    parse_changed(LLAMA3, OLD, NULL, NULL);
    assert_true(s->rope_scaling.factor == 8 && s->rope_scaling.low == 1 && s->rope_scaling.high == 4);
    assert_true(s->rope_scaling.original == 64 && config.attention_bias && !config.mlp_bias && s->tied);
    parse_changed(GEMMA2, OLD, NULL, NULL);
    for (size_t l = 0; l < 4; l++) assert_int_equal(s->layer[l].window, l % 2 ? 0 : 8);
    assert_true(s->layer[1].attention_scale == (float)(1 / sqrt(24)) && s->layer[1].attention_softcap == 2);
    assert_true(s->final_softcap == 8 && config.norm_plus_one && s->post_norms && !s->qk_norm);
    parse_changed(GEMMA3, OLD, NULL, NULL);
    for (size_t l = 0; l < 7; l++) {
        const struct sm_layer_shape *a = &s->layer[l];
        assert_int_equal(a->window, l == 5 ? 0 : 8);
        assert_true(a->rope_theta == (l == 5 ? 1e6 : 1e4) && a->rope_factor == (l == 5 ? 4 : 1));
        assert_true(a->rope_pairs == 16 && a->attention_softcap == 0 && !a->value_norm);
    }
    assert_true(config.norm_plus_one && s->qk_norm && s->final_softcap == 0);
    parse_changed(KEQV, OLD, NULL, NULL);
    assert_true(s->layer[2].kv_heads == 1 && s->layer[1].kv_heads == 2 && s->layer[2].value_is_key);
    assert_true(!s->layer[1].value_is_key && s->layer[1].value_norm && s->per_layer_width == 0);
}

/* Who owns keys and values, as the reference results have it, and what consumers get. */
static void test_sharing(void **state)
{
    (void)state;
    struct golden golden;
    golden_open(&golden, "gemma4-tiny/golden");
    const json_t *layers = json_object_get(golden.facts, "kv_layers");
    parse_changed(GEMMA4, NEW, NULL, NULL);
    assert_int_equal(json_array_size(layers), config.shape.layers);
    for (size_t l = 0; l < config.shape.layers; l++) {
        const struct sm_layer_shape *a = &config.shape.layer[l];
        const json_t *source = json_object_get(json_array_get(layers, l), "source_layer");
        assert_int_equal(a->kv_source, json_integer_value(source));
        const bool full = l % 3 == 2;
        assert_true(a->ffn == (l < 5 ? 64 : 128) && a->head_dim == (full ? 32 : 16));
        assert_true(a->rope_pairs == (full ? 4 : 8) && a->rope_theta == (full ? 1e6 : 1e4));
        assert_true(a->attention_scale == 1 && a->value_norm);
    }
    golden_close(&golden);
    parse_changed(GEMMA4, NEW, "num_kv_shared_layers", "0");
    assert_true(config.shape.layer[8].kv_source == 8 && config.shape.layer[8].ffn == 64);
    parse_changed(GEMMA4, NEW, "num_kv_shared_layers", "9"); /* all of them: none, as the reference has it */
    assert_true(config.shape.layer[8].kv_source == 8 && config.shape.layer[8].ffn == 64);
    parse_changed(GEMMA4, NEW, "use_double_wide_mlp", "false");
    assert_int_equal(config.shape.layer[8].ffn, 64);
    expect(GEMMA4, NEW, "num_kv_shared_layers", "8", "layer 2 shares keys and values, and no layer of its kind");
    expect(GEMMA4, NEW, "num_kv_shared_layers", "10", "10 of its 9 layers share");
}

/* Where the generations differ, and where a file has both. */
static void test_generations(void **state)
{
    (void)state;
    const struct sm_model_shape *s = &config.shape;
    parse_changed(GEMMA3, NEW, "_sliding_window_pattern", "2"); /* layer_types wins */
    assert_true(s->layer[1].window == 8 && s->layer[5].window == 0);
    parse_changed(GEMMA3, NEW, "layer_types", NULL);
    assert_true(s->layer[4].window == 8 && s->layer[5].window == 0);
    parse_changed(GEMMA3, OLD, "sliding_window_pattern", "2");
    assert_true(s->layer[1].window == 0 && s->layer[4].window == 8);
    parse_changed(GEMMA3, OLD, "rope_scaling", "null");
    assert_true(s->layer[5].rope_factor == 1);
    parse_changed(GEMMA3, OLD, "rope_scaling", "{\"type\": \"linear\", \"factor\": 8}");
    assert_true(s->layer[5].rope_factor == 8 && s->layer[4].rope_factor == 1);
    parse_changed(LLAMA3, NEW, "rope_scaling",
                  "{\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 1,"
                  " \"high_freq_factor\": 4, \"original_max_position_embeddings\": 64}");
    assert_true(s->rope_scaling.factor == 8);
    expect(LLAMA3, NEW, "rope_scaling", "{\"rope_type\": \"linear\", \"factor\": 2}", "rope_scaling differ");
    expect(LLAMA, NEW, "rope_theta", "500000", "it gives rope_theta as 10000 and rope_theta as 500000");
    expect(LLAMA, OLD, "rope_scaling", "{\"rope_type\": \"linear\", \"type\": \"default\", \"factor\": 2}", "is both");
    parse_changed(LLAMA, OLD, "rope_scaling", "{\"type\": \"linear\", \"factor\": 2}");
    assert_true(s->layer[1].rope_factor == 2);
    parse_changed(LLAMA, OLD, "head_dim", "32"); /* wins over hidden / heads */
    assert_int_equal(s->layer[0].head_dim, 32);
    parse_changed(GEMMA2, OLD, "hidden_act", "\"gelu\""); /* hidden_activation wins */
    parse_changed(GEMMA2, OLD, "hidden_activation", NULL);
    parse_changed(GEMMA4, NEW, "global_head_dim", "64"); /* per_layer_config wins */
    assert_int_equal(s->layer[2].head_dim, 32);
    parse_changed(KEQV, NEW, "per_layer_config/2", NULL); /* a layer of the common sizes */
    assert_true(s->layer[2].head_dim == 16 && s->layer[2].kv_heads == 2 && s->layer[5].head_dim == 32);
}

/* What a Gemma 4 file may leave out, and what counts only together. */
static void test_global_sizes(void **state)
{
    (void)state;
    const struct sm_model_shape *s = &config.shape;
    parse_changed(GEMMA4, NEW, "per_layer_config", NULL);
    assert_true(s->layer[2].head_dim == 512 && s->layer[1].head_dim == 16);
    parse_changed(GEMMA4, NEW, "per_layer_config", "null");
    assert_true(s->layer[2].head_dim == 512);
    parse_changed(GEMMA4, NEW, "per_layer_config", "{}");
    assert_true(s->layer[2].head_dim == 16);
    parse_changed(GEMMA4, OLD, "num_global_key_value_heads", "1"); /* counts only where keys are values */
    assert_true(s->layer[2].kv_heads == 2);
    parse_changed(KEQV, OLD, "num_global_key_value_heads", "null");
    assert_true(s->layer[2].kv_heads == 2 && s->layer[2].value_is_key);
    parse_changed(KEQV, OLD, "attention_k_eq_v", "false");
    assert_true(s->layer[2].kv_heads == 2 && !s->layer[2].value_is_key);
    parse_changed(GEMMA4, OLD, "rope_parameters/full_attention/factor", "2.5");
    assert_true(s->layer[2].rope_factor == 2.5 && s->layer[1].rope_factor == 1);
    parse_changed(GEMMA4, OLD, "rope_parameters/full_attention/partial_rotary_factor", "0.3"); /* floor(0.3 * 16) */
    assert_int_equal(s->layer[2].rope_pairs, 4);
    parse_changed(GEMMA4, OLD, "final_logit_softcapping", "null");
    assert_true(s->final_softcap == 0);
    parse_changed(GEMMA4, OLD, "use_bidirectional_attention", "\"vision\"");
    parse_changed(GEMMA4, OLD, "tie_word_embeddings", NULL);
    assert_true(s->tied);
    parse_changed(LLAMA3, OLD, "tie_word_embeddings", NULL);
    assert_true(!s->tied);
}

/* A decoder among other parts, under text_config. */
static void test_nested(void **state)
{
    (void)state;
    static const struct {
        size_t model;
        const char *outer, *arch;
    } all[] = {{GEMMA3, "gemma3", "gemma3"}, {GEMMA4, "gemma4", "gemma4"}};
    for (size_t i = 0; i < 2; i++) {
        char text[8192], *inner = changed(all[i].model, OLD, "tie_word_embeddings", NULL);
        snprintf(text, sizeof text,
                 "{\"model_type\": \"%s\", \"vision_config\": {\"hidden_size\": 7}, \"tie_word_embeddings\": false, "
                 "\"text_config\": %s}",
                 all[i].outer, inner);
        if (parse(text)) fail_msg("%s", why);
        assert_string_equal(config.shape.arch, all[i].arch);
        assert_true(config.shape.hidden == 32 && !config.shape.tied);
        snprintf(text, sizeof text, "{\"model_type\": \"%s\", \"text_config\": 3}", all[i].outer);
        assert_int_equal(parse(text), -1);
        assert_non_null(strstr(why, "lacks text_config"));
        free(inner);
    }
}

/* Each key that decides what is computed must be there, in each generation. */
static void test_missing(void **state)
{
    (void)state;
    static const char *const all[] = {"model_type",        "hidden_size",         "intermediate_size",
                                      "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
                                      "vocab_size",        "rms_norm_eps",        "max_position_embeddings"};
    static const struct {
        size_t model, style;
        const char *key, *words;
    } some[] = {
        {LLAMA, OLD, "rope_theta", "lacks rope_theta"},
        {LLAMA, NEW, "rope_parameters", "lacks rope_theta"},
        {LLAMA, NEW, "rope_parameters/rope_theta", "lacks rope_theta"},
        {LLAMA, NEW, "rope_parameters/rope_type", "rope_parameters has no rope_type"},
        {LLAMA, NEW, "hidden_act", "lacks hidden_act"},
        {LLAMA3, NEW, "rope_parameters/factor", "lacks factor"},
        {LLAMA3, OLD, "rope_scaling/low_freq_factor", "lacks low_freq_factor"},
        {LLAMA3, OLD, "rope_scaling/original_max_position_embeddings", "lacks original_max"},
        {GEMMA2, OLD, "head_dim", "lacks head_dim"},
        {GEMMA2, OLD, "sliding_window", "lacks sliding_window"},
        {GEMMA2, NEW, "query_pre_attn_scalar", "lacks query_pre_attn_scalar"},
        {GEMMA2, NEW, "attn_logit_softcapping", "lacks attn_logit_softcapping"},
        {GEMMA2, NEW, "final_logit_softcapping", "lacks final_logit_softcapping"},
        {GEMMA3, OLD, "sliding_window_pattern", "lacks layer_types"},
        {GEMMA3, OLD, "rope_local_base_freq", "lacks rope_local_base_freq"},
        {GEMMA3, OLD, "rope_theta", "lacks rope_theta"},
        {GEMMA3, NEW, "rope_parameters/full_attention", "say nothing of full_attention"},
        {GEMMA3, NEW, "rope_parameters/sliding_attention", "say nothing of sliding_attention"},
        {GEMMA3, NEW, "rope_parameters/full_attention/factor", "lacks factor"},
        {GEMMA3, NEW, "head_dim", "lacks head_dim"},
        {GEMMA4, NEW, "layer_types", "lacks layer_types"},
        {GEMMA4, NEW, "head_dim", "lacks head_dim"},
        {GEMMA4, NEW, "rope_parameters", "lacks rope_parameters"},
        {GEMMA4, NEW, "rope_parameters/full_attention/partial_rotary_factor", "lacks partial_rotary_factor"},
        {GEMMA4, NEW, "num_kv_shared_layers", "lacks num_kv_shared_layers"},
        {GEMMA4, NEW, "use_double_wide_mlp", "lacks use_double_wide_mlp"},
        {GEMMA4, NEW, "hidden_size_per_layer_input", "lacks hidden_size_per_layer_input"},
        {GEMMA4, NEW, "vocab_size_per_layer_input", "lacks vocab_size_per_layer_input"},
        {GEMMA4, NEW, "final_logit_softcapping", "lacks final_logit_softcapping"},
    };
    char words[64];
    for (size_t m = 0; m < SMALL_MODELS; m++)
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            for (size_t style = 0; style < CONFIG_STYLES; style++) {
                snprintf(words, sizeof words, "lacks %s", all[i]);
                expect(m, style, all[i], NULL, words);
                if (i) expect(m, style, all[i], "\"8\"", all[i]);
            }
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        expect(some[i].model, some[i].style, some[i].key, NULL, some[i].words);
}

static const struct {
    size_t model, style;
    const char *key, *value, *words;
} refusals[] = {
    {LLAMA, NEW, "model_type", "\"mamba\"", "models of the type mamba are not run; llama, gemma2"},
    {LLAMA, NEW, "model_type", "7", "lacks model_type"},
    {LLAMA, NEW, "num_experts", "8", "mixtures of experts are not run"},
    {LLAMA, NEW, "quantization_config", "{\"quant_method\": \"gptq\"}", "its weights are quantised"},
    {LLAMA, NEW, "hidden_act", "\"gelu\"", "activation gelu is not run"},
    {LLAMA, NEW, "hidden_size", "64.0", "hidden_size is not a size"},
    {LLAMA, NEW, "hidden_size", "-64", "hidden_size is not a size"},
    {LLAMA, NEW, "hidden_size", "9223372036854775807", "hidden_size is not a size"},
    {LLAMA, NEW, "hidden_size", "1000000000000", "hidden is 1000000000000"},
    {LLAMA, NEW, "num_hidden_layers", "257", "it has 257 layers"},
    {LLAMA, NEW, "num_hidden_layers", "0", "layers is 0"},
    {LLAMA, OLD, "num_attention_heads", "0", "0 heads do not divide"},
    {LLAMA, OLD, "num_attention_heads", "3", "3 heads do not divide"},
    {LLAMA, NEW, "num_key_value_heads", "3", "4 heads and 3 KV heads"},
    {LLAMA, NEW, "rms_norm_eps", "1e300", "eps is inf"},
    {LLAMA, NEW, "rms_norm_eps", "true", "rms_norm_eps is not a number"},
    {LLAMA, NEW, "rope_parameters/rope_type", "\"yarn\"", "the type yarn is not run"},
    {LLAMA, NEW, "rope_parameters/rope_type", "\"dynamic\"", "the type dynamic is not run"},
    {LLAMA, NEW, "rope_parameters/partial_rotary_factor", "0.5", "part of a head"},
    {LLAMA, NEW, "partial_rotary_factor", "0.5", "partial_rotary_factor is not in rope_parameters"},
    {LLAMA, NEW, "rope_parameters/rope_theta", "0", "rope_theta is 0"},
    {LLAMA, NEW, "rope_parameters", "[1]", "rope_parameters is not an object"},
    {LLAMA, OLD, "rope_scaling", "\"x\"", "rope_scaling is not an object"},
    {LLAMA, NEW, "attention_bias", "1", "attention_bias is neither true nor false"},
    {LLAMA, NEW, "layer_types", "[\"sliding_attention\"]", "layers of windows are not run in a llama"},
    {LLAMA, NEW, "per_layer_config", "{}", "a llama with a per_layer_config is not run"},
    {LLAMA3, NEW, "rope_parameters/high_freq_factor", "1", "is not below"},
    {LLAMA3, NEW, "rope_parameters/factor", "-8", "factor is -8"},
    {GEMMA2, NEW, "hidden_activation", "\"gelu\"", "activation gelu is not run"},
    {GEMMA2, NEW, "layer_types", "[\"full_attention\"]", "layer_types are 1, and its layers 4"},
    {GEMMA2, NEW, "sliding_window", "0", "sliding_window is 0"},
    {GEMMA2, NEW, "query_pre_attn_scalar", "0", "query_pre_attn_scalar is 0"},
    {GEMMA2, NEW, "query_pre_attn_scalar", "1e-300", "attention scale of inf"},
    {GEMMA2, NEW, "attn_logit_softcapping", "0", "attn_logit_softcapping is 0"},
    {GEMMA2, NEW, "final_logit_softcapping", "1e-300", "final_logit_softcapping is 1e-300"},
    {GEMMA2, NEW, "mlp_bias", "true", "a gemma2 with mlp_bias is not run"},
    {GEMMA3, NEW, "use_bidirectional_attention", "true", "attention to later tokens is not run"},
    {GEMMA3, OLD, "sliding_window_pattern", "0", "sliding_window_pattern is 0"},
    {GEMMA3, OLD, "rope_scaling/factor", "0", "factor is 0"},
    {GEMMA3, NEW, "rope_parameters/full_attention/rope_type", "\"longrope\"", "the type longrope is not run"},
    {GEMMA4, NEW, "enable_moe_block", "true", "mixtures of experts are not run, and its enable_moe_block"},
    {GEMMA4, NEW, "use_bidirectional_attention", "\"all\"", "attention to later tokens is not run"},
    {GEMMA4, NEW, "per_layer_config/9", "{\"head_dim\": 32}", "a layer that is not there"},
    {GEMMA4, NEW, "per_layer_config/02", "{\"head_dim\": 32}", "a layer that is not there"},
    {GEMMA4, NEW, "per_layer_config/2", "{\"head_dim\": 32, \"sliding_window\": 4}", "layer 2 says more than"},
    {GEMMA4, NEW, "per_layer_config/2", "7", "layer 2 says more than"},
    {GEMMA4, NEW, "per_layer_config/2", "{\"head_dim\": 24}", "cannot use the keys and values of layer 2"},
    {GEMMA4, NEW, "per_layer_config", "[]", "per_layer_config is not an object"},
    {GEMMA4, NEW, "vocab_size_per_layer_input", "80", "vocab_size_per_layer_input is not its vocab_size"},
    {GEMMA4, NEW, "rope_parameters/full_attention/partial_rotary_factor", "1.5", "partial_rotary_factor is 1.5"},
    {GEMMA4, OLD, "global_head_dim", "20", "heads of 20 elements"},
};

/* Refused by name, or because the number means nothing. */
static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        expect(refusals[i].model, refusals[i].style, refusals[i].key, refusals[i].value, refusals[i].words);
    expect(GEMMA3, NEW, "layer_types", "[7, 7, 7, 7, 7, 7, 7]", "layer 0 is of the type (no text)");
    expect(GEMMA2, NEW, "layer_types", "[\"sliding_attention\", \"chunked_attention\", \"\", \"\"]",
           "layer 1 is of the type chunked_attention, which is not run");
    expect(KEQV, NEW, "layer_types",
           "[\"full_attention\", \"full_attention\", \"full_attention\", \"full_attention\", \"full_attention\", "
           "\"sliding_attention\"]",
           "its last layer is a sliding one");
}

static void test_not_json(void **state)
{
    (void)state;
    static char deep[100001];
    static const struct {
        const char *text, *words;
    } all[] = {
        {"", "not JSON"},
        {"[]", "not a JSON object"},
        {"{\"model_type\": \"llama\", \"model_type\": \"gemma2\"}", "duplicate"},
        {"{\"rms_norm_eps\": NaN}", "not JSON"},
        {"{\"rms_norm_eps\": Infinity}", "not JSON"},
        {"{\"rms_norm_eps\": 1e999}", "overflow"},
        {"{\"hidden_size\": 99999999999999999999}", "too big integer"},
        {"{\"model_type\": \"llama\"} tail", "not JSON"},
        {"{\"model_type\": \"ll\\u0000ama\"}", "not JSON"},
        {"{\"model_type\": \"\xff\"}", "not JSON"},
        {deep, "depth"},
    };
    memset(deep, '[', sizeof deep - 1);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_int_equal(parse(all[i].text), -1);
        if (!strstr(why, all[i].words)) fail_msg("expected '%s' in: %s", all[i].words, why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meaning),      cmocka_unit_test(test_sharing),  cmocka_unit_test(test_generations),
        cmocka_unit_test(test_global_sizes), cmocka_unit_test(test_nested),   cmocka_unit_test(test_missing),
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_not_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
