/* A real model, SmolLM2-135M-Instruct in Q4_1, against reference results: greedy tokens of six prompts and the logits
 * that follow each. Skipped (77) where the file is not there: SLOTMARK_MODEL, else the cache that scripts/fetch-model
 * keeps. */
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
#include "runtime_fixture.h"

#define FILE_NAME "SmolLM2-135M-Instruct.Q4_1.gguf"
#define PROMPTS 6
#define STEPS 32
/* Below this margin a float implementation may rightly choose the other token, and the texts part. */
#define MARGIN 0.01f
/* The reference's own recomputation moves its logits by up to 3.6e-5; another order of its sums moves them by more. */
#define TOLERANCE 1e-3
/* What int8 rows move the logits after a prompt, as a share of their interval. */
#define PEIR_QUANTISED 0.05

static char model_path[4096], why[512];

static const char *find_model(void)
{
    const char *set = getenv("SLOTMARK_MODEL"), *cache = getenv("SLOTMARK_CACHE"), *home = getenv("HOME");
    const char *xdg = getenv("XDG_CACHE_HOME");
    if (set && *set)
        snprintf(model_path, sizeof model_path, "%s", set);
    else if (cache && *cache)
        snprintf(model_path, sizeof model_path, "%s/" FILE_NAME, cache);
    else if (xdg && *xdg)
        snprintf(model_path, sizeof model_path, "%s/slotmark/" FILE_NAME, xdg);
    else
        snprintf(model_path, sizeof model_path, "%s/.cache/slotmark/" FILE_NAME, home ? home : ".");
    return access(model_path, R_OK) ? NULL : model_path;
}

/* The weights are packed once a recipe; each prompt has a session of a max_seq that it just fits. */
static void open_weights(struct fixture *f, const char *recipe)
{
    const struct sm_choice choice = {.features = sm_cpu_features()};
    memset(f, 0, sizeof *f);
    if (sm_model_open(&f->model, model_path, why, sizeof why) ||
        sm_weights_create(&f->weights, f->model, recipe, &choice, why, sizeof why))
        fail_msg("%s", why);
}

static void start(struct fixture *f, const struct golden *g, size_t prompt, size_t threads, enum sm_kv_type kv,
                  enum sm_padding padding)
{
    char name[64];
    size_t count;
    snprintf(name, sizeof name, "prompt.%zu.tokens", prompt);
    const int32_t *tokens = golden_ints(g, name, 1, &count);
    const struct sm_session_options options = {.max_seq = count + STEPS, .kv = kv, .threads = threads};
    if (sm_session_create(&f->session, f->weights, &options, why, sizeof why) ||
        sm_session_prefill(f->session, tokens, count, padding, why, sizeof why))
        fail_msg("%s", why);
}

static const float *prompt_logits(const struct golden *g, size_t prompt, size_t *vocab)
{
    char name[64];
    snprintf(name, sizeof name, "prompt.%zu.logits", prompt);
    return golden_floats(g, name, 1, vocab);
}

static void test_float(void **state)
{
    (void)state;
    struct golden g;
    struct fixture f;
    golden_open(&g, "smollm2-135m/golden");
    open_weights(&f, "float");
    for (size_t p = 0; p < PROMPTS; p++) {
        char name[64];
        size_t vocab, step = 0;
        snprintf(name, sizeof name, "prompt.%zu.greedy", p);
        const int32_t *greedy = golden_ints(&g, name, 1, NULL);
        snprintf(name, sizeof name, "prompt.%zu.greedy_margins", p);
        const float *margins = golden_floats(&g, name, 1, NULL);
        start(&f, &g, p, 1 + p % 2, SM_KV_F32, p % 2 ? SM_PAD_LEFT : SM_PAD_RIGHT);
        const float *logits = prompt_logits(&g, p, &vocab);
        const double off = difference(sm_session_logits(f.session), logits, vocab);
        if (!(off <= TOLERANCE)) fail_msg("prompt %zu: logits off by %g", p, off);
        for (; step < STEPS && margins[step] >= MARGIN; step++) {
            assert_int_equal(sm_session_argmax(f.session), greedy[step]);
            if (step + 1 < STEPS && sm_session_decode(f.session, greedy[step], why, sizeof why)) fail_msg("%s", why);
        }
        print_message("prompt %zu: logits off by %.1e, %zu greedy tokens equal\n", p, off, step);
        assert_true(step >= 10);
        sm_session_destroy(f.session);
        f.session = NULL;
    }
    fixture_close(&f);
    golden_close(&g);
}

static void test_quantised(void **state)
{
    (void)state;
    struct golden g;
    struct fixture f;
    golden_open(&g, "smollm2-135m/golden");
    open_weights(&f, "native");
    for (size_t p = 0; p < PROMPTS; p++) {
        size_t vocab;
        start(&f, &g, p, 2, p % 2 ? SM_KV_F16 : SM_KV_I8, SM_PAD_RIGHT);
        const float *logits = prompt_logits(&g, p, &vocab);
        const double share = peir(logits, sm_session_logits(f.session), vocab);
        print_message("prompt %zu: PEIR %.4f\n", p, share);
        assert_true(share <= PEIR_QUANTISED);
        sm_session_destroy(f.session);
        f.session = NULL;
    }
    fixture_close(&f);
    golden_close(&g);
}

int main(void)
{
    if (!find_model()) {
        printf("skipped: there is no %s; scripts/fetch-model fetches it\n", model_path);
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_float), cmocka_unit_test(test_quantised)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
