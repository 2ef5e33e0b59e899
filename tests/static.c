/* After planning nothing allocates: every entry of the C allocator is counted here, whoever calls it. */
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
#include "random_model.h"
#include "runtime_fixture.h"

/* A sanitizer has an allocator of its own, which this one would hide. */
#ifdef SM_SANITIZED
int main(void)
{
    puts("skipped: a sanitizer owns the allocator");
    return 77;
}
#else

static _Atomic size_t allocations;

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *at, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);

void *malloc(size_t bytes)
{
    allocations++;
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    allocations++;
    return __libc_calloc(count, bytes);
}

void *realloc(void *at, size_t bytes)
{
    allocations++;
    return __libc_realloc(at, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    allocations++;
    return __libc_memalign(align, bytes);
}

int posix_memalign(void **to, size_t align, size_t bytes)
{
    allocations++;
    *to = __libc_memalign(align, bytes);
    return *to ? 0 : 12;
}

/* The linker sends our own calls of mmap here (--wrap). */
void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, long offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, long offset);

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, long offset)
{
    allocations++;
    return __real_mmap(at, bytes, protection, flags, fd, offset);
}

static void test_nothing_allocates(void **state)
{
    (void)state;
    char why[512];
    const struct {
        const char *file, *recipe;
    } models[] = {{"llama-tiny/llama-tiny-q8_0.gguf", "native"},
                  {"llama-tiny/llama-tiny-q8_0.gguf", "float"},
                  {"gemma4-tiny", "native"},
                  {"gemma3-tiny/gemma3-tiny-q8_0.gguf", "native"}};
    const int32_t tokens[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
    for (size_t r = 0; r < sizeof models / sizeof *models; r++)
        for (size_t threads = 1; threads <= 2; threads++) {
            struct fixture f;
            const struct fixture_options o = {golden_path(models[r].file),
                                              models[r].recipe,
                                              sm_cpu_features(),
                                              32,
                                              threads,
                                              r ? SM_KV_F16 : SM_KV_I8,
                                              false};
            const size_t before = allocations;
            fixture_open(&f, &o);
            assert_true(allocations > before + 5); /* the counting works */
            const size_t planned = allocations;
            for (int again = 0; again < 2; again++) {
                assert_int_equal(
                    sm_session_prefill(f.session, tokens, 11, again ? SM_PAD_LEFT : SM_PAD_RIGHT, why, sizeof why), 0);
                assert_int_equal(allocations, planned);
                for (int i = 0; i < 20; i++)
                    assert_int_equal(sm_session_decode(f.session, tokens[i % 11], why, sizeof why), 0);
                assert_non_null(sm_session_logits(f.session)); /* under a softcap, where the model has one */
                assert_int_equal(sm_session_decode(f.session, 1, why, sizeof why), -1);
                assert_int_equal(allocations, planned);
            }
            sm_session_reset(f.session);
            assert_int_equal(allocations, planned);
            fixture_close(&f);
        }
}

/* Nor do turns in buckets, in any layout, of models of any kind. */
static void test_turns_do_not_allocate(void **state)
{
    (void)state;
    char why[512];
    const int32_t tokens[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
    const struct sm_choice choice = {.features = sm_cpu_features()};
    for (uint64_t seed = 0; seed < 16; seed++) {
        struct random_model m;
        struct sm_weights *weights;
        struct sm_session *s;
        const struct sm_session_options o = {.max_seq = 48,
                                             .kv = (enum sm_kv_type)(seed % SM_KV_TYPES),
                                             .threads = 1 + seed % 2,
                                             .prefill_buckets = {8, 48},
                                             .prefill_bucket_count = seed % 3,
                                             .append_buckets = {16, 3},
                                             .append_bucket_count = 2,
                                             .last_row = seed & 2,
                                             .short_sliding = seed & 4,
                                             .concatenated = seed & 8};
        random_model_create(&m, seed, seed & 1 ? SM_FORMAT_Q8_0 : SM_FORMAT_F32);
        assert_int_equal(sm_weights_create(&weights, &m.model, "native", &choice, why, sizeof why), 0);
        if (sm_session_create(&s, weights, &o, why, sizeof why)) fail_msg("%s", why);
        const size_t planned = allocations;
        for (int again = 0; again < 2; again++) {
            assert_int_equal(sm_session_prefill(s, tokens, 11, SM_PAD_LEFT, why, sizeof why), 0);
            assert_int_equal(sm_session_append(s, tokens, 11, why, sizeof why), 0);
            assert_int_equal(sm_session_append(s, tokens, 2, why, sizeof why), 0);
            assert_int_equal(sm_session_decode(s, 1, why, sizeof why), 0);
            assert_int_equal(sm_session_truncate(s, 20, why, sizeof why), 0);
            for (int i = 0; i < 2; i++) assert_int_equal(sm_session_append(s, tokens, 11, why, sizeof why), 0);
            assert_int_equal(sm_session_append(s, tokens, 6, why, sizeof why), -1);
            assert_int_equal(sm_session_append(s, tokens, 5, why, sizeof why), 0);
            (void)sm_session_logits(s);
            assert_int_equal(allocations, planned);
        }
        sm_session_destroy(s);
        sm_weights_destroy(weights);
        random_model_destroy(&m);
    }
}

/* The arena is sized before anything runs: a byte less is refused, and what is asked for is enough. */
static void test_arena(void **state)
{
    (void)state;
    char why[512];
    struct fixture f;
    const struct fixture_options o = {
        golden_path("llama-tiny/llama-tiny-q8_0.gguf"), "native", sm_cpu_features(), 32, 2, SM_KV_F16, false};
    fixture_open(&f, &o);
    const struct sm_plan_options *options = sm_plan_options_of(sm_session_plan(f.session, SM_PHASE_DECODE));
    struct sm_positions *positions;
    struct sm_cache *cache = sm_session_cache(f.session);
    assert_int_equal(sm_positions_create(&positions, f.model, 32, why, sizeof why), 0);
    const size_t bytes = sm_plan_bytes(f.weights, cache, positions, options, why, sizeof why);
    char *arena = aligned_alloc(64, bytes + 64);
    memset(arena, 0, bytes);
    memset(arena + bytes, 0x5a, 64);
    assert_null(sm_plan_build(arena, bytes - 1, f.weights, cache, positions, options, why, sizeof why));
    assert_non_null(strstr(why, "the arena has"));
    struct sm_plan *plan = sm_plan_build(arena, bytes, f.weights, cache, positions, options, why, sizeof why);
    assert_non_null(plan);
    const struct sm_step *steps = sm_plan_steps(plan);
    assert_false(steps[0].barrier);
    size_t barriers = 0, rope_barriers = 0;
    for (size_t i = 0; i < sm_plan_step_count(plan); i++) {
        barriers += steps[i].barrier;
        rope_barriers += steps[i].barrier && steps[i].label == SM_LABEL_ROPE;
        assert_true((const char *)steps[i].args >= arena && (const char *)steps[i].args < arena + bytes);
    }
    assert_int_equal(barriers, sm_plan_barriers(plan));
    assert_int_equal(rope_barriers, f.model->shape.layers); /* one wait for queries, keys and values */
    for (size_t i = 0; i < 64; i++) assert_int_equal(arena[bytes + i], 0x5a);
    struct sm_plan_options wrong = *options;
    wrong.rows = 33;
    assert_int_equal(sm_plan_bytes(f.weights, cache, positions, &wrong, why, sizeof why), 0);
    assert_non_null(strstr(why, "rows"));
    wrong = *options;
    wrong.kv = SM_KV_I8;
    assert_int_equal(sm_plan_bytes(f.weights, cache, positions, &wrong, why, sizeof why), 0);
    free(arena);
    sm_positions_destroy(positions);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_allocates),
                                       cmocka_unit_test(test_turns_do_not_allocate), cmocka_unit_test(test_arena)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
