/* The work of a model's steps and what it says of their times: the operations are those of the model's formula, a time
 * that cannot be is an error, and what has no work is null with a reason. No time is measured. */
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cpu.h"
#include "runtime_fixture.h"
#include "step_limits.h"
#include "trial.h"

#define MAX_SEQ 48

static struct fixture f;
static struct sm_session *session;

static int open_model(void **state)
{
    (void)state;
    static const int32_t tokens[8];
    const struct sm_session_options options = {.max_seq = MAX_SEQ, .kv = SM_KV_F16, .threads = 1};
    char why[256];
    fixture_open(&f, &(struct fixture_options){.file = SM_SOURCE_DIR "/tests/golden/llama-tiny/llama-tiny-q4_0.gguf",
                                               .recipe = "native",
                                               .features = sm_cpu_features(),
                                               .max_seq = MAX_SEQ,
                                               .threads = 1,
                                               .kv = SM_KV_F16});
    if (sm_session_create(&session, f.weights, &options, why, sizeof why)) return -1;
    return sm_session_prefill(session, tokens, 8, SM_PAD_RIGHT, why, sizeof why) ||
           sm_session_decode(session, 0, why, sizeof why);
}

static int close_model(void **state)
{
    (void)state;
    sm_session_destroy(session);
    fixture_close(&f);
    return 0;
}

/* A record whose steps, those of the phase's plan, each took ns in each of `runs` runs. */
static struct sm_record *record_of(enum sm_phase phase, double ns, double runs)
{
    const struct sm_plan *plan = sm_session_plan(session, phase);
    struct sm_record *r = sm_record_create("profile", "tiny");
    bool there[SM_LABELS] = {false};
    assert_non_null(r);
    for (size_t i = 0; i < sm_plan_step_count(plan); i++) there[sm_plan_steps(plan)[i].label] = true;
    for (int l = 0; l < SM_LABELS; l++)
        if (there[l]) sm_record_add_step(r, sm_label_name((enum sm_label)l), ns, 1);
    sm_record_add_step(r, "unexplained", ns, 1);
    const struct sm_step_calls calls = {plan, runs};
    sm_step_limits_record(r, &calls, 1, runs, 1e9, 1, 3e9);
    return r;
}

static void the_operations_are_those_of_the_formula(void **state)
{
    (void)state;
    static const char *const products[] = {"qkv", "attention", "attention out", "gate, up", "down", "head"};
    for (int p = 0; p < SM_PHASES; p++) {
        if (p == SM_PHASE_APPEND) continue;
        struct sm_record *r = record_of((enum sm_phase)p, 1e9, 3);
        double ops = 0;
        size_t i, found = 0;
        json_t *step;
        json_array_foreach(json_object_get(sm_record_json(r), "steps"), i, step)
        {
            for (size_t k = 0; k < sizeof products / sizeof *products; k++) {
                if (strcmp(json_string_value(json_object_get(step, "label")), products[k])) continue;
                ops += json_number_value(json_object_get(step, "ops"));
                found++;
            }
        }
        assert_int_equal(found, 6);
        assert_true(fabs(ops / sm_trial_ops(&f.weights->model->shape, (enum sm_phase)p, MAX_SEQ) - 1) < 1e-12);
        sm_record_destroy(r);
    }
}

static void weights_come_from_where_the_whole_model_is(void **state)
{
    (void)state;
    struct sm_record *r = record_of(SM_PHASE_DECODE, 1e9, 1);
    size_t i, far = 0;
    json_t *step;
    json_array_foreach(json_object_get(sm_record_json(r), "steps"), i, step)
    {
        const char *label = json_string_value(json_object_get(step, "label"));
        const json_t *ceiling = json_object_get(step, "ceiling");
        if (!strcmp(label, "unexplained")) {
            assert_true(json_is_null(ceiling) && json_is_null(json_object_get(step, "share")));
            assert_non_null(strstr(json_string_value(json_object_get(step, "why")), "no step does it"));
            continue;
        }
        assert_true(json_is_string(ceiling) && json_is_null(json_object_get(step, "why")));
        const double share = json_number_value(json_object_get(step, "share"));
        assert_true(share > 0 && share < 0.1); /* of a second */
        if (!strcmp(label, "qkv") || !strcmp(label, "down") || !strcmp(label, "attention"))
            far += !strcmp(json_string_value(ceiling), "dram_read");
        if (!strcmp(label, "norm")) assert_null(strstr(json_string_value(ceiling), "dram"));
        if (!strcmp(label, "rope")) assert_non_null(strstr(json_string_value(ceiling), "_update"));
    }
    assert_int_equal(far, 3); /* of a gigabyte that is said to lie between two calls */
    sm_record_destroy(r);
}

static void a_time_that_cannot_be_is_an_error(void **state)
{
    (void)state;
    struct sm_record *r = record_of(SM_PHASE_DECODE, 1e-3, 1);
    size_t i;
    json_t *step;
    json_array_foreach(json_object_get(sm_record_json(r), "steps"), i, step)
    {
        const char *label = json_string_value(json_object_get(step, "label"));
        if (!strcmp(label, "unexplained") || !strcmp(label, "attention")) continue; /* masked columns may be left out */
        assert_true(json_is_null(json_object_get(step, "share")));
        assert_int_equal(strncmp(json_string_value(json_object_get(step, "why")), "impossible: ", 12), 0);
    }
    sm_record_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_operations_are_those_of_the_formula),
                                       cmocka_unit_test(weights_come_from_where_the_whole_model_is),
                                       cmocka_unit_test(a_time_that_cannot_be_is_an_error)};
    return cmocka_run_group_tests(tests, open_model, close_model);
}
