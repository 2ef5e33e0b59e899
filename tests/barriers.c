/* Where threads must wait: every step's shares between two barriers are run thread by thread and not step by step, so
 * that what a barrier is missing for comes out wrong, every time. Random models and layouts, each phase. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu.h"
#include "random.h"
#include "random_model.h"
#include "runtime_fixture.h"

#define MAX_SEQ 32
#define BUCKET 9
#define FIRST 7
#define SECOND 6
#define THREADS_MOST 4

static char why[512];
static int32_t tokens[FIRST + SECOND + 1];

static void run_thread_by_thread(const struct sm_plan *plan, size_t threads, bool last_first)
{
    const struct sm_step *steps = sm_plan_steps(plan);
    const size_t count = sm_plan_step_count(plan);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && !steps[to].barrier;) to++;
        for (size_t t = 0; t < threads; t++)
            for (size_t i = from; i < to; i++) {
                const size_t owner = last_first ? threads - 1 - t : t;
                for (size_t p = owner * steps[i].each; p < (owner + 1) * steps[i].each; p++) {
                    const struct sm_part *part = sm_step_part(&steps[i], p);
                    if (part) steps[i].fn(steps[i].args, *part);
                }
            }
    }
}

struct built {
    struct sm_plan *plan;
    void *arena;
};

static struct built build(const struct sm_weights *w, struct sm_cache *cache, struct sm_positions *positions,
                          struct sm_plan_options options, enum sm_phase phase, size_t rows)
{
    struct built b;
    options.phase = phase;
    options.rows = rows;
    const size_t bytes = sm_plan_bytes(w, cache, positions, &options, why, sizeof why);
    if (!bytes || posix_memalign(&b.arena, 64, bytes)) fail_msg("%s", why);
    memset(b.arena, 0, bytes);
    b.plan = sm_plan_build(b.arena, bytes, w, cache, positions, &options, why, sizeof why);
    if (!b.plan) fail_msg("%s", why);
    return b;
}

/* Logits after a prefill, an append and a decode. */
static void answer(const struct sm_weights *w, struct sm_positions *positions, const struct sm_plan_options *options,
                   bool last_first, float *logits)
{
    const size_t vocab = w->model->shape.vocab, threads = options->threads;
    struct sm_cache *cache = NULL;
    enum sm_keys keys;
    if (sm_plan_keys(w, options->kv, options->concatenated, &keys, why, sizeof why) ||
        sm_cache_create(&cache, &w->model->shape, MAX_SEQ, options->kv, keys, why, sizeof why))
        fail_msg("%s", why);
    struct built prefill = build(w, cache, positions, *options, SM_PHASE_PREFILL, MAX_SEQ);
    struct built append = build(w, cache, positions, *options, SM_PHASE_APPEND, BUCKET);
    struct built decode = build(w, cache, positions, *options, SM_PHASE_DECODE, 1);
    const struct sm_call calls[] = {{tokens, MAX_SEQ - FIRST, FIRST, 0},
                                    {tokens + FIRST, 0, SECOND, FIRST},
                                    {tokens + FIRST + SECOND, 0, 1, FIRST + SECOND}};
    sm_plan_set(prefill.plan, &calls[0]);
    run_thread_by_thread(prefill.plan, threads, last_first);
    memcpy(logits, sm_plan_logits(prefill.plan), vocab * sizeof *logits);
    sm_plan_set(append.plan, &calls[1]);
    run_thread_by_thread(append.plan, threads, last_first);
    memcpy(logits + vocab, sm_plan_logits(append.plan), vocab * sizeof *logits);
    sm_plan_set(decode.plan, &calls[2]);
    run_thread_by_thread(decode.plan, threads, last_first);
    memcpy(logits + 2 * vocab, sm_plan_logits(decode.plan), vocab * sizeof *logits);
    free(prefill.arena);
    free(append.arena);
    free(decode.arena);
    sm_cache_destroy(cache);
}

static void check(uint64_t seed, const char *recipe)
{
    struct random_model m;
    struct sm_random r = {seed};
    struct sm_weights *w = NULL;
    struct sm_positions *positions = NULL;
    float wanted[3 * 64], got[3 * 64];
    struct sm_choice choice = {.features = sm_cpu_features()};
    random_model_create(&m, seed, SM_FORMAT_Q8_0);
    struct sm_scales *scales = fixture_scales(&m.model, recipe);
    choice.scales = scales;
    const size_t vocab = m.model.shape.vocab;
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        tokens[i] = (int32_t)sm_random_below(&r, (uint32_t)vocab);
    if (sm_weights_create(&w, &m.model, recipe, &choice, why, sizeof why) ||
        sm_positions_create(&positions, &m.model, MAX_SEQ, why, sizeof why))
        fail_msg("%s", why);
    struct sm_plan_options o = {.max_seq = MAX_SEQ,
                                .kv = (enum sm_kv_type)sm_random_below(&r, SM_KV_TYPES),
                                .threads = 1,
                                .last_row = sm_random_below(&r, 2),
                                .short_sliding = sm_random_below(&r, 2),
                                .concatenated = sm_random_below(&r, 2)};
    answer(w, positions, &o, false, wanted);
    for (o.threads = 2; o.threads <= THREADS_MOST; o.threads++)
        for (int last_first = 0; last_first <= 1; last_first++) {
            answer(w, positions, &o, last_first, got);
            const double off = peir(wanted, got, 3 * vocab);
            if (!(off < 1e-4))
                fail_msg("seed %llu, %s, %s, KV in %s, last row %d, short %d, concatenated %d, %zu threads: off by %g",
                         (unsigned long long)seed, random_model_text(&m), recipe, sm_kv_name(o.kv), o.last_row,
                         o.short_sliding, o.concatenated, o.threads, off);
        }
    sm_positions_destroy(positions);
    sm_weights_destroy(w);
    sm_scales_destroy(scales);
    random_model_destroy(&m);
}

static void test_barriers(void **state)
{
    (void)state;
    size_t recipes = 0;
    while (sm_recipe_name(recipes)) recipes++;
    for (uint64_t seed = 1; seed <= 12 * recipes; seed++) check(seed, sm_recipe_name(seed % recipes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_barriers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
