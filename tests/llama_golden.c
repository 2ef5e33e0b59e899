/* Small Llama models against reference results: every layer, prefill and decode, the cache, at every level of
 * dispatch that this machine has, and the limits of a static cache. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cpu.h"
#include "golden.h"
#include "runtime_fixture.h"

/* The share of the logits' interval that int8 rows, and then an int8 cache, may move a logit on these files. */
#define PEIR_QUANTISED 0.025
#define PEIR_KV_F16 0.001
#define PEIR_KV_I8 0.012

static char why[512];

static const struct {
    const char *name, *file, *logits;
} models[] = {
    {"llama-tiny", "llama-tiny-f32.gguf", "gguf.f32.logits"},
    {"llama-tiny", "llama-tiny-f16.gguf", "gguf.f16.logits"},
    {"llama-tiny", "llama-tiny-q8_0.gguf", "gguf.q8_0.logits"},
    {"llama-tiny", "llama-tiny-q4_0.gguf", "gguf.q4_0.logits"},
    {"llama3-rope-tiny", "llama3-rope-tiny-f32.gguf", "gguf.f32.logits"},
};
#define MODELS (sizeof models / sizeof *models)

struct reference {
    struct golden golden, gguf;
    char file[4096];
    const float *logits; /* of this file's weights for full.tokens */
    const int32_t *tokens;
    size_t count, vocab;
    double tolerance;
};

static void reference_open(struct reference *r, size_t model)
{
    char name[128];
    size_t sizes[2];
    snprintf(name, sizeof name, "%s/golden", models[model].name);
    golden_open(&r->golden, name);
    snprintf(name, sizeof name, "%s/gguf", models[model].name);
    golden_open(&r->gguf, name);
    snprintf(name, sizeof name, "%s/%s", models[model].name, models[model].file);
    snprintf(r->file, sizeof r->file, "%s", golden_path(name));
    r->tokens = golden_ints(&r->golden, "full.tokens", 1, &r->count);
    r->logits = golden_floats(&r->gguf, models[model].logits, 2, sizes);
    r->vocab = sizes[1];
    r->tolerance = 4 * golden_number(&r->golden, "float32_vs_float64_max_abs");
}

static void reference_close(struct reference *r)
{
    golden_close(&r->golden);
    golden_close(&r->gguf);
}

/* The levels that this CPU has and the environment allows. */
static const char *level(size_t i, uint32_t *features)
{
    const char *name = sm_cpu_level(i, features);
    return name && (*features & ~sm_cpu_features()) == 0 ? name : NULL;
}

static void check_all_rows(const struct reference *r, const struct fixture_options *options, enum sm_padding padding,
                           double tolerance)
{
    struct fixture f;
    fixture_open(&f, options);
    if (sm_session_prefill(f.session, r->tokens, r->count, padding, why, sizeof why)) fail_msg("%s", why);
    const size_t first = padding == SM_PAD_LEFT ? options->max_seq - r->count : 0;
    const float *logits = sm_plan_logits(sm_session_plan(f.session, SM_PHASE_PREFILL)) + first * r->vocab;
    const double off = difference(logits, r->logits, r->count * r->vocab);
    if (!(off <= tolerance)) fail_msg("%s off by %g, tolerance %g", options->file, off, tolerance);
    assert_memory_equal(sm_session_logits(f.session), logits + (r->count - 1) * r->vocab, r->vocab * sizeof *logits);
    fixture_close(&f);
}

static void test_float_logits(void **state)
{
    (void)state;
    uint32_t features;
    for (size_t m = 0; m < MODELS; m++) {
        struct reference r;
        reference_open(&r, m);
        for (size_t l = 0; level(l, &features); l++) {
            const struct {
                size_t max_seq, threads;
                enum sm_padding padding;
            } runs[] = {
                {r.count + 1, 1, SM_PAD_RIGHT}, {48, 2, SM_PAD_LEFT}, {100, 1, SM_PAD_LEFT}, {64, 2, SM_PAD_RIGHT}};
            for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
                const struct fixture_options o = {r.file,          "float",   features, runs[i].max_seq,
                                                  runs[i].threads, SM_KV_F32, true};
                check_all_rows(&r, &o, runs[i].padding, r.tolerance);
            }
        }
        reference_close(&r);
    }
}

static void test_hidden_states(void **state)
{
    (void)state;
    for (size_t m = 0; m < MODELS; m += 4) { /* the F32 files */
        struct reference r;
        struct fixture f;
        size_t sizes[3];
        reference_open(&r, m);
        const struct fixture_options o = {r.file, "float", sm_cpu_features(), 48, 2, SM_KV_F32, true};
        const float *hidden = golden_floats(&r.golden, "hidden.full", 3, sizes);
        const float *normed = golden_floats(&r.golden, "hidden.final_norm", 2, NULL);
        const size_t each = sizes[1] * sizes[2];
        fixture_open(&f, &o);
        if (sm_session_prefill(f.session, r.tokens, r.count, SM_PAD_RIGHT, why, sizeof why)) fail_msg("%s", why);
        const struct sm_plan *plan = sm_session_plan(f.session, SM_PHASE_PREFILL);
        for (size_t l = 0; l < sizes[0]; l++) {
            const double off = difference(sm_plan_hidden(plan, l), hidden + l * each, each);
            if (!(off <= r.tolerance)) fail_msg("what enters layer %zu is off by %g", l, off);
        }
        assert_true(difference(sm_plan_hidden(plan, sizes[0]), normed, each) <= r.tolerance);
        assert_null(sm_plan_hidden(plan, sizes[0] + 1));
        assert_null(sm_plan_hidden(sm_session_plan(f.session, SM_PHASE_DECODE), 0));
        fixture_close(&f);
        reference_close(&r);
    }
}

/* A session of the golden data: prefill of the first turn, then every later token as a decode. Where the golden
 * session was greedy, our greedy token must be its next one. */
static void check_session(const struct reference *r, const struct fixture_options *options, enum sm_padding padding)
{
    struct fixture f;
    size_t count;
    const int32_t *tokens = golden_ints(&r->golden, "turns.tokens", 1, &count);
    const float *logits = golden_floats(&r->golden, "turns.logits", 2, NULL);
    const json_t *turns = json_object_get(r->golden.facts, "turns");
    const size_t turn_count = json_array_size(turns);
    size_t turn = 0, next_turn = 0;
    fixture_open(&f, options);
    for (size_t at = 0; at < count; at++) {
        const json_t *now = json_array_get(turns, turn);
        const size_t prompt = (size_t)json_integer_value(json_object_get(now, "n_tokens"));
        if (at == next_turn) next_turn = at + prompt + (size_t)json_integer_value(json_object_get(now, "decode_steps"));
        if (at == 0) {
            if (sm_session_prefill(f.session, tokens, prompt, padding, why, sizeof why)) fail_msg("%s", why);
            at = prompt - 1;
        } else if (sm_session_decode(f.session, tokens[at], why, sizeof why))
            fail_msg("%s", why);
        const double off = difference(sm_session_logits(f.session), logits + at * r->vocab, r->vocab);
        if (!(off <= r->tolerance)) fail_msg("position %zu is off by %g, tolerance %g", at, off, r->tolerance);
        const size_t start = (size_t)json_integer_value(json_object_get(now, "past_len"));
        if (at + 1 >= start + prompt && at + 1 < next_turn)
            assert_int_equal(sm_session_argmax(f.session), tokens[at + 1]);
        if (at + 1 == next_turn && turn + 1 < turn_count) turn++;
        assert_int_equal(sm_session_past(f.session), at + 1);
    }
    assert_int_equal(sm_session_argmax(f.session), (int)golden_number(&r->golden, "next_token_after_session"));
    const struct sm_cache *cache = sm_session_cache(f.session);
    for (size_t l = 0; l < cache->layers; l++)
        for (int values = 0; values <= 1; values++) {
            char name[32];
            size_t sizes[3];
            float slot[512];
            snprintf(name, sizeof name, "cache.%s.%zu", values ? "v" : "k", l);
            const float *stored = golden_floats(&r->golden, name, 3, sizes);
            for (size_t p = 0; p < sizes[1]; p++) {
                sm_cache_read(cache, l, values, p, slot);
                for (size_t g = 0; g < sizes[0]; g++)
                    assert_true(difference(slot + g * sizes[2], stored + (g * sizes[1] + p) * sizes[2], sizes[2]) <=
                                r->tolerance);
            }
        }
    fixture_close(&f);
}

static void test_sessions(void **state)
{
    (void)state;
    uint32_t features;
    for (size_t m = 0; m < MODELS; m += 4) { /* the F32 files */
        struct reference r;
        reference_open(&r, m);
        for (size_t l = 0; level(l, &features); l++)
            for (size_t threads = 1; threads <= 2; threads++) {
                const struct fixture_options o = {r.file, "float", features, 48, threads, SM_KV_F32, false};
                check_session(&r, &o, threads == 1 ? SM_PAD_RIGHT : SM_PAD_LEFT);
                const struct fixture_options roomy = {r.file, "float", features, 99, threads, SM_KV_F32, false};
                check_session(&r, &roomy, threads == 1 ? SM_PAD_LEFT : SM_PAD_RIGHT);
            }
        reference_close(&r);
    }
}

/* Logits after prefill and after every decode of full.tokens, [count - prompt + 1][vocab]. */
static size_t session_logits(const struct reference *r, const struct fixture_options *options, float *out)
{
    struct fixture f;
    const size_t prompt = 9;
    fixture_open(&f, options);
    if (sm_session_prefill(f.session, r->tokens, prompt, SM_PAD_RIGHT, why, sizeof why)) fail_msg("%s", why);
    for (size_t at = prompt;; at++) {
        memcpy(out + (at - prompt) * r->vocab, sm_session_logits(f.session), r->vocab * sizeof *out);
        if (at == r->count) break;
        if (sm_session_decode(f.session, r->tokens[at], why, sizeof why)) fail_msg("%s", why);
    }
    fixture_close(&f);
    return (r->count - prompt + 1) * r->vocab;
}

static float base[64 * 256], other[64 * 256];

static void check_against_float(size_t model, const char *recipe, enum sm_kv_type kv, double bound)
{
    struct reference r;
    uint32_t features;
    reference_open(&r, model);
    struct fixture_options o = {r.file, "float", sm_cpu_features(), 48, 1, SM_KV_F32, false};
    (void)session_logits(&r, &o, base);
    for (size_t l = 0; level(l, &features); l++)
        for (size_t threads = 1; threads <= 2; threads++) {
            o = (struct fixture_options){r.file, recipe, features, 48, threads, kv, false};
            const size_t count = session_logits(&r, &o, other);
            const double share = peir(base, other, count);
            if (!(share <= bound))
                fail_msg("%s %s %s: PEIR %g, bound %g", r.file, recipe, sm_kv_name(kv), share, bound);
            if (kv != SM_KV_F32 || strcmp(recipe, "float")) assert_true(share > 0); /* it did something */
            if (l == 0 && threads == 1)
                print_message("%s, %s, KV in %s: PEIR %.4f\n", models[model].file, recipe, sm_kv_name(kv), share);
        }
    reference_close(&r);
}

static void test_quantised(void **state)
{
    (void)state;
    check_against_float(2, "native", SM_KV_F32, PEIR_QUANTISED);
    check_against_float(3, "native", SM_KV_F32, PEIR_QUANTISED);
    check_against_float(2, "native", SM_KV_I8, PEIR_QUANTISED + PEIR_KV_I8);
}

static void test_kv_types(void **state)
{
    (void)state;
    for (size_t m = 0; m < MODELS; m += 4) {
        check_against_float(m, "float", SM_KV_F16, PEIR_KV_F16);
        check_against_float(m, "float", SM_KV_I8, PEIR_KV_I8);
    }
}

/* Threads do not change an answer. */
static void test_threads_agree(void **state)
{
    (void)state;
    struct reference r;
    reference_open(&r, 2);
    struct fixture_options o = {r.file, "native", sm_cpu_features(), 48, 1, SM_KV_F16, false};
    const size_t count = session_logits(&r, &o, base);
    o.threads = 3;
    (void)session_logits(&r, &o, other);
    assert_memory_equal(base, other, count * sizeof *base);
    reference_close(&r);
}

/* Slots that hold no token may hold any finite number that the mask's -120 outweighs. */
static void test_unused_slots(void **state)
{
    (void)state;
    struct reference r;
    struct fixture f, g;
    reference_open(&r, 0);
    const struct fixture_options o = {r.file, "float", sm_cpu_features(), 48, 1, SM_KV_F32, false};
    fixture_open(&f, &o);
    fixture_open(&g, &o);
    assert_int_equal(sm_session_prefill(f.session, r.tokens, 12, SM_PAD_RIGHT, why, sizeof why), 0);
    assert_int_equal(sm_session_prefill(g.session, r.tokens, 12, SM_PAD_RIGHT, why, sizeof why), 0);
    const struct sm_cache *cache = sm_session_cache(g.session);
    for (size_t l = 0; l < cache->layers; l++)
        for (size_t h = 0; h < cache->layer[l].kv_heads; h++)
            for (size_t slot = 12; slot < 47; slot++)
                for (size_t i = 0; i < cache->layer[l].head_dim; i++) {
                    ((float *)cache->layer[l].k)[sm_cache_at(cache, l, 0, h, slot, i)] = i % 2 ? 3 : -3;
                    ((float *)cache->layer[l].v)[sm_cache_at(cache, l, 1, h, slot, i)] = 1e6f;
                }
    for (size_t at = 12; at < r.count; at++) {
        assert_int_equal(sm_session_decode(f.session, r.tokens[at], why, sizeof why), 0);
        assert_int_equal(sm_session_decode(g.session, r.tokens[at], why, sizeof why), 0);
        assert_true(difference(sm_session_logits(f.session), sm_session_logits(g.session), r.vocab) <= r.tolerance);
    }
    /* A new prefill leaves nothing of it, and a reset neither. */
    float slot[512];
    sm_cache_clear(sm_session_cache(g.session), 0);
    sm_session_reset(f.session);
    for (size_t p = 0; p < 40; p++) {
        sm_cache_read(sm_session_cache(f.session), 1, 1, p, slot);
        for (size_t i = 0; i < 32; i++) assert_true(slot[i] == 0);
    }
    fixture_close(&f);
    fixture_close(&g);
    reference_close(&r);
}

/* A second prompt in one session gives the bits of a fresh one, though slots held the first. */
static void test_prefill_again(void **state)
{
    (void)state;
    struct reference r;
    struct fixture f, g;
    reference_open(&r, 0);
    const struct fixture_options o = {r.file, "float", sm_cpu_features(), 48, 1, SM_KV_I8, false};
    fixture_open(&f, &o);
    fixture_open(&g, &o);
    assert_int_equal(sm_session_prefill(f.session, r.tokens, 33, SM_PAD_LEFT, why, sizeof why), 0);
    assert_int_equal(sm_session_decode(f.session, 5, why, sizeof why), 0);
    assert_int_equal(sm_session_prefill(f.session, r.tokens + 3, 7, SM_PAD_RIGHT, why, sizeof why), 0);
    assert_int_equal(sm_session_prefill(g.session, r.tokens + 3, 7, SM_PAD_RIGHT, why, sizeof why), 0);
    assert_memory_equal(sm_session_cache(f.session)->memory, sm_session_cache(g.session)->memory,
                        sm_session_cache(f.session)->bytes);
    assert_int_equal(sm_session_decode(f.session, 9, why, sizeof why), 0);
    assert_int_equal(sm_session_decode(g.session, 9, why, sizeof why), 0);
    assert_memory_equal(sm_session_logits(f.session), sm_session_logits(g.session), r.vocab * sizeof(float));
    fixture_close(&f);
    fixture_close(&g);
    reference_close(&r);
}

static void refused(int result, const char *sentence)
{
    assert_int_equal(result, -1);
    if (!strstr(why, sentence)) fail_msg("expected '%s' in: %s", sentence, why);
}

static void test_limits(void **state)
{
    (void)state;
    struct reference r;
    struct fixture f;
    reference_open(&r, 0);
    const struct fixture_options o = {r.file, "float", sm_cpu_features(), 16, 1, SM_KV_F16, false};
    const int32_t out_of_range[2] = {1, (int32_t)r.vocab}, negative[1] = {-1};
    fixture_open(&f, &o);
    refused(sm_session_decode(f.session, 1, why, sizeof why), "prefill comes first");
    refused(sm_session_prefill(f.session, r.tokens, 16, SM_PAD_RIGHT, why, sizeof why),
            "16 tokens do not fit the 15 slots");
    refused(sm_session_prefill(f.session, r.tokens, 0, SM_PAD_RIGHT, why, sizeof why), "no valid token");
    refused(sm_session_prefill(f.session, out_of_range, 2, SM_PAD_LEFT, why, sizeof why), "token 1 is 160");
    refused(sm_session_prefill(f.session, negative, 1, SM_PAD_LEFT, why, sizeof why), "token 0 is -1");
    assert_int_equal(sm_session_past(f.session), 0);
    assert_int_equal(sm_session_prefill(f.session, r.tokens, 15, SM_PAD_LEFT, why, sizeof why), 0);
    refused(sm_session_decode(f.session, 1, why, sizeof why), "the cache is full: 15 tokens");
    assert_int_equal(sm_session_prefill(f.session, r.tokens, 14, SM_PAD_RIGHT, why, sizeof why), 0);
    refused(sm_session_decode(f.session, 160, why, sizeof why), "token 0 is 160");
    assert_int_equal(sm_session_decode(f.session, 1, why, sizeof why), 0); /* P = K - 2 */
    assert_int_equal(sm_session_past(f.session), 15);
    refused(sm_session_decode(f.session, 1, why, sizeof why), "full"); /* P = K - 1 */
    sm_session_reset(f.session);
    refused(sm_session_decode(f.session, 1, why, sizeof why), "prefill comes first");
    fixture_close(&f);
    reference_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float_logits), cmocka_unit_test(test_hidden_states), cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_quantised),    cmocka_unit_test(test_kv_types),      cmocka_unit_test(test_threads_agree),
        cmocka_unit_test(test_unused_slots), cmocka_unit_test(test_prefill_again), cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
