/* What a session offers beside its answers: hooks, step times, the variants it ran, sizes; and synthetic models. Run a
 * second time with fewer threads than planned. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attention.h"
#include "cache_write.h"
#include "cpu.h"
#include "golden.h"
#include "runtime_fixture.h"

static char why[512];
static const int32_t tokens[] = {3, 1, 4, 1, 5, 9, 2, 6};
#define TOKENS (sizeof tokens / sizeof *tokens)

static _Atomic uint64_t ticks;

static uint64_t tick(void)
{
    return ++ticks;
}

static struct {
    _Atomic size_t begun[SM_PHASES][2], ended[SM_PHASES][2];
} seen;

static void begin(void *state, enum sm_phase phase, size_t thread)
{
    assert_ptr_equal(state, &seen);
    seen.begun[phase][thread]++;
}

static void end(void *state, enum sm_phase phase, size_t thread)
{
    assert_ptr_equal(state, &seen);
    seen.ended[phase][thread]++;
}

static void open_file(struct fixture *f, const char *file, const char *recipe, const struct sm_session_options *options)
{
    struct sm_choice choice = {.features = sm_cpu_features()};
    struct sm_scales *scales = NULL;
    memset(f, 0, sizeof *f);
    if (sm_model_open(&f->model, golden_path(file), why, sizeof why)) fail_msg("%s", why);
    choice.scales = scales = fixture_scales(f->model, recipe);
    if (sm_weights_create(&f->weights, f->model, recipe, &choice, why, sizeof why) ||
        sm_session_create(&f->session, f->weights, options, why, sizeof why))
        fail_msg("%s", why);
    sm_scales_destroy(scales);
}

static void open_model(struct fixture *f, const char *recipe, const struct sm_session_options *options)
{
    open_file(f, "llama-tiny/llama-tiny-q8_0.gguf", recipe, options);
}

static void test_hooks_and_times(void **state)
{
    (void)state;
    struct fixture f;
    const struct sm_session_options options = {.max_seq = 24,
                                               .kv = SM_KV_F16,
                                               .threads = 2,
                                               .hooks = {.begin = begin, .end = end, .state = &seen},
                                               .clock_ns = tick};
    open_model(&f, "native", &options);
    assert_int_equal(sm_session_prefill(f.session, tokens, TOKENS, SM_PAD_RIGHT, why, sizeof why), 0);
    for (int i = 0; i < 5; i++) assert_int_equal(sm_session_decode(f.session, 7, why, sizeof why), 0);
    assert_int_equal(seen.begun[SM_PHASE_PREFILL][0], 1);
    assert_int_equal(seen.ended[SM_PHASE_PREFILL][0], 1);
    assert_int_equal(seen.begun[SM_PHASE_DECODE][0], 5);
    assert_int_equal(seen.ended[SM_PHASE_DECODE][0], 5);
    assert_int_equal(seen.begun[SM_PHASE_DECODE][1], seen.ended[SM_PHASE_DECODE][1]);
    assert_true(seen.begun[SM_PHASE_DECODE][1] == 5 || seen.begun[SM_PHASE_DECODE][1] == 0); /* fewer threads came */
    const struct sm_step_times *times = sm_session_times(f.session, SM_PHASE_DECODE);
    uint64_t calls = 0, ns = 0;
    for (size_t l = 0; l < SM_LABELS; l++) {
        calls += times->calls[l];
        ns += times->ns[l];
        assert_true(times->ns[l] == times->calls[l]); /* this clock gives every step one tick */
    }
    uint64_t kinds[SM_LAYER_KINDS] = {0};
    for (size_t l = 0; l < SM_LABELS; l++)
        for (size_t k = 0; k < SM_LAYER_KINDS; k++) {
            kinds[k] += times->kind_calls[l][k];
            assert_true(times->kind_ns[l][k] == times->kind_calls[l][k]);
        }
    assert_int_equal(kinds[SM_LAYER_NONE] + kinds[SM_LAYER_FULL], calls); /* this model has but one kind */
    assert_int_equal(times->kind_calls[SM_LABEL_ATTENTION][SM_LAYER_FULL], 5 * 3);
    assert_int_equal(times->kind_calls[SM_LABEL_HEAD][SM_LAYER_NONE], 5);
    assert_int_equal(times->runs, 5);
    assert_int_equal(calls, 5 * sm_plan_step_count(sm_session_plan(f.session, SM_PHASE_DECODE)));
    assert_int_equal(times->calls[SM_LABEL_ATTENTION], 5 * 3);
    assert_int_equal(times->calls[SM_LABEL_QKV], 5 * 9);
    assert_int_equal(times->calls[SM_LABEL_HEAD], 5);
    assert_true(times->elapsed_ns > ns && times->elapsed_ns <= ns + 5 * 3);
    sm_session_times_clear(f.session);
    assert_int_equal(times->runs, 0);
    assert_null(sm_session_plan(f.session, SM_PHASE_APPEND));
    fixture_close(&f);
}

/* The kinds of layers of a model that has most of them: sliding owners and donors, full donors, and consumers. */
static void test_layer_kinds(void **state)
{
    (void)state;
    struct fixture f;
    const struct sm_session_options options = {.max_seq = 24, .kv = SM_KV_F32, .threads = 1, .clock_ns = tick};
    static const enum sm_layer_kind kinds[] = {
        SM_LAYER_SLIDING,          SM_LAYER_SLIDING,          SM_LAYER_FULL_DONOR,
        SM_LAYER_SLIDING,          SM_LAYER_SLIDING_DONOR,    SM_LAYER_FULL_CONSUMER,
        SM_LAYER_SLIDING_CONSUMER, SM_LAYER_SLIDING_CONSUMER, SM_LAYER_FULL_CONSUMER};
    open_file(&f, "gemma4-tiny", "float", &options);
    assert_int_equal(f.model->shape.layers, 9);
    for (size_t l = 0; l < 9; l++) assert_int_equal(sm_layer_kind_of(&f.model->shape, l), kinds[l]);
    assert_string_equal(sm_layer_kind_name(kinds[4]), "sliding donor");
    assert_string_equal(sm_layer_kind_name(SM_LAYER_NONE), "");
    assert_int_equal(sm_session_prefill(f.session, tokens, TOKENS, SM_PAD_RIGHT, why, sizeof why), 0);
    const struct sm_step_times *times = sm_session_times(f.session, SM_PHASE_PREFILL);
    const uint64_t(*calls)[SM_LAYER_KINDS] = times->kind_calls;
    assert_int_equal(calls[SM_LABEL_ATTENTION][SM_LAYER_SLIDING], 3);
    assert_int_equal(calls[SM_LABEL_ATTENTION][SM_LAYER_SLIDING_CONSUMER], 2);
    assert_int_equal(calls[SM_LABEL_QKV][SM_LAYER_FULL_CONSUMER], 2); /* q alone */
    assert_int_equal(calls[SM_LABEL_QKV][SM_LAYER_FULL_DONOR], 3);
    assert_int_equal(calls[SM_LABEL_CACHE_WRITE][SM_LAYER_SLIDING_CONSUMER], 0);
    assert_int_equal(calls[SM_LABEL_HEAD_NORM][SM_LAYER_SLIDING_DONOR], 3); /* q, k, v */
    assert_int_equal(calls[SM_LABEL_POST_NORM][SM_LAYER_SLIDING], 6);
    assert_int_equal(calls[SM_LABEL_PER_LAYER_EMBEDDING][SM_LAYER_NONE], 3);
    assert_int_equal(calls[SM_LABEL_PER_LAYER_BLOCK][SM_LAYER_FULL_CONSUMER], 2 * 4);
    fixture_close(&f);
}

/* The calls of a turn, each with its time, and together the times of their phases. */
static void test_calls(void **state)
{
    (void)state;
    struct fixture f;
    size_t count;
    const struct sm_session_options options = {.max_seq = 24,
                                               .kv = SM_KV_F32,
                                               .threads = 2,
                                               .clock_ns = tick,
                                               .append_buckets = {6, 3, 6},
                                               .append_bucket_count = 3,
                                               .when_full = SM_WHEN_FULL_DECODE};
    open_model(&f, "native", &options);
    assert_int_equal(sm_session_buckets(f.session, SM_PHASE_APPEND)->count, 2);
    assert_int_equal(sm_session_prefill(f.session, tokens, TOKENS, SM_PAD_RIGHT, why, sizeof why), 0);
    const struct sm_chunk *calls = sm_session_chunks(f.session, &count);
    assert_true(count == 1 && calls[0].rows == 24 && calls[0].count == TOKENS);
    assert_true(calls[0].ns == sm_session_times(f.session, SM_PHASE_PREFILL)->elapsed_ns);
    assert_int_equal(sm_session_append(f.session, tokens, 8, why, sizeof why), 0); /* 6 and 2 of 3 */
    assert_int_equal(sm_session_append(f.session, tokens, 6, why, sizeof why), 0); /* 16 + 6 <= 24 */
    assert_int_equal(sm_session_truncate(f.session, 20, why, sizeof why), 0);
    sm_session_times_clear(f.session);
    assert_int_equal(sm_session_append(f.session, tokens, 3, why, sizeof why), 0); /* 20 + 3 <= 24 */
    assert_int_equal(sm_session_truncate(f.session, 19, why, sizeof why), 0);
    assert_int_equal(sm_session_append(f.session, tokens, 4, why, sizeof why), 0); /* 6 do not fit: 1, then 3 of 3 */
    calls = sm_session_chunks(f.session, &count);
    assert_int_equal(count, 2);
    assert_true(calls[0].phase == SM_PHASE_DECODE && calls[0].policy && calls[0].past == 19);
    assert_true(calls[1].phase == SM_PHASE_APPEND && !calls[1].policy && calls[1].rows == 3 && calls[1].count == 3);
    assert_true(calls[0].ns == sm_session_times(f.session, SM_PHASE_DECODE)->elapsed_ns);
    assert_int_equal(sm_session_times(f.session, SM_PHASE_APPEND)->runs, 2);
    assert_true(calls[1].ns > 0 && calls[1].ns < sm_session_times(f.session, SM_PHASE_APPEND)->elapsed_ns);
    fixture_close(&f);
}

/* Slots that somebody else has filled are as good as the session's own. */
static void test_assumed_slots(void **state)
{
    (void)state;
    struct fixture own, other;
    const struct sm_session_options options = {.max_seq = 24, .kv = SM_KV_F16, .threads = 1};
    open_model(&own, "native", &options);
    open_model(&other, "native", &options);
    const size_t vocab = own.model->shape.vocab;
    assert_int_equal(sm_session_assume(other.session, 3, why, sizeof why), -1); /* nothing ran yet */
    assert_int_equal(sm_session_prefill(own.session, tokens, TOKENS, SM_PAD_RIGHT, why, sizeof why), 0);
    assert_int_equal(sm_session_prefill(other.session, tokens, 1, SM_PAD_RIGHT, why, sizeof why), 0);
    const struct sm_cache *from = sm_session_cache(own.session), *to = sm_session_cache(other.session);
    assert_int_equal(from->bytes, to->bytes);
    memcpy(to->memory, from->memory, from->bytes);
    assert_int_equal(sm_session_assume(other.session, 24, why, sizeof why), -1);
    assert_int_equal(sm_session_assume(other.session, TOKENS, why, sizeof why), 0);
    assert_int_equal(sm_session_past(other.session), TOKENS);
    assert_int_equal(sm_session_decode(own.session, 7, why, sizeof why), 0);
    assert_int_equal(sm_session_decode(other.session, 7, why, sizeof why), 0);
    assert_memory_equal(sm_session_logits(own.session), sm_session_logits(other.session), vocab * sizeof(float));
    assert_int_equal(sm_session_truncate(other.session, 2, why, sizeof why), 0);
    assert_int_equal(to->used, 2);
    fixture_close(&own);
    fixture_close(&other);
}

static size_t known_zeros; /* slots, over all calls */

/* What a step is told to be keys of zeros is that. */
static void look_at_zeros(void *state, const struct sm_step *step, size_t begin, size_t count)
{
    (void)state, (void)begin, (void)count;
    if (step->label != SM_LABEL_ATTENTION) return;
    const struct sm_attention *a = step->args;
    const bool in_blocks = !strcmp(step->variant->layout->name, "keys16");
    assert_true(a->zero_slots <= a->past);
    for (size_t g = 0; g < a->kv_heads; g++)
        for (size_t j = a->past - a->zero_slots; j < a->past; j++)
            for (size_t i = 0; i < a->head_dim; i++) {
                const size_t slot = a->past_first + j;
                const size_t at = in_blocks ? sm_blocks16_at(slot, i, a->head_dim, 1) : slot * a->head_dim + i;
                assert_true(((const float *)a->k_past.data)[g * a->k_past.head_stride + at] == 0);
            }
    known_zeros += a->zero_slots;
}

/* Whatever a session was told before, with layers that see everything and layers with a window. */
static void test_known_zeros(void **state)
{
    (void)state;
    for (int shorter = 0; shorter <= 1; shorter++) {
        struct fixture f;
        const struct sm_session_options options = {.max_seq = 24,
                                                   .kv = SM_KV_F32,
                                                   .threads = 1,
                                                   .hooks = {.step = look_at_zeros},
                                                   .prefill_buckets = {8, 24},
                                                   .prefill_bucket_count = 2,
                                                   .append_buckets = {3},
                                                   .append_bucket_count = 1,
                                                   .short_sliding = shorter};
        open_file(&f, "gemma3-tiny/gemma3-tiny-q8_0.gguf", "native", &options);
        for (size_t from = 9; from < 24; from += 7) {
            assert_int_equal(sm_session_prefill(f.session, tokens, TOKENS, SM_PAD_RIGHT, why, sizeof why), 0);
            known_zeros = 0;
            assert_int_equal(sm_session_append(f.session, tokens, 7, why, sizeof why), 0);
            assert_true(known_zeros > 0);
            while (sm_session_past(f.session) < from)
                assert_int_equal(sm_session_decode(f.session, 7, why, sizeof why), 0);
            assert_int_equal(sm_session_truncate(f.session, 9, why, sizeof why), 0);
            assert_int_equal(sm_session_decode(f.session, 7, why, sizeof why), 0);
            assert_int_equal(sm_session_assume(f.session, 5, why, sizeof why), 0);
            assert_int_equal(sm_session_decode(f.session, 7, why, sizeof why), 0);
        }
        fixture_close(&f);
    }
}

static void test_variants_and_sizes(void **state)
{
    (void)state;
    struct fixture f;
    struct sm_variant_use uses[32];
    const struct sm_session_options options = {.max_seq = 24, .kv = SM_KV_I8, .threads = 1};
    open_model(&f, "native", &options);
    const size_t count = sm_session_variants(f.session, SM_PHASE_DECODE, uses, 32);
    size_t steps = 0, matmuls = 0;
    for (size_t i = 0; i < count; i++) {
        steps += uses[i].steps;
        if (!strcmp(uses[i].family->name, "matmul_w8g32_a8")) matmuls = uses[i].steps;
        assert_int_equal(uses[i].variant->needs & ~sm_cpu_features(), 0);
    }
    assert_int_equal(steps, sm_plan_step_count(sm_session_plan(f.session, SM_PHASE_DECODE)));
    assert_int_equal(matmuls, 3 * 7 + 1);
    assert_int_equal(sm_session_variants(f.session, SM_PHASE_APPEND, uses, 32), 0);
    const struct sm_session_memory memory = sm_session_memory(f.session);
    assert_int_equal(memory.weights_bytes, f.weights->bytes);
    assert_int_equal(memory.cache_bytes, 3 * 2 * (768 + 192)); /* data and scales, each rounded up to 64 */
    assert_true(memory.arena_bytes > 24 * 24 * sizeof(float));
    fixture_close(&f);
}

/* One thread or two, and the second run of this program gives the two only one: the same bits. */
static void test_fewer_threads(void **state)
{
    (void)state;
    float logits[2][160];
    for (size_t threads = 1; threads <= 2; threads++) {
        struct fixture f;
        const struct sm_session_options options = {.max_seq = 24, .kv = SM_KV_F32, .threads = threads};
        open_model(&f, "native", &options);
        assert_int_equal(sm_session_prefill(f.session, tokens, TOKENS, SM_PAD_LEFT, why, sizeof why), 0);
        assert_int_equal(sm_session_decode(f.session, 11, why, sizeof why), 0);
        memcpy(logits[threads - 1], sm_session_logits(f.session), sizeof logits[0]);
        fixture_close(&f);
    }
    assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
}

/* Steps of many rows are cut into parts that threads take as they come: each is done once, in every call. */
static void test_parts_as_they_come(void **state)
{
    (void)state;
    float logits[160];
    int32_t many[90];
    for (size_t i = 0; i < 90; i++) many[i] = (int32_t)(i * 7 % 160);
    for (size_t threads = 1; threads <= 4; threads++) {
        struct fixture f;
        const struct sm_session_options options = {.max_seq = 96, .kv = SM_KV_F16, .threads = threads};
        open_model(&f, "native", &options);
        size_t shared = 0;
        const struct sm_plan *plan = sm_session_plan(f.session, SM_PHASE_PREFILL);
        for (size_t i = 0; i < sm_plan_step_count(plan); i++) shared += sm_plan_steps(plan)[i].taken != NULL;
        assert_int_equal(shared > 0, threads == 2 || threads == 3); /* of 16 rows at least */
        for (int n = 0; n < 10; n++) {
            assert_int_equal(sm_session_prefill(f.session, many, 90, SM_PAD_RIGHT, why, sizeof why), 0);
            if (threads == 1 && n == 0) memcpy(logits, sm_session_logits(f.session), sizeof logits);
            assert_memory_equal(sm_session_logits(f.session), logits, sizeof logits);
        }
        fixture_close(&f);
    }
}

static void test_synthetic(void **state)
{
    (void)state;
    static struct sm_model_shape shape;
    const enum sm_format formats[] = {SM_FORMAT_F32, SM_FORMAT_Q4_0, SM_FORMAT_Q4_1, SM_FORMAT_Q8_0};
    struct sm_choice choice = {.features = sm_cpu_features()};
    const struct sm_session_options options = {.max_seq = 24, .kv = SM_KV_F16, .threads = 2};
    assert_int_equal(sm_shape_load(&shape, "smollm2-135m", why, sizeof why), 0);
    shape.layers = 4;
    shape.vocab = 512;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        for (size_t r = 0; sm_recipe_name(r); r++) {
            if (strstr(sm_recipe_name(r), "clip")) continue; /* the same formats, after a long search */
            struct fixture f = {0};
            if (sm_model_synthetic(&f.model, &shape, &(struct sm_synthetic){.format = formats[i], .seed = 3}, why,
                                   sizeof why))
                fail_msg("%s", why);
            struct sm_scales *scales = fixture_scales(f.model, sm_recipe_name(r));
            choice.scales = scales;
            if (sm_weights_create(&f.weights, f.model, sm_recipe_name(r), &choice, why, sizeof why) ||
                sm_session_create(&f.session, f.weights, &options, why, sizeof why) ||
                sm_session_prefill(f.session, tokens, TOKENS, SM_PAD_RIGHT, why, sizeof why) ||
                sm_session_decode(f.session, 400, why, sizeof why))
                fail_msg("%s", why);
            double square = 0;
            for (size_t v = 0; v < 512; v++) square += pow((double)sm_session_logits(f.session)[v], 2);
            const double spread = sqrt(square / 512);
            if (!(spread > 0.2 && spread < 20))
                fail_msg("%s: logits spread over %g", sm_format_name(formats[i]), spread);
            sm_scales_destroy(scales);
            fixture_close(&f);
        }
}

static void test_refusals(void **state)
{
    (void)state;
    struct fixture f;
    struct sm_session *s = NULL;
    struct sm_session_options options = {.max_seq = 24, .kv = SM_KV_I8, .threads = 1};
    open_model(&f, "float", &options);
    options.max_seq = 1;
    assert_int_equal(sm_session_create(&s, f.weights, &options, why, sizeof why), -1);
    assert_non_null(strstr(why, "max_seq is 1"));
    options.max_seq = 24;
    options.threads = 0;
    assert_int_equal(sm_session_create(&s, f.weights, &options, why, sizeof why), -1);
    assert_non_null(strstr(why, "threads"));
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hooks_and_times), cmocka_unit_test(test_layer_kinds),
        cmocka_unit_test(test_calls),           cmocka_unit_test(test_variants_and_sizes),
        cmocka_unit_test(test_fewer_threads),   cmocka_unit_test(test_synthetic),
        cmocka_unit_test(test_refusals),        cmocka_unit_test(test_assumed_slots),
        cmocka_unit_test(test_known_zeros),     cmocka_unit_test(test_parts_as_they_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
