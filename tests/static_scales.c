/* The file of static scales: made by the command, read by what runs a model, refused when it is of something else or
 * wrong in itself; and made on the way for weights of a seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cpu.h"
#include "golden.h"
#include "scales_command.h"
#include "static_scales.h"

static char why[1024], file[4096], folder[] = "/tmp/slotmark-scales-XXXXXX", tokens[64];
static struct sm_source source;

static void refused(int result, const char *sentence)
{
    assert_int_equal(result, -1);
    if (!strstr(why, sentence)) fail_msg("expected '%s' in: %s", sentence, why);
}

/* slotmark scales MODEL ...: its exit code. */
static int command(const char *model, const char *a, const char *b, const char *c, const char *d)
{
    char *argv[8] = {"scales"};
    const char *const given[] = {model, a, b, c, d};
    int argc = 1;
    for (size_t i = 0; i < 5; i++)
        if (given[i]) argv[argc++] = (char *)(uintptr_t)given[i];
    return scales_main(argc, argv);
}

static void the_command_writes_what_is_read(void **state)
{
    (void)state;
    struct sm_static_scales s = {0};
    char out[128], tokens_option[128];
    snprintf(out, sizeof out, "--out=%s/new/scales.json", folder);
    snprintf(tokens_option, sizeof tokens_option, "--tokens=%s", tokens);
    assert_int_equal(command(file, tokens_option, out, "--window=16", "--recipe=w8c-a16"), 0);
    assert_int_equal(command(file, tokens_option, out, "--window=16", "--recipe=w8c-a16"), 2); /* it is there */
    assert_int_equal(command(file, tokens_option, out, "--window=16", "--overwrite"), 0);      /* w4c-a16 */
    assert_int_equal(command(file, out, "--overwrite", NULL, NULL), 2);                        /* nothing to run */
    assert_int_equal(command(file, tokens_option, out, "--recipe=w4c-a17", "--overwrite"), 2);
    assert_int_equal(command(file, "--tokens=/nowhere", out, "--overwrite", NULL), 2);
    const char *path = out + strlen("--out=");
    assert_int_equal(sm_static_scales_load(&s, path, &source, "w4c-a16", why, sizeof why), 0);
    assert_int_equal(s.scales->layers, 3);
    assert_non_null(strstr(s.scales->from, "40 tokens of tokens.txt"));
    assert_string_equal(json_string_value(json_object_get(s.facts, "recipe")), "w4c-a16");

    struct sm_scales *again = NULL; /* the same to the bit, measured here */
    int32_t ids[40];
    for (int i = 0; i < 40; i++) ids[i] = i * 3;
    const struct sm_choice choice = {.features = sm_cpu_features()};
    const struct sm_calibration how = {.window = 16, .threads = 1};
    assert_int_equal(sm_scales_measure(&again, source.model, "w4c-a16", &choice, ids, 40, &how, why, sizeof why), 0);
    assert_memory_equal(again->layer, s.scales->layer, 3 * sizeof *again->layer);
    assert_memory_equal(again->model, s.scales->model, sizeof again->model);
    sm_scales_destroy(again);
    refused(sm_static_scales_load(&(struct sm_static_scales){0}, path, &source, "w8c-a16", why, sizeof why),
            "for the recipe w4c-a16, not for w8c-a16");
    sm_static_scales_free(&s);
}

/* Text in place of a file's. */
static int load_text(const char *text)
{
    char path[128];
    struct sm_static_scales s = {0};
    snprintf(path, sizeof path, "%s/wrong.json", folder);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    const int result = sm_static_scales_load(&s, path, &source, "w4c-a16", why, sizeof why);
    sm_static_scales_free(&s);
    return result;
}

/* A right file but for the text of its layers. */
static int load_layers(const char *layers)
{
    char text[1024];
    snprintf(text, sizeof text,
             "{\"schema\":1,\"kind\":\"static scales\",\"recipe\":\"w4c-a16\",\"model\":{\"sha256\":\"%s\"},"
             "\"layers\":%s}",
             source.sha256, layers);
    return load_text(text);
}

static void wrong_files_are_refused(void **state)
{
    (void)state;
    refused(load_text(""), "line 1");
    refused(load_text("{\"schema\":1,"), "line 1");
    refused(load_text("[1]"), "no file of static scales");
    refused(load_text("{\"schema\":2,\"kind\":\"static scales\"}"), "no file of static scales of schema 1");
    refused(load_text("{\"schema\":1,\"schema\":1}"), "duplicate");
    refused(load_text("{\"schema\":1,\"kind\":\"static scales\",\"model\":{\"name\":\"x\",\"sha256\":\"00\"}}"),
            "of another model, x");
    assert_int_equal(load_layers("[{\"qkv\":1},{},{\"down\":1e30}]"), 0);
    refused(load_layers("[{},{}]"), "3 layers");
    refused(load_layers("{}"), "3 layers");
    refused(load_layers("[{\"qkv\":-1},{},{}]"), "above 0");
    refused(load_layers("[{\"qkv\":0},{},{}]"), "above 0");
    refused(load_layers("[{\"qkv\":1e31},{},{}]"), "up to 1e30");
    refused(load_layers("[{\"qkv\":\"1\"},{},{}]"), "above 0");
    refused(load_layers("[1,2,3],\"head\":-1"), "above 0");
    struct sm_static_scales s = {0};
    refused(sm_static_scales_load(&s, folder, &source, "w4c-a16", why, sizeof why), "it is no file");
    refused(sm_static_scales_load(&s, "/nowhere", &source, "w4c-a16", why, sizeof why), "No such file");
}

static void what_needs_none_gets_none(void **state)
{
    (void)state;
    struct sm_static_scales s;
    const struct sm_choice choice = {.features = sm_cpu_features()};
    assert_int_equal(sm_static_scales_for(&s, &source, "w4c-a8", false, NULL, &choice, why, sizeof why), 0);
    assert_null(s.scales);
    refused(sm_static_scales_for(&s, &source, "w4c-a16", false, NULL, &choice, why, sizeof why),
            "there is no results/scales/llama-tiny-f32-w4c-a16.json; make them with: slotmark scales ");
    refused(sm_static_scales_for(&s, &source, "native", true, NULL, &choice, why, sizeof why), "a cache in i16");
}

static void seeded_weights_get_scales_on_the_way(void **state)
{
    (void)state;
    static struct sm_model_shape shape;
    struct sm_source synthetic = {.name = "x"};
    struct sm_static_scales s;
    struct sm_weights *weights = NULL;
    const struct sm_choice choice = {.features = sm_cpu_features()};
    struct sm_strings kv = {0};
    const char *const text = "name = x\narch = gemma4\nruns = yes\nhidden = 64\nlayers = 2\nheads = 2\nkv_heads = 1\n"
                             "head_dim = 32\nffn = 96\nvocab = 100\ncontext = 256\nrope_theta = 1e4\neps = 1e-5\n"
                             "tied = yes\nper_layer_width = 32\npost_norms = yes\n";
    if (sm_shape_parse(&shape, text, "here", why, sizeof why) ||
        sm_model_synthetic(&synthetic.model, &shape, &(struct sm_synthetic){.format = SM_FORMAT_F32, .seed = 3}, why,
                           sizeof why) ||
        sm_static_scales_for(&s, &synthetic, "w4c-a16", false, NULL, &choice, why, sizeof why))
        fail_msg("%s", why);
    for (size_t l = 0; l < 2; l++) /* this one has per-layer embeddings: every tensor is there */
        for (size_t i = 0; i < SM_LAYER_SITES; i++) assert_true(s.scales->layer[l][i] > 0);
    for (size_t i = 0; i < SM_MODEL_SITES; i++) assert_true(s.scales->model[i] > 0);
    sm_static_scales_free(&s);
    assert_int_equal(sm_static_scales_pack(&weights, &synthetic, "w4c-a16", &kv, NULL, &choice, NULL, why, sizeof why),
                     0);
    assert_string_equal(weights->scales_from, "made for this run from 128 tokens of a seed");
    assert_true(weights->layer[1].down.x_scale > 0 && weights->kv_scales[1][0] > 0);
    sm_weights_destroy(weights);
    sm_model_close(synthetic.model);
}

int main(void)
{
    snprintf(file, sizeof file, "%s", golden_path("llama-tiny/llama-tiny-f32.gguf"));
    if (!mkdtemp(folder) || chdir(folder) || sm_source_open(&source, file, SM_FORMAT_F32, 1, NULL, why, sizeof why)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    snprintf(tokens, sizeof tokens, "%s/tokens.txt", folder);
    FILE *out = fopen(tokens, "w");
    for (int i = 0; out && i < 40; i++) fprintf(out, "%d\n", i * 3);
    if (!out || fclose(out)) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_writes_what_is_read),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(what_needs_none_gets_none),
        cmocka_unit_test(seeded_weights_get_scales_on_the_way),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sm_source_close(&source);
    static const char *const made[] = {"new/scales.json", "new", "wrong.json", "tokens.txt", folder};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) (void)remove(made[i]);
    return failed;
}
