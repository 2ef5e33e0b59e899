/* Real models against reference results: greedy tokens of their prompts and the logits that follow each.
 *
 *     test_real_models MODEL        one of the table below
 *
 * Skipped (77) where the file is not there: SLOTMARK_MODEL if it has the name, else the cache that scripts/fetch-model
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

#define STEPS 32
/* Below this margin a float implementation may rightly choose the other token, and the texts part. */
#define MARGIN 0.01f

static const struct real {
    const char *name, *file, *fetch;
    /* The references' own recomputation moves their logits by up to 3.6e-5; another order of sums by more. */
    double tolerance;
    double quantised; /* what int8 rows move the logits after a prompt, as a share of their interval */
    size_t least;     /* greedy tokens that no small margin forgives, of every prompt */
} models[] = {
    {"smollm2-135m", "SmolLM2-135M-Instruct.Q4_1.gguf", "scripts/fetch-model", 1e-3, 0.05, 10},
    {"gemma3-270m", "gemma-3-270m-q4_k_m.gguf", "scripts/fetch-model gemma3-270m", 1e-3, 0.05, 10},
};

static const struct real *model;
static char model_path[4096], why[512];

static const char *find_model(void)
{
    const char *set = getenv("SLOTMARK_MODEL"), *cache = getenv("SLOTMARK_CACHE"), *home = getenv("HOME");
    const char *xdg = getenv("XDG_CACHE_HOME");
    if (set && strstr(set, model->file))
        snprintf(model_path, sizeof model_path, "%s", set);
    else if (cache && *cache)
        snprintf(model_path, sizeof model_path, "%s/%s", cache, model->file);
    else if (xdg && *xdg)
        snprintf(model_path, sizeof model_path, "%s/slotmark/%s", xdg, model->file);
    else
        snprintf(model_path, sizeof model_path, "%s/.cache/slotmark/%s", home ? home : ".", model->file);
    return access(model_path, R_OK) ? NULL : model_path;
}

static void open_golden(struct golden *g)
{
    char name[64];
    snprintf(name, sizeof name, "%s/golden", model->name);
    golden_open(g, name);
}

static size_t prompts_of(const struct golden *g)
{
    const size_t count = json_array_size(json_object_get(g->facts, "prompts"));
    assert_true(count >= 5);
    return count;
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

/* How far the logits after a prompt are from the stored ones: all of them, or the best ones where only those are. */
static double logits_difference(const struct golden *g, size_t prompt, const float *logits)
{
    char name[64];
    size_t count;
    snprintf(name, sizeof name, "prompt.%zu.logits", prompt);
    if (json_object_get(g->header, name)) {
        const float *stored = golden_floats(g, name, 1, &count);
        return difference(logits, stored, count);
    }
    double most = 0;
    snprintf(name, sizeof name, "prompt.%zu.top_ids", prompt);
    const int32_t *ids = golden_ints(g, name, 1, &count);
    snprintf(name, sizeof name, "prompt.%zu.top_logits", prompt);
    const float *stored = golden_floats(g, name, 1, NULL);
    for (size_t i = 0; i < count; i++) {
        const double off = difference(&logits[ids[i]], &stored[i], 1);
        if (!(off <= most)) most = off; /* a NaN stays */
    }
    return most;
}

/* Greedy tokens that are the stored ones, up to the first whose margin is small: all of them, or the test fails. */
static size_t check_greedy(const struct golden *g, struct fixture *f, size_t prompt)
{
    char name[64];
    size_t step = 0;
    snprintf(name, sizeof name, "prompt.%zu.greedy", prompt);
    const int32_t *greedy = golden_ints(g, name, 1, NULL);
    snprintf(name, sizeof name, "prompt.%zu.greedy_margins", prompt);
    const float *margins = golden_floats(g, name, 1, NULL);
    for (; step < STEPS && margins[step] >= MARGIN; step++) {
        assert_int_equal(sm_session_argmax(f->session), greedy[step]);
        if (step + 1 < STEPS && sm_session_decode(f->session, greedy[step], why, sizeof why)) fail_msg("%s", why);
    }
    return step;
}

static void test_float(void **state)
{
    (void)state;
    struct golden g;
    struct fixture f;
    open_golden(&g);
    open_weights(&f, "float");
    for (size_t p = 0; p < prompts_of(&g); p++) {
        start(&f, &g, p, 1 + p % 2, SM_KV_F32, p % 2 ? SM_PAD_LEFT : SM_PAD_RIGHT);
        const double off = logits_difference(&g, p, sm_session_logits(f.session));
        const size_t step = check_greedy(&g, &f, p);
        print_message("prompt %zu: logits off by %.1e, %zu greedy tokens equal\n", p, off, step);
        if (!(off <= model->tolerance)) fail_msg("prompt %zu: logits off by %g", p, off);
        assert_true(step >= model->least);
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
    open_golden(&g);
    open_weights(&f, "native");
    for (size_t p = 0; p < prompts_of(&g); p++) {
        char name[64];
        size_t vocab;
        snprintf(name, sizeof name, "prompt.%zu.logits", p);
        if (!json_object_get(g.header, name)) continue;
        const float *logits = golden_floats(&g, name, 1, &vocab);
        start(&f, &g, p, 2, p % 2 ? SM_KV_F16 : SM_KV_I8, SM_PAD_RIGHT);
        const double share = peir(logits, sm_session_logits(f.session), vocab);
        print_message("prompt %zu: PEIR %.4f\n", p, share);
        assert_true(share <= model->quantised);
        sm_session_destroy(f.session);
        f.session = NULL;
    }
    fixture_close(&f);
    golden_close(&g);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof models / sizeof *models; i++)
        if (!strcmp(argv[1], models[i].name)) model = &models[i];
    if (!model) {
        fputs("usage: test_real_models smollm2-135m | gemma3-270m\n", stderr);
        return 2;
    }
    if (!find_model()) {
        printf("skipped: there is no %s; %s fetches it\n", model_path, model->fetch);
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_float), cmocka_unit_test(test_quantised)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
