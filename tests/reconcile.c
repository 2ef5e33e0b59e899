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
#include "shape.h"

static const char *cause(double model, double replay, double alone, double cold, size_t barriers)
{
    static char text[128];
    struct sm_reconciled r = {.call_ns = 1000, .barrier_ns = 10, .threads = 2};
    r.model_ns[SM_LABEL_DOWN] = model;
    r.replay_ns[SM_LABEL_DOWN] = replay;
    r.alone_ns[SM_LABEL_DOWN] = alone;
    r.cold_ns[SM_LABEL_DOWN] = cold;
    r.barriers[SM_LABEL_DOWN] = barriers;
    return sm_reconcile_cause(&r, SM_LABEL_DOWN, text, sizeof text);
}

static void a_difference_has_its_likely_cause(void **state)
{
    (void)state;
    assert_string_equal(cause(200, 195, 190, 190, 0), ""); /* 5 % */
    assert_string_equal(cause(9, 5, 5, 5, 0), "");         /* of a step that is less than 1 % of the call */
    assert_non_null(strstr(cause(240, 200, 200, 201, 0), "the step itself: it takes 20 % more"));
    assert_non_null(strstr(cause(240, 200, 150, 290, 1), "the step itself")); /* whatever memory would cost it */
    assert_non_null(strstr(cause(240, 200, 240, 290, 1), "the step itself")); /* and however long it took alone */
    assert_non_null(strstr(cause(300, 295, 200, 310, 1), "cold weights or operands: 48 % more"));
    assert_non_null(strstr(cause(300, 295, 200, 210, 1), "operands in other cores' caches: 48 % more"));
    assert_non_null(strstr(cause(300, 300, 200, 310, 9), "9 barriers"));
    assert_non_null(strstr(cause(200, 240, 200, 210, 1), "replayed"));
    assert_non_null(strstr(cause(100, 100, 200, 210, 1), "alone"));
}

/* Makes the layers' last matrices take a fifth as long again. */
static void slow_down(const struct sm_step *step, const struct sm_part *part)
{
    const uint64_t since = step->label == SM_LABEL_DOWN ? sm_clock_ns() : 0;
    step->fn(step->args, *part);
    if (!since) return;
    const uint64_t until = sm_clock_ns() + (sm_clock_ns() - since) / 5;
    while (sm_clock_ns() < until) continue;
}

static void assert_it_alone_is_named(const struct sm_reconciled *r, const char *what)
{
    char text[128];
    for (int l = 0; l < SM_LABELS; l++) {
        sm_reconcile_cause(r, (enum sm_label)l, text, sizeof text);
        if (*text)
            print_message("%s %s: %.3f ms, replayed %.3f, alone %.3f: %s\n", what, sm_label_name((enum sm_label)l),
                          r->model_ns[l] * 1e-6, r->replay_ns[l] * 1e-6, r->alone_ns[l] * 1e-6, text);
        assert_int_equal(strstr(text, "the step itself") != NULL, l == SM_LABEL_DOWN);
    }
}

/* On a model that fits the caches, and on one that comes from memory. */
static void a_step_that_was_slowed_down_is_named(void **state)
{
    (void)state;
    static const int32_t tokens[64];
    struct sm_reconciled prefill, decode;
    const struct sm_choice choice = {.features = sm_cpu_features()};
    char why[256] = "";
    for (int large = 0; large < 2; large++) {
        struct sm_model *model;
        struct sm_weights *weights;
        struct sm_model_shape shape;
        const struct sm_trial trial = {.max_seq = large ? 64 : 256,
                                       .prompt = large ? 32 : 64,
                                       .gen = large ? 8 : 0,
                                       .threads = 1,
                                       .tokens = tokens,
                                       .kv = SM_KV_F16};
        if (sm_shape_load(&shape, "smollm2-135m", why, sizeof why)) fail_msg("%s", why);
        if (large
                ? sm_model_synthetic(&model, &shape, &(struct sm_synthetic){.format = SM_FORMAT_Q4_0, .seed = 1}, why,
                                     sizeof why)
                : sm_model_open(&model, SM_SOURCE_DIR "/tests/golden/llama-tiny/llama-tiny-q4_0.gguf", why, sizeof why))
            fail_msg("%s", why);
        if (sm_weights_create(&weights, model, "native", &choice, why, sizeof why) ||
            sm_reconcile(&trial, weights, slow_down, &prefill, &decode, why, sizeof why))
            fail_msg("%s", why);
        assert_it_alone_is_named(&prefill, large ? "large prefill" : "small prefill");
        if (trial.gen) assert_it_alone_is_named(&decode, "large decode");
        sm_weights_destroy(weights);
        sm_model_close(model);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_difference_has_its_likely_cause)};
    const struct CMUnitTest timed[] = {cmocka_unit_test(a_step_that_was_slowed_down_is_named)};
    if (argc > 1 && !strcmp(argv[1], "timed")) return cmocka_run_group_tests(timed, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
