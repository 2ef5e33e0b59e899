/* Perplexity on the reference's tiny Llama: every token once, whatever the windows; and what is refused. */
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
#include "perplexity.h"
#include "random.h"
#include "runtime_fixture.h"

static char why[512];

static void open_tiny(struct fixture *f)
{
    const struct sm_choice choice = {.features = sm_cpu_features()};
    *f = (struct fixture){0};
    if (sm_model_open(&f->model, golden_path("llama-tiny/llama-tiny-f32.gguf"), why, sizeof why) ||
        sm_weights_create(&f->weights, f->model, "float", &choice, why, sizeof why))
        fail_msg("%s", why);
}

static double minus_log(const float *logits, size_t vocab, int32_t token)
{
    double sum = 0;
    for (size_t i = 0; i < vocab; i++) sum += exp((double)logits[i] - (double)logits[token]);
    return log(sum);
}

/* One window: what follows from the reference's own logits. */
static void test_reference(void **state)
{
    (void)state;
    struct fixture f;
    struct golden g;
    size_t count, sizes[2];
    float each[512];
    struct sm_perplexity result;
    double sum = 0;
    open_tiny(&f);
    golden_open(&g, "llama-tiny/golden");
    const int32_t *tokens = golden_ints(&g, "full.tokens", 1, &count);
    const float *logits = golden_floats(&g, "full.logits", 2, sizes);
    const struct sm_perplexity_options options = {.session = {.max_seq = count + 8, .threads = 1}, .begin = -1};
    assert_true(count <= 512);
    if (sm_perplexity(f.weights, tokens, count, &options, &result, each, why, sizeof why)) fail_msg("%s", why);
    for (size_t i = 0; i + 1 < count; i++) {
        const double wanted = minus_log(logits + i * sizes[1], sizes[1], tokens[i + 1]);
        sum += wanted;
        if (!(fabs((double)each[i] - wanted) < 1e-4)) fail_msg("token %zu: %g, not %g", i + 1, (double)each[i], wanted);
    }
    assert_int_equal(result.scored, count - 1);
    assert_int_equal(result.windows, 1);
    assert_true(fabs(result.nll - sum / (double)(count - 1)) < 1e-4);
    assert_true(fabs(result.perplexity - exp(result.nll)) < 1e-9);
    golden_close(&g);
    fixture_close(&f);
}

/* -ln p of each token by a session that prefills, for each window, all that comes before the token. */
static void expect(const struct fixture *f, const int32_t *tokens, size_t count, size_t max_seq, size_t stride,
                   int32_t begin, float *each)
{
    const struct sm_session_options options = {.max_seq = max_seq, .threads = 1};
    const size_t vocab = f->model->shape.vocab;
    struct sm_session *s;
    int32_t row[64];
    size_t at = 0;
    if (sm_session_create(&s, f->weights, &options, why, sizeof why)) fail_msg("%s", why);
    for (size_t target = 1; target < count; target++) {
        /* the first window that reaches the token before it */
        size_t n = 0;
        while (target - 1 - at + (begin >= 0 && at ? 1 : 0) >= max_seq - 1) at += stride;
        if (begin >= 0 && at) row[n++] = begin;
        for (size_t i = at; i < target; i++) row[n++] = tokens[i];
        if (sm_session_prefill(s, row, n, SM_PAD_RIGHT, why, sizeof why)) fail_msg("%s", why);
        each[target - 1] = (float)minus_log(sm_session_logits(s), vocab, tokens[target]);
    }
    sm_session_destroy(s);
}

static void test_windows(void **state)
{
    (void)state;
    struct fixture f;
    struct sm_random random = {20261129};
    open_tiny(&f);
    for (int trial = 0; trial < 60; trial++) {
        int32_t tokens[90];
        float each[90], wanted[90];
        const size_t count = 2 + sm_random_below(&random, 88), max_seq = 4 + sm_random_below(&random, 40);
        for (size_t i = 0; i < count; i++) tokens[i] = (int32_t)sm_random_below(&random, 32);
        const bool bos = trial % 2;
        const size_t most = max_seq - 1 - bos, stride = 1 + sm_random_below(&random, (uint32_t)most);
        struct sm_perplexity_options options = {
            .session = {.max_seq = max_seq, .threads = 1}, .stride = stride, .begin = bos ? tokens[0] : -1};
        struct sm_perplexity result;
        if (sm_perplexity(f.weights, tokens, count, &options, &result, each, why, sizeof why)) fail_msg("%s", why);
        expect(&f, tokens, count, max_seq, stride, options.begin, wanted);
        assert_int_equal(result.scored, count - 1);
        assert_int_equal(result.stride, stride);
        for (size_t i = 0; i + 1 < count; i++)
            if (!(fabsf(each[i] - wanted[i]) < 1e-4f))
                fail_msg("%zu tokens, max_seq %zu, stride %zu: token %zu has %g, not %g", count, max_seq, stride, i + 1,
                         (double)each[i], (double)wanted[i]);
    }
    fixture_close(&f);
}

struct watcher {
    size_t calls, stop_at, last, total;
};

static bool watch(void *state, const struct sm_perplexity_progress *progress)
{
    struct watcher *w = state;
    assert_true(progress->done >= w->last && progress->done <= progress->total && progress->left_s >= 0);
    w->last = progress->done;
    w->total = progress->total;
    return ++w->calls != w->stop_at;
}

static void test_progress(void **state)
{
    (void)state;
    struct fixture f;
    int32_t tokens[200];
    float each[200];
    struct sm_perplexity result;
    struct watcher w = {0};
    struct sm_perplexity_options options = {
        .session = {.max_seq = 48, .threads = 1}, .begin = -1, .progress = watch, .state = &w};
    open_tiny(&f);
    for (int32_t i = 0; i < 200; i++) tokens[i] = i % 29;
    if (sm_perplexity(f.weights, tokens, 200, &options, &result, each, why, sizeof why)) fail_msg("%s", why);
    assert_int_equal(w.last, w.total);
    assert_false(result.interrupted);
    assert_int_equal(result.scored, 199);
    w = (struct watcher){.stop_at = 4};
    if (sm_perplexity(f.weights, tokens, 200, &options, &result, each, why, sizeof why)) fail_msg("%s", why);
    assert_true(result.interrupted && result.scored > 0 && result.scored < 199);
    assert_true(isfinite(each[result.scored - 1]) != 0);
    assert_true(isnan(each[result.scored]) != 0);
    fixture_close(&f);
}

static void test_refusals(void **state)
{
    (void)state;
    struct fixture f;
    const int32_t tokens[4] = {1, 2, 3, 4}, wrong[2] = {1, 1 << 20};
    struct sm_perplexity result;
    struct sm_perplexity_options options = {.session = {.max_seq = 16, .threads = 1}, .begin = -1};
    open_tiny(&f);
    assert_int_equal(sm_perplexity(f.weights, tokens, 1, &options, &result, NULL, why, sizeof why), -1);
    assert_int_equal(sm_perplexity(f.weights, wrong, 2, &options, &result, NULL, why, sizeof why), -1);
    options.stride = 16;
    assert_int_equal(sm_perplexity(f.weights, tokens, 4, &options, &result, NULL, why, sizeof why), -1);
    options.stride = 15;
    assert_int_equal(sm_perplexity(f.weights, tokens, 4, &options, &result, NULL, why, sizeof why), 0);
    options.begin = 1;
    assert_int_equal(sm_perplexity(f.weights, tokens, 4, &options, &result, NULL, why, sizeof why), -1);
    options.stride = 14;
    assert_int_equal(sm_perplexity(f.weights, tokens, 4, &options, &result, NULL, why, sizeof why), 0);
    options.begin = 2;
    assert_int_equal(sm_perplexity(f.weights, tokens, 4, &options, &result, NULL, why, sizeof why), -1);
    options.begin = -1;
    options.session.max_seq = 3;
    assert_int_equal(sm_perplexity(f.weights, tokens, 4, &options, &result, NULL, why, sizeof why), -1);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference), cmocka_unit_test(test_windows),
                                       cmocka_unit_test(test_progress), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
