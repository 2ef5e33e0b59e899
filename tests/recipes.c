/* Recipes on a small model: each follows the logits of the same weights as the reference quantised them, and not those
 * of the weights in float; static scales are what the activations are; a wrong one is seen. */
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
#include "scales.h"

#define MAX_SEQ 48
#define DECODE_BOUND 0.02
#define WEIGHTS_BOUND 0.01

static struct golden golden, quant;
static const int32_t *tokens;
static size_t count, vocab;
static struct sm_model *model;
static char why[512];

/* Scales for a recipe from the tokens of this test. */
static struct sm_scales *measured(const char *recipe, size_t begin, size_t end, size_t window, double momentum)
{
    struct sm_scales *scales = NULL;
    const struct sm_choice choice = {.features = sm_cpu_features()};
    const struct sm_calibration how = {.window = window, .threads = 2, .momentum = momentum};
    if (sm_scales_measure(&scales, model, recipe, &choice, tokens + begin, end - begin, &how, why, sizeof why))
        fail_msg("%s", why);
    return scales;
}

/* The logits of all rows of a prefill of the first `prompt` tokens and of the decodes of the others; a prompt of all
 * is one call. */
static void logits_of(const char *recipe, const struct sm_choice *choice, enum sm_kv_type kv, size_t prompt,
                      size_t threads, float *to)
{
    struct sm_weights *weights = NULL;
    struct sm_session *session = NULL;
    float kv_scales[3][2];
    if (choice->scales) sm_scales_kv(choice->scales, kv_scales);
    const struct sm_session_options options = {.max_seq = MAX_SEQ,
                                               .kv = kv,
                                               .kv_scales = choice->scales ? kv_scales : NULL,
                                               .threads = threads,
                                               .all_rows = true};
    if (sm_weights_create(&weights, model, recipe, choice, why, sizeof why) ||
        sm_session_create(&session, weights, &options, why, sizeof why) ||
        sm_session_prefill(session, tokens, prompt, SM_PAD_RIGHT, why, sizeof why))
        fail_msg("%s: %s", recipe, why);
    for (size_t i = 0; i < prompt; i++) memcpy(to + i * vocab, sm_session_token_logits(session, i), vocab * sizeof *to);
    for (size_t i = prompt; i < count; i++) {
        if (sm_session_decode(session, tokens[i], why, sizeof why)) fail_msg("%s: %s", recipe, why);
        memcpy(to + i * vocab, sm_session_logits(session), vocab * sizeof *to);
    }
    sm_session_destroy(session);
    sm_weights_destroy(weights);
}

static double mean_difference(const float *a, const float *b)
{
    double sum = 0;
    for (size_t i = 0; i < count * vocab; i++) sum += fabs((double)a[i] - (double)b[i]);
    return sum / (double)(count * vocab);
}

static float *new_logits(void)
{
    float *logits = malloc(count * vocab * sizeof *logits);
    assert_non_null(logits);
    return logits;
}

/* follows: the reference's weights, whose head and embedding may be finer than the recipe's (quant.json), with the
 * share of the interval that the rest of the recipe may cost. */
static const struct {
    const char *recipe, *follows;
    double bound;
} recipes[] = {
    {"w4g32-a8", "full.w4g32.logits", 0.02}, {"w4c-a8", "full.w4c.logits", 0.03},  {"w8c-a8", "full.w8c.logits", 0.02},
    {"w4c-a16", "full.w4c.logits", 0.01},    {"w8c-a16", "full.w8c.logits", 0.01},
};
#define RECIPES (sizeof recipes / sizeof *recipes)

static void recipes_follow_the_reference(void **state)
{
    (void)state;
    const float *exact = golden_floats(&golden, "full.logits", 2, NULL);
    float *logits = new_logits(), *again = new_logits();
    for (size_t i = 0; i < RECIPES; i++) {
        const float *right = golden_floats(&quant, recipes[i].follows, 2, NULL);
        struct sm_scales *scales = measured(recipes[i].recipe, 0, count, MAX_SEQ - 1, 0);
        uint32_t features;
        for (size_t l = 0; sm_cpu_level(l, &features); l++) {
            if (features & ~sm_cpu_features()) continue;
            const struct sm_choice choice = {.features = features, .scales = scales};
            logits_of(recipes[i].recipe, &choice, SM_KV_F32, count, 1, logits);
            logits_of(recipes[i].recipe, &choice, SM_KV_F32, count, 2, again);
            assert_memory_equal(logits, again, count * vocab * sizeof *logits);
            const double near = peir(right, logits, count * vocab), far = peir(exact, logits, count * vocab);
            if (l == 0) print_message("%-9s PEIR %.4f to its reference, %.4f to float\n", recipes[i].recipe, near, far);
            if (!(near <= recipes[i].bound))
                fail_msg("%s: PEIR %g, bound %g", recipes[i].recipe, near, recipes[i].bound);
            assert_true(mean_difference(right, logits) < mean_difference(exact, logits));
            logits_of(recipes[i].recipe, &choice, SM_KV_F32, 9, 2, again); /* decodes give what the prefill gave */
            if (!(peir(logits, again, count * vocab) <= DECODE_BOUND))
                fail_msg("%s: decodes are off by a PEIR of %g", recipes[i].recipe, peir(logits, again, count * vocab));
        }
        sm_scales_destroy(scales);
    }
    free(logits);
    free(again);
}

/* The same weights, and all else in float: what is left to the reference is its float embedding and, in four bits,
 * head. */
static void weights_alone_follow_more_closely(void **state)
{
    (void)state;
    float *logits = new_logits();
    const struct sm_choice choice = {.features = sm_cpu_features(), .weights_only = true};
    for (size_t i = 0; i < RECIPES; i++) {
        const float *right = golden_floats(&quant, recipes[i].follows, 2, NULL);
        logits_of(recipes[i].recipe, &choice, SM_KV_F32, count, 1, logits);
        const double near = peir(right, logits, count * vocab);
        print_message("%-9s weights alone: PEIR %.4f\n", recipes[i].recipe, near);
        assert_true(near <= WEIGHTS_BOUND);
    }
    free(logits);
}

/* PEIR of w4c-a16 to its reference under these scales. */
static double peir_with(struct sm_scales *scales, enum sm_kv_type kv)
{
    float *logits = new_logits();
    const struct sm_choice choice = {.features = sm_cpu_features(), .scales = scales};
    logits_of("w4c-a16", &choice, kv, count, 1, logits);
    const double share = peir(golden_floats(&quant, "full.w4c.logits", 2, NULL), logits, count * vocab);
    free(logits);
    return share;
}

static void a_wrong_scale_is_seen(void **state)
{
    (void)state;
    struct sm_scales *scales = measured("w4c-a16", 0, count, MAX_SEQ - 1, 0);
    const double right = peir_with(scales, SM_KV_F32);
    for (size_t site = 0; site <= SM_SITE_DOWN; site++) {
        float *largest = &scales->layer[1][site], kept = *largest;
        *largest = kept / 4; /* saturates */
        const double small = peir_with(scales, SM_KV_F32);
        *largest = kept * 1024; /* five bits are left */
        const double large = peir_with(scales, SM_KV_F32);
        *largest = kept;
        print_message("%s of layer 1: PEIR %.4f, with a quarter of the scale %.4f, with 1024 times %.4f\n",
                      sm_site_name((enum sm_site)site), right, small, large);
        assert_true(small > 2 * right && large > 2 * right);
    }
    scales->model[SM_SITE_HEAD] /= 4;
    assert_true(peir_with(scales, SM_KV_F32) > 0.03);
    sm_scales_destroy(scales);
}

static void int16_keys_and_values_follow(void **state)
{
    (void)state;
    struct sm_scales *scales = measured("w4c-a16", 0, count, MAX_SEQ - 1, 0);
    const double share = peir_with(scales, SM_KV_I16);
    print_message("w4c-a16 with KV in i16: PEIR %.4f\n", share);
    assert_true(share <= 0.03);
    scales->layer[0][SM_SITE_KEYS] /= 8;
    assert_true(peir_with(scales, SM_KV_I16) > 2 * share);
    sm_scales_destroy(scales);
}

/* Two windows, alone and together: the largest of both, or a moving average that the first one starts. */
static void windows_are_merged(void **state)
{
    (void)state;
    struct sm_scales *first = measured("w4c-a16", 0, 20, 20, 0), *second = measured("w4c-a16", 20, 40, 20, 0),
                     *both = measured("w4c-a16", 0, 40, 20, 0), *average = measured("w4c-a16", 0, 40, 20, 0.5);
    size_t nonzero = 0;
    for (size_t l = 0; l < 3; l++)
        for (size_t s = 0; s < SM_LAYER_SITES; s++) {
            const float a = first->layer[l][s], b = second->layer[l][s];
            nonzero += a > 0;
            assert_true(both->layer[l][s] == fmaxf(a, b));
            assert_true(average->layer[l][s] == (float)(0.5 * (double)a + 0.5 * (double)b));
        }
    assert_int_equal(nonzero, 3 * 6); /* there are no per-layer embeddings */
    assert_true(both->model[SM_SITE_HEAD] == fmaxf(first->model[SM_SITE_HEAD], second->model[SM_SITE_HEAD]));
    assert_true(both->model[SM_SITE_PER_LAYER_CONTEXT] == 0);
    sm_scales_destroy(first);
    sm_scales_destroy(second);
    sm_scales_destroy(both);
    sm_scales_destroy(average);
}

static void refused(const char *recipe, const struct sm_choice *choice, const char *sentence)
{
    struct sm_weights *weights = NULL;
    assert_int_equal(sm_weights_create(&weights, model, recipe, choice, why, sizeof why), -1);
    if (!strstr(why, sentence)) fail_msg("expected '%s' in: %s", sentence, why);
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    struct sm_choice choice = {.features = sm_cpu_features()};
    struct sm_scales *scales = sm_scales_create(3), *other = sm_scales_create(2);
    refused("w4c-a16", &choice, "make them with slotmark scales MODEL --text FILE");
    choice.scales = other;
    refused("w8c-a16", &choice, "of a model of 2 layers, and this one has 3");
    choice.scales = scales;
    refused("w4c-a16", &choice, "have none for one of this model's");
    refused("w4c-a17", &choice, "there is no recipe 'w4c-a17'; there are native, float, w4g32-a8, w4c-a8");
    sm_scales_destroy(scales);
    sm_scales_destroy(other);
}

int main(void)
{
    size_t sizes[2];
    golden_open(&golden, "llama-tiny/golden");
    golden_open(&quant, "llama-tiny/quant");
    tokens = golden_ints(&golden, "full.tokens", 1, &count);
    (void)golden_floats(&golden, "full.logits", 2, sizes);
    vocab = sizes[1];
    if (sm_model_open(&model, golden_path("llama-tiny/llama-tiny-f32.gguf"), why, sizeof why)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recipes_follow_the_reference), cmocka_unit_test(weights_alone_follow_more_closely),
        cmocka_unit_test(a_wrong_scale_is_seen),        cmocka_unit_test(int16_keys_and_values_follow),
        cmocka_unit_test(windows_are_merged),           cmocka_unit_test(what_is_missing_is_said),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sm_model_close(model);
    golden_close(&golden);
    golden_close(&quant);
    return failed;
}
