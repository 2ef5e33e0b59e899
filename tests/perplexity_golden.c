/* The passage of two real models, in float, against the reference's -ln p of each token. Gemma 3's window of 512 tokens
 * is shorter than the passage. Skipped (77) where neither file is there. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cpu.h"
#include "golden.h"
#include "model_file.h"
#include "perplexity.h"
#include "runtime_fixture.h"

#define TOLERANCE 1e-3

static char why[512];
static bool ran;

static void check(const char *file, const char *name)
{
    const struct sm_choice choice = {.features = sm_cpu_features()};
    const char *path = model_file(file);
    struct golden g;
    struct fixture f = {0};
    size_t count, scored;
    char facts[64];
    if (!path) return;
    snprintf(facts, sizeof facts, "%s/golden", name);
    golden_open(&g, facts);
    if (sm_model_open(&f.model, path, why, sizeof why) ||
        sm_weights_create(&f.weights, f.model, "float", &choice, why, sizeof why))
        fail_msg("%s", why);
    const int32_t *tokens = golden_ints(&g, "passage.tokens", 1, &count);
    const float *wanted = golden_floats(&g, "passage.nll", 1, &scored);
    const struct sm_perplexity_options options = {.session = {.max_seq = 640, .kv = SM_KV_F32, .threads = 2},
                                                  .begin = -1};
    struct sm_perplexity result;
    float *each = malloc(scored * sizeof *each);
    double sum = 0;
    assert_non_null(each);
    assert_int_equal(scored, count - 1);
    if (sm_perplexity(f.weights, tokens, count, &options, &result, each, why, sizeof why)) fail_msg("%s", why);
    for (size_t i = 0; i < scored; i++) sum += (double)wanted[i];
    const double off = difference(each, wanted, scored);
    print_message("%s: %zu tokens, perplexity %.4f (reference %.4f), -ln p off by at most %.1e\n", name, result.scored,
                  result.perplexity, exp(sum / (double)scored), off);
    assert_int_equal(result.scored, scored);
    assert_true(off <= TOLERANCE);
    ran = true;
    free(each);
    fixture_close(&f);
    golden_close(&g);
}

static void test_smollm2(void **state)
{
    (void)state;
    check(SMOLLM2_FILE, "smollm2-135m");
}

static void test_gemma3(void **state)
{
    (void)state;
    check(GEMMA3_FILE, "gemma3-270m");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_smollm2), cmocka_unit_test(test_gemma3)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed || ran ? failed : 77;
}
