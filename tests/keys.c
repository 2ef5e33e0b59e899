/* How keys lie in a model's cache: chosen by the attention that reads them, and the same to everybody else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cache_write.h"
#include "cpu.h"
#include "random.h"
#include "random_model.h"
#include "runtime_fixture.h"

#define MAX_SEQ 38 /* 37 slots: two blocks of 16, and five */

static char why[512];

static const struct sm_variant *variant_of(const struct sm_plan *plan, enum sm_label label, size_t nth)
{
    for (size_t i = 0; i < sm_plan_step_count(plan); i++)
        if (sm_plan_steps(plan)[i].label == label && !nth--) return sm_plan_steps(plan)[i].variant;
    fail_msg("there is no such step");
    return NULL;
}

/* What plans take where that is forced: attention, and the writes of the first layer's values and keys; NULLs: there is
 * no such session. */
struct taken {
    const char *attention, *values, *keys;
    bool in_blocks;
};

static struct taken take(enum sm_kv_type kv, uint32_t features, const struct sm_forced *forced, bool concatenated)
{
    struct taken t = {NULL, NULL, NULL, false};
    struct random_model m;
    struct sm_weights *w = NULL;
    struct sm_session *s = NULL;
    size_t count = 0;
    while (forced && forced[count].family) count++;
    const struct sm_choice choice = {.features = features, .forced = forced, .forced_count = count};
    const struct sm_session_options o = {.max_seq = MAX_SEQ, .kv = kv, .threads = 1, .concatenated = concatenated};
    random_model_create(&m, 1, SM_FORMAT_F32);
    if (sm_weights_create(&w, &m.model, "float", &choice, why, sizeof why)) fail_msg("%s", why);
    if (!sm_session_create(&s, w, &o, why, sizeof why)) {
        const struct sm_plan *plan = sm_session_plan(s, SM_PHASE_DECODE);
        t = (struct taken){variant_of(plan, SM_LABEL_ATTENTION, 0)->name,
                           variant_of(plan, SM_LABEL_CACHE_WRITE, 0)->name,
                           variant_of(plan, SM_LABEL_CACHE_WRITE, 1)->name, sm_session_cache(s)->keys == SM_KEYS_16};
    }
    sm_session_destroy(s);
    sm_weights_destroy(w);
    random_model_destroy(&m);
    return t;
}

static void expect(const struct taken *t, const char *attention, const char *values, const char *keys, bool in_blocks)
{
    if (!t->attention) fail_msg("%s", why);
    assert_string_equal(t->attention, attention);
    assert_string_equal(t->values, values);
    assert_string_equal(t->keys, keys);
    assert_int_equal(t->in_blocks, in_blocks);
}

static void test_choice(void **state)
{
    (void)state;
    struct taken t = take(SM_KV_F16, 0, NULL, false);
    expect(&t, "ref", "ref", "ref", false);
    t = take(SM_KV_F16, SM_NEEDS_avx2 & sm_cpu_features(), (struct sm_forced[]){{"attention_f16", "ref"}, {0}}, false);
    assert_false(t.in_blocks);
    if (SM_NEEDS_avx2 & ~sm_cpu_features()) skip();
    for (enum sm_kv_type kv = SM_KV_F32; kv <= SM_KV_F16; kv++) {
        t = take(kv, SM_NEEDS_avx2, NULL, false);
        expect(&t, "skip_avx2_keys16", "avx2", "avx2_blocks16", true);
        t = take(kv, SM_NEEDS_avx2, NULL, true); /* what is put together is plain */
        expect(&t, "skip_avx2", "avx2", "avx2", false);
    }
    t = take(SM_KV_I8, SM_NEEDS_avx2, NULL, false);
    expect(&t, "skip_avx2", "avx2", "avx2", false);
}

/* The cache follows the attention that is forced, and a write is forced where its layout is. */
static void test_forced(void **state)
{
    (void)state;
    if (SM_NEEDS_avx2 & ~sm_cpu_features()) skip();
    const struct sm_forced plain[] = {{"attention_f16", "literal_avx2"}, {"cache_write_f16", "ref"}, {0}};
    struct taken t = take(SM_KV_F16, SM_NEEDS_avx2, plain, false);
    expect(&t, "literal_avx2", "ref", "ref", false);
    const struct sm_forced of_values[] = {{"attention_f16", "literal_avx2_keys16"}, {"cache_write_f16", "ref"}, {0}};
    t = take(SM_KV_F16, SM_NEEDS_avx2, of_values, false);
    expect(&t, "literal_avx2_keys16", "ref", "avx2_blocks16", true);
    const struct sm_forced of_keys[] = {{"cache_write_f16", "ref_blocks16"}, {0}};
    t = take(SM_KV_F16, SM_NEEDS_avx2, of_keys, false);
    expect(&t, "skip_avx2_keys16", "avx2", "ref_blocks16", true);
    const struct sm_forced both[] = {{"cache_write_f16", "ref_blocks16"}, {"cache_write_f16", "ref"}, {0}};
    t = take(SM_KV_F16, SM_NEEDS_avx2, both, false);
    expect(&t, "skip_avx2_keys16", "ref", "ref_blocks16", true);
    const struct {
        struct sm_forced forced[3];
        bool concatenated;
        const char *sentence;
    } refused[] = {
        {{{"cache_write_f16", "ref_transposed"}}, false, "ref_transposed reads the layout transposed"},
        {{{"attention_f16", "literal_avx2"}, {"cache_write_f16", "ref_blocks16"}}, false, "plans use slot_major"},
        {{{"attention_f16", "skip_avx2_keys16"}},
         true,
         "skip_avx2_keys16 reads the layout keys16, and plans use plain"},
        {{{"attention_f16", "skip_avx512_keys16"}}, false, "skip_avx512_keys16 needs avx512"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        t = take(SM_KV_F16, SM_NEEDS_avx2, refused[i].forced, refused[i].concatenated);
        assert_null(t.attention);
        if (!strstr(why, refused[i].sentence)) fail_msg("%s", why);
    }
}

/* Every byte of a slot is another one at each count. */
static void count_slot(unsigned char *bytes, size_t n, size_t slot)
{
    for (size_t i = 0; i < n; i++) bytes[i] = (unsigned char)(1 + (slot * 101 + i) % 255);
}

/* A slot that is put into a cache is there and nowhere else, can be taken out again, and is cleared with those behind
 * it, however keys lie and wherever in a block it is. */
static void test_slots(void **state)
{
    (void)state;
    struct random_model m;
    random_model_create(&m, 1, SM_FORMAT_F32);
    for (int kv = 0; kv < SM_KV_TYPES; kv++)
        for (enum sm_keys keys = SM_KEYS_PLAIN; keys <= SM_KEYS_16; keys++) {
            struct sm_cache *c;
            struct sm_random r = {(uint64_t)kv};
            if (sm_cache_create(&c, &m.model.shape, MAX_SEQ, (enum sm_kv_type)kv, keys, why, sizeof why))
                fail_msg("%s", why);
            const size_t n = sm_cache_slot_bytes(c), slots = MAX_SEQ - 1;
            unsigned char *wanted = malloc(n), *got = malloc(n), *empty = malloc(c->bytes);
            assert_true(wanted && got && empty);
            memcpy(empty, c->memory, c->bytes);
            for (int round = 0; round < 40; round++) {
                const size_t from = sm_random_below(&r, (uint32_t)slots);
                for (size_t i = slots; i-- > 0;) {
                    count_slot(wanted, n, i);
                    sm_cache_restore(c, i, wanted);
                }
                c->used = slots;
                sm_cache_clear(c, from);
                assert_int_equal(c->used, from);
                for (size_t i = 0; i < slots; i++) {
                    count_slot(wanted, n, i);
                    if (i >= from) memset(wanted, 0, n);
                    sm_cache_save(c, i, got);
                    assert_memory_equal(got, wanted, n);
                }
            }
            sm_cache_clear(c, 0);
            assert_memory_equal(c->memory, empty, c->bytes); /* nothing beside the slots was touched */
            free(wanted);
            free(got);
            free(empty);
            sm_cache_destroy(c);
        }
    random_model_destroy(&m);
}

/* The floats of a slot are those of its row, in either layout. */
static void test_read(void **state)
{
    (void)state;
    struct random_model m;
    random_model_create(&m, 1, SM_FORMAT_F32);
    for (int kv = 0; kv < SM_KV_TYPES; kv++) {
        struct sm_cache *c[SM_KEY_LAYOUTS];
        float x[SM_KEY_LAYOUTS][1024];
        for (enum sm_keys keys = SM_KEYS_PLAIN; keys <= SM_KEYS_16; keys++) {
            if (sm_cache_create(&c[keys], &m.model.shape, MAX_SEQ, (enum sm_kv_type)kv, keys, why, sizeof why))
                fail_msg("%s", why);
            const size_t n = sm_cache_slot_bytes(c[keys]);
            unsigned char *bytes = malloc(n);
            assert_non_null(bytes);
            for (size_t slot = 0; slot < MAX_SEQ - 1; slot++) {
                for (size_t i = 0; i < n; i++) bytes[i] = (unsigned char)(0x3f - (slot * 7 + i) % 32);
                sm_cache_restore(c[keys], slot, bytes);
            }
            free(bytes);
        }
        for (size_t l = 0; l < c[0]->layers; l++)
            for (size_t slot = 0; c[0]->layer[l].k && slot < MAX_SEQ - 1; slot++)
                for (int values = 0; values <= 1; values++) {
                    for (size_t keys = 0; keys < SM_KEY_LAYOUTS; keys++)
                        sm_cache_read(c[keys], l, values, slot, x[keys]);
                    assert_memory_equal(x[0], x[1], c[0]->layer[l].kv_heads * c[0]->layer[l].head_dim * sizeof(float));
                }
        for (size_t keys = 0; keys < SM_KEY_LAYOUTS; keys++) sm_cache_destroy(c[keys]);
    }
    random_model_destroy(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_choice), cmocka_unit_test(test_forced),
                                       cmocka_unit_test(test_slots), cmocka_unit_test(test_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
