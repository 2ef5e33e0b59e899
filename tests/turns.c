/* Sessions of three turns against reference results, every appended turn through every kind of bucket set, policy and
 * layout: the logits of every token, the greedy tokens, the cache, and the calls that TICO made. */
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

static char why[512];

static const struct {
    const char *name, *file;
} models[] = {
    {"llama-tiny", "llama-tiny/llama-tiny-f32.gguf"},
    {"llama3-rope-tiny", "llama3-rope-tiny/llama3-rope-tiny-f32.gguf"},
    {"gemma2-tiny", "gemma2-tiny"},
    {"gemma3-tiny", "gemma3-tiny"},
    {"gemma4-tiny", "gemma4-tiny"},
    {"gemma4-keqv-tiny", "gemma4-keqv-tiny"},
};
#define MODELS (sizeof models / sizeof *models)

/* A session of the golden data: three turns of a prompt and greedy decodes. */
struct reference {
    struct golden golden;
    const int32_t *tokens;
    const float *logits; /* [count][vocab], after each token */
    size_t count, vocab;
    double tolerance;
    struct {
        size_t start, prompt, end;
    } turn[8];
    size_t turns;
};

static void reference_open(struct reference *r, const char *name)
{
    char path[128];
    size_t sizes[2];
    snprintf(path, sizeof path, "%s/golden", name);
    golden_open(&r->golden, path);
    r->tokens = golden_ints(&r->golden, "turns.tokens", 1, &r->count);
    r->logits = golden_floats(&r->golden, "turns.logits", 2, sizes);
    r->vocab = sizes[1];
    r->tolerance = 4 * golden_number(&r->golden, "float32_vs_float64_max_abs");
    const json_t *turns = json_object_get(r->golden.facts, "turns");
    r->turns = json_array_size(turns);
    assert_true(r->turns == 3);
    for (size_t i = 0; i < r->turns; i++) {
        const json_t *turn = json_array_get(turns, i);
        r->turn[i].start = (size_t)json_integer_value(json_object_get(turn, "past_len"));
        r->turn[i].prompt = (size_t)json_integer_value(json_object_get(turn, "n_tokens"));
        r->turn[i].end =
            r->turn[i].start + r->turn[i].prompt + (size_t)json_integer_value(json_object_get(turn, "decode_steps"));
    }
    assert_int_equal(r->turn[2].end, r->count);
}

/* What a run of a session says after each token, and the calls that it took. */
struct outcome {
    float *logits; /* [count][vocab]; NULL: only calls are kept */
    size_t vocab, past;
    const struct sm_session *session;
    struct sm_chunk calls[64];
    size_t call_count;
};

static void keep(void *state, const struct sm_chunk *chunk)
{
    struct outcome *o = state;
    assert_true(o->call_count < 64);
    o->calls[o->call_count++] = *chunk;
    assert_int_equal(chunk->past, o->past);
    o->past += chunk->count;
    for (size_t i = 0; i < chunk->count; i++)
        memcpy(o->logits + (chunk->past + i) * o->vocab, sm_session_token_logits(o->session, i),
               o->vocab * sizeof *o->logits);
    assert_null(sm_session_token_logits(o->session, chunk->count));
    assert_memory_equal(sm_session_logits(o->session), sm_session_token_logits(o->session, chunk->count - 1),
                        o->vocab * sizeof *o->logits);
}

/* A run of a reference's session; the caller frees what it kept. */
static void run(const struct reference *r, const char *file, const char *recipe, uint32_t features,
                const struct sm_session_options *options, enum sm_padding padding, struct outcome *o)
{
    struct sm_session_options with = *options;
    struct sm_model *model = NULL;
    struct sm_weights *weights = NULL;
    struct sm_session *session = NULL;
    const struct sm_choice choice = {.features = features};
    *o = (struct outcome){.vocab = r->vocab, .logits = malloc(r->count * r->vocab * sizeof(float))};
    with.hooks.done = keep;
    with.hooks.state = o;
    with.all_rows = true;
    if (sm_model_open(&model, golden_path(file), why, sizeof why) ||
        sm_weights_create(&weights, model, recipe, &choice, why, sizeof why) ||
        sm_session_create(&session, weights, &with, why, sizeof why))
        fail_msg("%s: %s", file, why);
    o->session = session;
    for (size_t t = 0; t < r->turns; t++) {
        const int32_t *tokens = r->tokens + r->turn[t].start;
        size_t chunks;
        if (t == 0 ? sm_session_prefill(session, tokens, r->turn[t].prompt, padding, why, sizeof why)
                   : sm_session_append(session, tokens, r->turn[t].prompt, why, sizeof why))
            fail_msg("%s: %s", file, why);
        const struct sm_chunk *list = sm_session_chunks(session, &chunks);
        assert_memory_equal(list, o->calls + o->call_count - chunks, chunks * sizeof *list);
        for (size_t at = r->turn[t].start + r->turn[t].prompt; at < r->turn[t].end; at++) {
            assert_int_equal(sm_session_argmax(session), r->tokens[at]); /* greedy */
            if (sm_session_decode(session, r->tokens[at], why, sizeof why)) fail_msg("%s: %s", file, why);
        }
        assert_int_equal(sm_session_past(session), r->turn[t].end);
    }
    assert_int_equal(sm_session_argmax(session), (int)golden_number(&r->golden, "next_token_after_session"));
    const struct sm_cache *cache = sm_session_cache(session);
    for (size_t l = 0; l < cache->layers; l++)
        for (int values = 0; values <= 1 && cache->layer[l].k && cache->type == SM_KV_F32; values++) {
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
    sm_session_destroy(session);
    sm_weights_destroy(weights);
    sm_model_close(model);
}

static void check_rows(const struct reference *r, const char *name, const struct outcome *o)
{
    for (size_t p = 0; p < r->count; p++) {
        const double off = difference(o->logits + p * r->vocab, r->logits + p * r->vocab, r->vocab);
        if (!(off <= r->tolerance)) fail_msg("%s: position %zu is off by %g, tolerance %g", name, p, off, r->tolerance);
    }
}

static const struct {
    size_t prefill[4], append[4];
} sets[] = {{{0}, {0}},         {{0}, {8}},         {{0}, {8, 1}},      {{0}, {7, 8}},        {{0}, {17}},
            {{13}, {1, 17}},    {{16, 48}, {5, 2}}, {{8}, {3}},         {{13, 24}, {16, 32}}, {{4}, {1}},
            {{1}, {30, 17, 9}}, {{12}, {48}},       {{5}, {2, 4, 6, 8}}};

static struct sm_session_options options_of(size_t set, size_t max_seq)
{
    struct sm_session_options o = {.max_seq = max_seq, .kv = SM_KV_F32, .threads = 1};
    while (o.prefill_bucket_count < 4 && sets[set].prefill[o.prefill_bucket_count]) {
        o.prefill_buckets[o.prefill_bucket_count] = sets[set].prefill[o.prefill_bucket_count];
        o.prefill_bucket_count++;
    }
    while (o.append_bucket_count < 4 && sets[set].append[o.append_bucket_count]) {
        o.append_buckets[o.append_bucket_count] = sets[set].append[o.append_bucket_count];
        o.append_bucket_count++;
    }
    return o;
}

static void test_bucket_sets(void **state)
{
    (void)state;
    for (size_t m = 0; m < MODELS; m++) {
        struct reference r;
        reference_open(&r, models[m].name);
        for (size_t set = 0; set < sizeof sets / sizeof *sets; set++)
            for (unsigned way = 0; way < 8; way++) {
                struct outcome o;
                uint32_t features;
                const char *level = sm_cpu_level((set + way) % 3, &features);
                if (!level || (features & ~sm_cpu_features())) features = sm_cpu_features();
                struct sm_session_options options = options_of(set, way & 1 ? 99 : 48);
                options.threads = 1 + (way >> 1 & 1);
                options.when_full = way & 4 ? SM_WHEN_FULL_DECODE : SM_WHEN_FULL_SMALLER;
                options.short_sliding = (set + (way >> 1)) % 2;
                options.concatenated = (set + way) % 3 == 0;
                run(&r, models[m].file, "float", features, &options, way & 2 ? SM_PAD_LEFT : SM_PAD_RIGHT, &o);
                check_rows(&r, models[m].name, &o);
                free(o.logits);
            }
        golden_close(&r.golden);
    }
}

/* The same calls as TICO's static runtime made, and its logits after each. */
static void check_tico(const char *model, const char *file, const char *variant, const size_t *append)
{
    struct reference r;
    struct golden tico;
    struct outcome o;
    char name[96];
    size_t sizes[2];
    reference_open(&r, model);
    snprintf(name, sizeof name, "%s/tico", model);
    golden_open(&tico, name);
    struct sm_session_options options = {.max_seq = 48, .kv = SM_KV_F32, .threads = 2};
    while (append[options.append_bucket_count]) {
        options.append_buckets[options.append_bucket_count] = append[options.append_bucket_count];
        options.append_bucket_count++;
    }
    run(&r, file, "float", sm_cpu_features(), &options, SM_PAD_RIGHT, &o);
    const json_t *calls = json_object_get(json_object_get(json_object_get(tico.facts, "variants"), variant), "calls");
    snprintf(name, sizeof name, "tico.%s.logits", variant);
    const float *logits = golden_floats(&tico, name, 2, sizes);
    assert_int_equal(o.call_count, json_array_size(calls));
    assert_int_equal(sizes[0], o.call_count);
    for (size_t i = 0; i < o.call_count; i++) {
        const json_t *call = json_array_get(calls, i);
        const struct sm_chunk *ours = &o.calls[i];
        const size_t row = (size_t)json_integer_value(json_object_get(call, "row"));
        assert_string_equal(json_string_value(json_object_get(call, "phase")), sm_phase_name(ours->phase));
        assert_int_equal(json_integer_value(json_object_get(call, "past_len")), ours->past);
        assert_int_equal(json_integer_value(json_object_get(call, "actual_len")), ours->count);
        assert_int_equal(json_integer_value(json_object_get(call, "bucket")), ours->rows);
        assert_false(ours->policy);
        assert_int_equal(row, ours->past + ours->count - 1);
        const double off = difference(o.logits + row * r.vocab, logits + i * r.vocab, r.vocab);
        if (!(off <= r.tolerance)) fail_msg("%s, %s: call %zu is off by %g", model, variant, i, off);
    }
    free(o.logits);
    golden_close(&tico);
    golden_close(&r.golden);
}

static void test_tico(void **state)
{
    (void)state;
    const char *const file = models[0].file;
    check_tico("llama-tiny", file, "buckets_1_8", (const size_t[]){1, 8, 0});
    check_tico("llama-tiny", file, "buckets_7_8", (const size_t[]){7, 8, 0});
    check_tico("llama-tiny", file, "exact", (const size_t[]){17, 1, 0});
    check_tico("llama-tiny", file, "decode_loop", (const size_t[]){0});
    check_tico("gemma4-tiny", "gemma4-tiny", "decode_loop", (const size_t[]){0});
    check_tico("gemma4-keqv-tiny", "gemma4-keqv-tiny", "decode_loop", (const size_t[]){0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bucket_sets), cmocka_unit_test(test_tico)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
