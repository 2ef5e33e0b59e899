/* The configs of published models, in the keys that their files have, mean the shapes of profiles/shapes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hf_config.h"

#define LLAMA "\"model_type\": \"llama\", \"hidden_act\": \"silu\", \"rms_norm_eps\": 1e-05, "
#define LLAMA3                                                                                                         \
    "\"rope_theta\": 500000.0, \"rope_scaling\": {\"factor\": 32.0, \"high_freq_factor\": 4.0, "                       \
    "\"low_freq_factor\": 1.0, \"original_max_position_embeddings\": 8192, \"rope_type\": \"llama3\"}, "               \
    "\"max_position_embeddings\": 131072, \"vocab_size\": 128256, \"tie_word_embeddings\": true"
#define GEMMA "\"hidden_activation\": \"gelu_pytorch_tanh\", \"rms_norm_eps\": 1e-06, \"head_dim\": 256, "
#define GEMMA3                                                                                                         \
    "\"query_pre_attn_scalar\": 256, \"rope_theta\": 1000000.0, \"rope_local_base_freq\": 10000.0, "                   \
    "\"attn_logit_softcapping\": null, \"final_logit_softcapping\": null, "
#define S "\"sliding_attention\", "
#define FULL "\"full_attention\""
#define FIFTH S S S S FULL
#define SIXTH S S S S S FULL
#define GEMMA4                                                                                                         \
    "\"model_type\": \"gemma4\", \"tie_word_embeddings\": true, \"vision_config\": {\"hidden_size\": 768}, "           \
    "\"audio_config\": {\"hidden_size\": 1024}, \"text_config\": {\"model_type\": \"gemma4_text\", "                   \
    "\"enable_moe_block\": false, \"num_experts\": null, \"attention_k_eq_v\": false, "                                \
    "\"global_head_dim\": 512, \"num_global_key_value_heads\": null, \"final_logit_softcapping\": 30.0, "              \
    "\"rope_parameters\": {\"full_attention\": {\"partial_rotary_factor\": 0.25, \"rope_theta\": 1000000.0, "          \
    "\"rope_type\": \"proportional\"}, \"sliding_attention\": {\"rope_theta\": 10000.0, \"rope_type\": "               \
    "\"default\"}}, \"sliding_window\": 512, \"hidden_size_per_layer_input\": 256, \"vocab_size\": 262144, "           \
    "\"vocab_size_per_layer_input\": 262144, \"max_position_embeddings\": 131072, \"num_attention_heads\": 8, "        \
    "\"use_bidirectional_attention\": null, "

static const struct {
    const char *shape, *config;
} published[] = {
    {"llama-3.2-1b",
     "{" LLAMA LLAMA3 ", \"hidden_size\": 2048, \"intermediate_size\": 8192, \"num_hidden_layers\": 16, "
     "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"head_dim\": 64}"},
    {"llama-3.2-3b",
     "{" LLAMA LLAMA3 ", \"hidden_size\": 3072, \"intermediate_size\": 8192, \"num_hidden_layers\": 28, "
     "\"num_attention_heads\": 24, \"num_key_value_heads\": 8, \"head_dim\": 128}"},
    {"smollm2-135m", "{" LLAMA "\"hidden_size\": 576, \"intermediate_size\": 1536, \"num_hidden_layers\": 30, "
                     "\"num_attention_heads\": 9, \"num_key_value_heads\": 3, \"vocab_size\": 49152, "
                     "\"rope_theta\": 100000, \"rope_scaling\": null, \"rope_interleaved\": false, "
                     "\"max_position_embeddings\": 8192, \"tie_word_embeddings\": true}"},
    {"tinyllama-1.1b", "{" LLAMA "\"hidden_size\": 2048, \"intermediate_size\": 5632, \"num_hidden_layers\": 22, "
                       "\"num_attention_heads\": 32, \"num_key_value_heads\": 4, \"vocab_size\": 32000, "
                       "\"rope_theta\": 10000.0, \"rope_scaling\": null, \"pretraining_tp\": 1, "
                       "\"max_position_embeddings\": 2048, \"tie_word_embeddings\": false}"},
    {"gemma-2-2b", "{" GEMMA "\"model_type\": \"gemma2\", \"hidden_act\": \"gelu_pytorch_tanh\", "
                   "\"hidden_size\": 2304, \"intermediate_size\": 9216, \"num_hidden_layers\": 26, "
                   "\"num_attention_heads\": 8, \"num_key_value_heads\": 4, \"vocab_size\": 256000, "
                   "\"rope_theta\": 10000.0, \"sliding_window\": 4096, \"query_pre_attn_scalar\": 256, "
                   "\"attn_logit_softcapping\": 50.0, \"final_logit_softcapping\": 30.0, "
                   "\"cache_implementation\": \"hybrid\", \"max_position_embeddings\": 8192}"},
    {"gemma-3-1b", "{" GEMMA GEMMA3 "\"model_type\": \"gemma3_text\", \"hidden_size\": 1152, "
                   "\"intermediate_size\": 6912, \"num_hidden_layers\": 26, \"num_attention_heads\": 4, "
                   "\"num_key_value_heads\": 1, \"vocab_size\": 262144, \"rope_scaling\": null, "
                   "\"sliding_window\": 512, \"sliding_window_pattern\": 6, \"max_position_embeddings\": 32768}"},
    {"gemma-3-270m", "{" GEMMA GEMMA3 "\"model_type\": \"gemma3_text\", \"hidden_size\": 640, "
                     "\"intermediate_size\": 2048, \"num_hidden_layers\": 18, \"num_attention_heads\": 4, "
                     "\"num_key_value_heads\": 1, \"vocab_size\": 262144, \"rope_scaling\": null, "
                     "\"sliding_window\": 512, \"_sliding_window_pattern\": 6, \"layer_types\": [" SIXTH ", " SIXTH
                     ", " SIXTH "], \"max_position_embeddings\": 32768}"},
    {"gemma-3-4b",
     "{\"model_type\": \"gemma3\", \"vision_config\": {\"hidden_size\": 1152}, \"text_config\": {" GEMMA GEMMA3
     "\"model_type\": \"gemma3_text\", \"hidden_size\": 2560, \"intermediate_size\": 10240, "
     "\"num_hidden_layers\": 34, \"num_attention_heads\": 8, \"num_key_value_heads\": 4, "
     "\"vocab_size\": 262208, \"rope_scaling\": {\"factor\": 8.0, \"rope_type\": \"linear\"}, "
     "\"sliding_window\": 1024, \"sliding_window_pattern\": 6, \"max_position_embeddings\": 131072}}"},
    {"gemma-4-e2b", "{" GEMMA4 GEMMA "\"hidden_size\": 1536, \"intermediate_size\": 6144, \"num_hidden_layers\": 35, "
                    "\"num_key_value_heads\": 1, \"num_kv_shared_layers\": 20, \"use_double_wide_mlp\": true, "
                    "\"layer_types\": [" FIFTH ", " FIFTH ", " FIFTH ", " FIFTH ", " FIFTH ", " FIFTH ", " FIFTH "]}}"},
    {"gemma-4-e4b", "{" GEMMA4 GEMMA "\"hidden_size\": 2560, \"intermediate_size\": 10240, \"num_hidden_layers\": 42, "
                    "\"num_key_value_heads\": 2, \"num_kv_shared_layers\": 18, \"use_double_wide_mlp\": false, "
                    "\"layer_types\": [" SIXTH ", " SIXTH ", " SIXTH ", " SIXTH ", " SIXTH ", " SIXTH ", " SIXTH "]}}"},
};

static void test_shapes(void **state)
{
    (void)state;
    static struct sm_hf_config config;
    static struct sm_model_shape shape;
    char why[512];
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        const char *text = published[i].config;
        if (sm_hf_config_parse(&config, text, strlen(text), published[i].shape, why, sizeof why) ||
            sm_shape_load(&shape, published[i].shape, why, sizeof why))
            fail_msg("%s", why);
        struct sm_model_shape *s = &config.shape;
        assert_string_equal(s->arch, shape.arch);
        assert_true(fabs((double)(s->embedding_scale - shape.embedding_scale)) < 1e-6 * (double)shape.embedding_scale);
        s->embedding_scale = shape.embedding_scale; /* nine digits in a text */
        memcpy(s->name, shape.name, sizeof s->name);
        for (size_t l = 0; l < shape.layers; l++)
            if (memcmp(&s->layer[l], &shape.layer[l], sizeof *s->layer))
                fail_msg("%s: layer %zu differs", shape.name, l);
        assert_memory_equal(s, &shape, sizeof shape);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
