/* Model files, right and wrong: what is in them, and that files cut or changed anywhere are refused or run. */
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
#include "fuzz/gguf_target.h"
#include "golden.h"
#include "model.h"
#include "positions.h"
#include "random.h"
#include "weights.h"

static char why[512];

static const char *const files[] = {"llama-tiny/llama-tiny-q4_0.gguf",
                                    "llama-tiny/llama-tiny-q8_0.gguf",
                                    "llama-tiny/llama-tiny-f16.gguf",
                                    "llama-tiny/llama-tiny-f32.gguf",
                                    "llama3-rope-tiny/llama3-rope-tiny-f32.gguf",
                                    "gemma2-tiny/gemma2-tiny-f16.gguf",
                                    "gemma3-tiny/gemma3-tiny-f16.gguf",
                                    "gemma3-tiny/gemma3-tiny-q8_0.gguf",
                                    "gemma4-tiny/gemma4-tiny-f16.gguf"};
#define FILES (sizeof files / sizeof *files)

struct bytes {
    unsigned char *at;
    size_t count, head; /* head: where the tensors' data begin */
};

static struct bytes read_model(const char *name)
{
    struct bytes b = {0};
    struct sm_model *model;
    if (sm_model_open(&model, golden_path(name), why, sizeof why)) fail_msg("%s", why);
    b.count = model->map_bytes;
    b.at = malloc(b.count);
    assert_non_null(b.at);
    memcpy(b.at, model->map, b.count);
    b.head = b.count;
    const struct sm_tensor *tensors[] = {&model->embedding, &model->output_norm, &model->rope_divisors, &model->head};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        if (tensors[i]->data && (size_t)((const char *)tensors[i]->data - (const char *)model->map) < b.head)
            b.head = (size_t)((const char *)tensors[i]->data - (const char *)model->map);
    for (size_t l = 0; l < model->shape.layers; l++)
        for (size_t t = 0; t < SM_LAYER_TENSORS; t++) {
            const char *data = model->layer[l].tensor[t].data;
            if (data && (size_t)(data - (const char *)model->map) < b.head)
                b.head = (size_t)(data - (const char *)model->map);
        }
    sm_model_close(model);
    return b;
}

static void test_facts(void **state)
{
    (void)state;
    struct sm_model *m;
    if (sm_model_open(&m, golden_path(files[0]), why, sizeof why)) fail_msg("%s", why);
    assert_string_equal(m->shape.arch, "llama");
    assert_string_equal(m->formats, "F32 7, Q4_0 23");
    assert_int_equal(m->bytes, 92032);
    assert_false(m->synthetic);
    assert_false(m->shape.tied);
    assert_int_equal(m->shape.layers, 3);
    assert_int_equal(m->shape.layer[2].head_dim, 16);
    assert_int_equal(m->shape.layer[2].ffn, 160);
    assert_int_equal(m->shape.vocab, 160);
    assert_true(m->parameters == sm_shape_parameters(&m->shape));
    assert_null(m->rope_divisors.data);
    sm_model_close(m);
    if (sm_model_open(&m, golden_path(files[4]), why, sizeof why)) fail_msg("%s", why);
    assert_non_null(m->rope_divisors.data);
    assert_non_null(m->layer[1].tensor[SM_TENSOR_O_BIAS].data);
    assert_true(m->shape.tied);
    sm_model_close(m);
}

/* A file cut anywhere before its last tensor ends is refused; uncut it runs. */
static void test_cuts(void **state)
{
    (void)state;
    for (size_t f = 0; f < FILES; f++) {
        struct bytes b = read_model(files[f]);
        assert_int_equal(gguf_target(b.at, b.count, why, sizeof why), 1);
        for (size_t cut = 0; cut < b.head; cut++)
            if (gguf_target(b.at, cut, why, sizeof why)) fail_msg("%s ran when cut at byte %zu", files[f], cut);
        for (size_t cut = b.head; cut + 32 < b.count; cut += 1999)
            if (gguf_target(b.at, cut, why, sizeof why)) fail_msg("%s ran when cut at byte %zu", files[f], cut);
        free(b.at);
    }
}

static void mutate(unsigned char *at, size_t count, struct sm_random *random)
{
    static const uint64_t values[] = {0,
                                      1,
                                      2,
                                      31,
                                      0x7fffffff,
                                      0x80000000,
                                      0xffffffff,
                                      (uint64_t)1 << 32,
                                      (uint64_t)1 << 62,
                                      (uint64_t)1 << 63,
                                      UINT64_MAX,
                                      0x7f8000007f800000};
    const size_t edits = 1 + sm_random_below(random, 3);
    for (size_t e = 0; e < edits; e++) {
        const size_t where = sm_random_below(random, (uint32_t)count - 8);
        const uint64_t value = values[sm_random_below(random, sizeof values / sizeof *values)];
        switch (sm_random_below(random, 4)) {
        case 0: at[where] = (unsigned char)sm_random_below(random, 256); break;
        case 1: at[where] ^= (unsigned char)(1u << sm_random_below(random, 8)); break;
        case 2: memcpy(at + where, &value, 4); break;
        default: memcpy(at + where, &value, 8); break;
        }
    }
}

/* 250 seeded changes of each file, three quarters of them in the metadata. */
static void test_mutations(void **state)
{
    (void)state;
    size_t ran = 0, refused = 0;
    for (size_t f = 0; f < FILES; f++) {
        struct bytes b = read_model(files[f]);
        unsigned char *changed = malloc(b.count);
        assert_non_null(changed);
        for (uint64_t seed = 0; seed < 250; seed++) {
            struct sm_random random = {seed * FILES + f};
            memcpy(changed, b.at, b.count);
            mutate(changed, seed % 4 ? b.head : b.count, &random);
            const size_t cut = seed % 8 == 7 ? sm_random_below(&random, (uint32_t)b.count) : b.count;
            if (gguf_target(changed, cut, why, sizeof why))
                ran++;
            else
                refused++;
        }
        free(changed);
        free(b.at);
    }
    print_message("%zu mutations ran, %zu were refused\n", ran, refused);
    assert_true(ran > 100 && refused > 100); /* both happen, or the mutations are not what they should be */
}

/* Writes `count` bytes `skip` bytes after the text, in a copy of the first file, and expects a sentence with `words`.
 */
static void expect(const char *text, long skip, const void *value, size_t count, const char *words)
{
    struct bytes b = read_model(files[0]);
    unsigned char *at = memmem(b.at, b.head, text, strlen(text));
    assert_non_null(at);
    memcpy(at + skip, value, count);
    assert_int_equal(gguf_target(b.at, b.count, why, sizeof why), 0);
    if (!strstr(why, words)) fail_msg("%s: expected '%s' in: %s", text, words, why);
    free(b.at);
}

static void test_sentences(void **state)
{
    (void)state;
    const uint64_t huge = (uint64_t)1 << 60, zero = 0, odd = 33, q4_k = 12, unknown = 99, many = (uint64_t)1 << 39;
    const uint32_t version = 2, three = 3;
    const float infinite = INFINITY;
    const size_t layers_value = strlen("llama.block_count") + 4,
                 eps_value = strlen("llama.attention.layer_norm_rms_epsilon") + 4;
    const long name = (long)strlen("blk.0.attn_q.weight");
    expect("GGUF", 0, "GGML", 4, "not a GGUF file");
    expect("GGUF", 4, &version, 4, "version 2");
    expect("GGUF", 8, &huge, 8, "claims 1152921504606846976 tensors");
    expect("GGUF", 16, &huge, 8, "metadata values");
    expect("general.architecture", -8, &huge, 8, "a key of the metadata at byte");
    expect("general.architecture", 20, &unknown, 4, "type 99");
    expect("general.architecture", 32, "gemma", 5, "architecture is gemma");
    expect("llama.block_count", (long)layers_value, &zero, 4, "layers is 0");
    expect("llama.block_count", (long)layers_value, &odd, 4, "no tensor blk.3.attn_norm.weight");
    expect("llama.block_count", 1, "X", 1, "lacks llama.block_count");
    expect("llama.attention.head_count", (long)strlen("llama.attention.head_count") + 4, &three, 4, "heads");
    expect("llama.attention.layer_norm_rms_epsilon", (long)eps_value, &infinite, 4, "eps is inf");
    expect("blk.0.attn_q.weight", 0, "blk.0.attn_v", 12, "is there twice");
    expect("blk.0.attn_q.weight", name, &many, 4, "claims 0 axes");
    expect("blk.0.attn_q.weight", name + 4, &zero, 8, "axis claims 0");
    expect("blk.0.attn_q.weight", name + 4, &odd, 8, "rows of 33 elements, which Q4_0 cannot hold");
    expect("blk.0.attn_q.weight", name + 12, &huge, 8, "axis claims");
    expect("blk.0.attn_q.weight", name + 20, &unknown, 4, "numbered 99");
    expect("blk.0.attn_q.weight", name + 20, &q4_k, 4, "which Q4_K cannot hold");
    expect("blk.0.attn_q.weight", name + 24, &zero, 8, "lies at offset 0");
}

/* Numbers that are not finite are refused when weights are packed, in whatever format they come. */
static void test_not_finite(void **state)
{
    (void)state;
    for (size_t f = 0; f < FILES; f++) {
        struct sm_model *model;
        struct bytes b = read_model(files[f]);
        const float infinite = INFINITY;
        const uint16_t half = 0xfc00;
        if (sm_model_open(&model, golden_path(files[f]), why, sizeof why)) fail_msg("%s", why);
        const struct sm_tensor *t = &model->layer[1].tensor[SM_TENSOR_UP];
        unsigned char *at = b.at + ((const unsigned char *)t->data - (const unsigned char *)model->map);
        if (t->format == SM_FORMAT_F32)
            memcpy(at, &infinite, sizeof infinite);
        else
            memcpy(at, &half, sizeof half); /* a scale, or an element */
        assert_int_equal(gguf_target(b.at, b.count, why, sizeof why), 0);
        assert_non_null(strstr(why, "not finite"));
        sm_model_close(model);
        free(b.at);
    }
}

static void test_paths(void **state)
{
    (void)state;
    struct sm_model *m = NULL;
    assert_int_equal(sm_model_open(&m, golden_path("no-such-file.gguf"), why, sizeof why), -1);
    assert_non_null(strstr(why, "No such file"));
    assert_int_equal(sm_model_open(&m, golden_path("blocks"), why, sizeof why), -1);
    assert_non_null(strstr(why, "config.json cannot be mapped"));
    assert_int_equal(sm_model_open(&m, golden_path("llama-tiny/golden.json"), why, sizeof why), -1);
    assert_non_null(strstr(why, "not a GGUF file"));
    assert_null(m);
}

/* The divisors that Llama 3.2's scaling makes are those that its published files hold: angles at position 1 are the
 * frequencies. */
static void test_llama3_divisors(void **state)
{
    (void)state;
    static struct sm_model_shape shape;
    struct sm_model *m;
    struct sm_positions *p = NULL;
    assert_int_equal(sm_shape_load(&shape, "llama-3.2-1b", why, sizeof why), 0);
    shape.layers = 1;
    shape.vocab = 32;
    if (sm_model_synthetic(&m, &shape, &(struct sm_synthetic){.format = SM_FORMAT_Q4_0, .seed = 1}, why, sizeof why) ||
        sm_positions_create(&p, m, 2, why, sizeof why))
        fail_msg("%s", why);
    const struct sm_rotation *r = &p->rotation[0];
    const double published[] = {1, 1.6513292, 3.2922621, 9.666729, 32};
    for (size_t i = 0; i < 32; i++) {
        const double plain = pow(500000, -2.0 * (double)i / 64);
        const double divisor = plain / atan2((double)r->sin[32 + i], (double)r->cos[32 + i]);
        const double wanted = published[i < 14 ? 0 : i > 18 ? 4 : i - 14];
        if (!(fabs(divisor - wanted) <= 1e-5 * wanted)) fail_msg("pair %zu is divided by %g", i, divisor);
    }
    sm_positions_destroy(p);
    sm_model_close(m);
}

/* What is forced, and what cannot be. */
static void test_choice(void **state)
{
    (void)state;
    struct sm_model *m;
    struct sm_weights *w = NULL;
    if (sm_model_open(&m, golden_path(files[1]), why, sizeof why)) fail_msg("%s", why);
    const struct sm_forced good = {"matmul_w8g32_a8", "ref"}, nobody = {"matmul_w8g32_a8", "nobody"},
                           nowhere = {"nowhere", "ref"};
    struct sm_choice choice = {.features = sm_cpu_features(), .forced = &good, .forced_count = 1};
    if (sm_weights_create(&w, m, "native", &choice, why, sizeof why)) fail_msg("%s", why);
    assert_string_equal(w->layer[0].q.variant->name, "ref");
    assert_string_equal(w->head.variant->name, "ref");
    sm_weights_destroy(w);
    choice.forced = &nobody;
    assert_int_equal(sm_weights_create(&w, m, "native", &choice, why, sizeof why), -1);
    assert_non_null(strstr(why, "no such variant"));
    choice.forced = &nowhere;
    assert_int_equal(sm_weights_create(&w, m, "native", &choice, why, sizeof why), -1);
    assert_non_null(strstr(why, "no such family"));
    choice.forced_count = 0;
    assert_int_equal(sm_weights_create(&w, m, "fluffy", &choice, why, sizeof why), -1);
    assert_non_null(strstr(why, "no recipe 'fluffy'"));
    sm_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts),      cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_mutations),  cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_not_finite), cmocka_unit_test(test_paths),
        cmocka_unit_test(test_choice),     cmocka_unit_test(test_llama3_divisors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
