/* What is made of the times of steps in a model and alone; and, on demand, whether a step made slower is named. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "clock.h"
#include "cpu.h"
#include "reconcile.h"
#include "runtime_fixture.h"

static const char *cause(double model, double alone, double cold, size_t barriers)
{
    static char text[128];
    struct sm_reconciled r = {.call_ns = 1000, .barrier_ns = 10};
    r.model_ns[SM_LABEL_DOWN] = model;
    r.alone_ns[SM_LABEL_DOWN] = alone;
    r.cold_ns[SM_LABEL_DOWN] = cold;
    r.barriers[SM_LABEL_DOWN] = barriers;
    return sm_reconcile_cause(&r, SM_LABEL_DOWN, text, sizeof text);
}

static void a_difference_has_its_likely_cause(void **state)
{
    (void)state;
    assert_string_equal(cause(200, 190, 190, 0), ""); /* 5 % */
    assert_string_equal(cause(9, 5, 5, 0), "");       /* of a step that is less than 1 % of the call */
    assert_non_null(strstr(cause(240, 200, 201, 0), "the step itself: slower than alone by 20 %"));
    assert_non_null(strstr(cause(300, 200, 290, 1), "cold weights"));
    assert_non_null(strstr(cause(300, 200, 210, 9), "9 barriers"));
    assert_non_null(strstr(cause(400, 200, 290, 1), "the step itself")); /* cold weights are half of it */
    assert_non_null(strstr(cause(100, 200, 210, 1), "disturbed"));
}

/* Makes the layers' last matrices take half as long again: far more than the threshold, far less than they take. */
static void slow_down(void *state, const struct sm_step *step, const struct sm_part *part)
{
    (void)state;
    const uint64_t since = sm_clock_ns();
    step->fn(step->args, *part);
    const uint64_t until = sm_clock_ns() + (sm_clock_ns() - since) / 2;
    while (step->label == SM_LABEL_DOWN && sm_clock_ns() < until) continue;
}

/* On a model that fits the caches, whose steps take no longer in it than alone: on a quiet machine. */
static void a_step_that_was_slowed_down_is_named(void **state)
{
    (void)state;
    struct fixture f;
    static const int32_t tokens[64];
    struct sm_trial trial = {.max_seq = 256, .prompt = 64, .threads = 1, .tokens = tokens, .kv = SM_KV_F16};
    struct sm_reconciled prefill, decode;
    struct sm_run_hooks hooks = {.call = slow_down};
    char why[256] = "", text[128];
    fixture_open(&f, &(struct fixture_options){.file = SM_SOURCE_DIR "/tests/golden/llama-tiny/llama-tiny-q4_0.gguf",
                                               .recipe = "native",
                                               .features = sm_cpu_features(),
                                               .max_seq = 256,
                                               .threads = 1,
                                               .kv = SM_KV_F16});
    if (sm_reconcile(&trial, f.weights, hooks, &prefill, &decode, why, sizeof why)) fail_msg("%s", why);
    for (int l = 0; l < SM_LABELS; l++) {
        sm_reconcile_cause(&prefill, (enum sm_label)l, text, sizeof text);
        if (*text) print_message("%s: %s\n", sm_label_name((enum sm_label)l), text);
        assert_int_equal(strstr(text, "the step itself") != NULL, l == SM_LABEL_DOWN);
    }
    fixture_close(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_difference_has_its_likely_cause)};
    const struct CMUnitTest timed[] = {cmocka_unit_test(a_step_that_was_slowed_down_is_named)};
    if (argc > 1 && !strcmp(argv[1], "timed")) return cmocka_run_group_tests(timed, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
