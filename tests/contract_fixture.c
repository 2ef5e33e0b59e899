#include "contract_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cpu.h"
#include "mask_build/mask_build.h"
#include "rope/rope.h"

char why[512];

const float echo_keys[ECHO] = {99, 30, 31, 10, 11, 5, 6, 7}, echo_values[ECHO] = {98, 40, 41, 20, 21, 3, 2, 1};

struct session open_session(const struct sm_model *model, const struct sm_session_options *options,
                            enum sm_scale_in scale_in)
{
    struct session s;
    struct sm_session_options with = *options;
    const struct sm_choice choice = {.features = sm_cpu_features(), .scale_in = scale_in};
    if (!with.threads) with.threads = 1;
    if (sm_weights_create(&s.weights, model, "float", &choice, why, sizeof why) ||
        sm_session_create(&s.session, s.weights, &with, why, sizeof why))
        fail_msg("%s", why);
    return s;
}

struct session open_echo(struct echo_model *m, const struct sm_session_options *options)
{
    echo_model_make(m, 1, echo_keys, echo_values);
    return open_session(&m->model, options, SM_SCALE_IN_SCORES);
}

void close_session(struct session *s)
{
    sm_session_destroy(s->session);
    sm_weights_destroy(s->weights);
}

void worked(int result)
{
    if (result) fail_msg("%s", why);
}

void refused(int result, const char *sentence)
{
    assert_int_equal(result, -1);
    if (!strstr(why, sentence)) fail_msg("expected '%s' in: %s", sentence, why);
}

size_t count_steps(const struct sm_plan *plan, const char *family)
{
    size_t count = 0;
    for (size_t i = 0; i < sm_plan_step_count(plan); i++) count += !strcmp(sm_plan_steps(plan)[i].family->name, family);
    return count;
}

const void *step_args(const struct sm_plan *plan, const char *family, int n)
{
    if (n < 0) n += (int)count_steps(plan, family);
    for (size_t i = 0; i < sm_plan_step_count(plan); i++)
        if (!strcmp(sm_plan_steps(plan)[i].family->name, family) && n-- == 0) return sm_plan_steps(plan)[i].args;
    fail_msg("no such step of %s", family);
    return NULL;
}

const char *columns_seen(const struct sm_plan *plan, int n, size_t row, float fill)
{
    static char text[256];
    const struct sm_mask_build *a = step_args(plan, "mask_build", n);
    const float *at = a->mask + row * a->mask_stride;
    const size_t columns = a->past + a->rows;
    int used = 0;
    text[0] = 0;
    for (size_t j = 0; j < columns; j++) {
        assert_true(at[j] == 0 || at[j] == fill);
        if (at[j] != 0) continue;
        size_t end = j;
        while (end + 1 < columns && at[end + 1] == 0) end++;
        used +=
            snprintf(text + used, sizeof text - (size_t)used, end > j ? "%s%zu-%zu" : "%s%zu", used ? " " : "", j, end);
        j = end;
    }
    return text;
}

size_t position_of(const struct sm_plan *plan, const struct sm_positions *positions, size_t row)
{
    const struct sm_rope *a = step_args(plan, "rope", 0);
    const size_t half = a->head_dim / 2;
    for (size_t p = 0; p < positions->max_seq; p++)
        if (!memcmp(a->cos + row * half, positions->rotation[0].cos + p * half, half * sizeof(float)) &&
            !memcmp(a->sin + row * half, positions->rotation[0].sin + p * half, half * sizeof(float)))
            return p;
    fail_msg("row %zu is rotated for no position", row);
    return 0;
}
