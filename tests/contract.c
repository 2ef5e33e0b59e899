/* The behaviours that TICO's own tests pin, with their numbers (static-contract: 5), and those that it has no test of.
 *
 * line of 5                                            test; in contract_layouts.c where marked *
 *  1  validity, layout and positions of a padded row   test_padded_row
 *  2  the last valid row, right and left               test_last_row
 *  3  prefill of K = 4                                 test_prefill
 *  4  one row reaches the head                         test_prefill
 *  5  append mask P = 2, T = 2, Q = 3, K = 8           test_append_write
 *  6  append write-back                                test_append_write
 *  7  chunks of [1..5] with Q = 3                      test_chunks
 *  8  shapes of append and decode, K = 32, Q = 4       test_shapes
 *  9  no mask, a mask of bools                         test_padded_row (there is one kind of output, the delta)
 * 10  rotation and its table                           test_rotation
 * 11  scale in k_proj against on scores                test_profiles *
 * 12  a folded k_proj                                  tests/scale_in.c
 * 13  quantised against float, bounded and not zero    tests/llama_golden.c, test_quantised
 * 14  padding that is refused                          test_padded_row (left padding is not: it runs here)
 * 15  cache geometry                                   test_cache_geometry *; from config.json: tests/hf_config.c
 * 16  decode masks, in the layout of 2.8               test_decode_masks *
 * 17  a key mask of bools, fill -100                   test_key_mask *
 * 19  a consumer of shared keys returns hidden only    test_consumer *
 * 20  final softcap, one row of logits                 test_softcap *
 * 22  ranges and constants of a quantiser              tests/quantise_channel.c; moving averages: tests/recipes.c
 * 23  lists of buckets                                 tests/bucket.c (there are no exported files)
 * 18, 21, 24: unrolled export, vision fusion, an inspector: there are none here.
 *
 * not tested by TICO                                   test
 * bucket selector                                      tests/bucket.c
 * P + Q = K, P + T = K - 1, decode at K - 2            test_limits *
 * fully masked rows are finite                         test_masked_rows *
 * left padding == right, chunks == bucket == decodes,
 * poisoned slots, sliding masks in the fixed layout    tests/properties.c; against references tests/turns.c */
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
#include "contract_fixture.h"
#include "matmul_f32/matmul_f32.h"
#include "rmsnorm/rmsnorm.h"
#include "rope/rope.h"
#include "runtime_fixture.h"

static void test_padded_row(void **state)
{
    (void)state;
    struct echo_model m;
    struct sm_positions *positions;
    const bool right[] = {1, 1, 0, 0}, left[] = {0, 0, 1, 1}, holes[] = {1, 0, 1, 0}, none[] = {0, 0, 0, 0};
    const int32_t ids[] = {4, 5, 0, 0}, ids_left[] = {0, 0, 4, 5};
    size_t begin, count;
    worked(sm_padding_of(right, 4, SM_PAD_RIGHT, &begin, &count, why, sizeof why));
    assert_true(begin == 0 && count == 2);
    worked(sm_padding_of(left, 4, SM_PAD_LEFT, &begin, &count, why, sizeof why));
    assert_true(begin == 2 && count == 2);
    refused(sm_padding_of(holes, 4, SM_PAD_RIGHT, &begin, &count, why, sizeof why), "right padding expected");
    refused(sm_padding_of(holes, 4, SM_PAD_LEFT, &begin, &count, why, sizeof why), "left padding expected");
    refused(sm_padding_of(left, 4, SM_PAD_RIGHT, &begin, &count, why, sizeof why), "right padding expected");
    refused(sm_padding_of(none, 4, SM_PAD_RIGHT, &begin, &count, why, sizeof why), "there is no valid token");
    echo_model_make(&m, 1, echo_keys, echo_values);
    m.model.shape.layer[0].rope_pairs = ECHO / 2;
    struct session s = open_session(&m.model, &(struct sm_session_options){.max_seq = 4}, SM_SCALE_IN_SCORES);
    worked(sm_positions_create(&positions, &m.model, 4, why, sizeof why));
    const struct sm_plan *plan = sm_session_plan(s.session, SM_PHASE_PREFILL);
    worked(sm_session_prefill_padded(s.session, ids, right, 4, SM_PAD_RIGHT, why, sizeof why));
    const size_t want[] = {0, 1, 0, 0}, want_left[] = {0, 0, 0, 1};
    for (size_t r = 0; r < 4; r++) assert_int_equal(position_of(plan, positions, r), want[r]);
    float logits[ECHO];
    memcpy(logits, sm_session_logits(s.session), sizeof logits);
    worked(sm_session_prefill(s.session, ids, 2, SM_PAD_RIGHT, why, sizeof why)); /* without a mask */
    assert_memory_equal(logits, sm_session_logits(s.session), sizeof logits);
    worked(sm_session_prefill_padded(s.session, ids_left, left, 4, SM_PAD_LEFT, why, sizeof why));
    for (size_t r = 0; r < 4; r++) assert_int_equal(position_of(plan, positions, r), want_left[r]);
    refused(sm_session_prefill_padded(s.session, ids, right, 3, SM_PAD_RIGHT, why, sizeof why), "as many rows");
    refused(sm_session_prefill_padded(s.session, ids, holes, 4, SM_PAD_RIGHT, why, sizeof why), "expected");
    sm_positions_destroy(positions);
    close_session(&s);
}

/* Of 4 rows of which two are valid, the second of those: its hidden state alone enters the final norm. */
static void test_last_row(void **state)
{
    (void)state;
    struct echo_model m;
    const int32_t ids[] = {4, 5};
    for (int left = 0; left <= 1; left++) {
        struct session s = open_echo(&m, &(struct sm_session_options){.max_seq = 4});
        const struct sm_plan *plan = sm_session_plan(s.session, SM_PHASE_PREFILL);
        worked(sm_session_prefill(s.session, ids, 2, left ? SM_PAD_LEFT : SM_PAD_RIGHT, why, sizeof why));
        assert_int_equal(sm_plan_last_row(plan), left ? 3 : 1);
        const struct sm_rmsnorm *final = step_args(plan, "rmsnorm", -1), *layer = step_args(plan, "rmsnorm", 0);
        assert_int_equal(final->rows, 1);
        assert_ptr_equal(final->x, layer->x + (left ? 3 : 1) * ECHO);
        assert_memory_equal(sm_session_logits(s.session), m.embedding[5], sizeof m.embedding[5]);
        close_session(&s);
    }
}

static void test_prefill(void **state)
{
    (void)state;
    struct echo_model m;
    const int32_t ids[] = {5, 6}, three[] = {3, 4, 5};
    struct session s = open_echo(&m, &(struct sm_session_options){.max_seq = 4});
    const struct sm_plan *plan = sm_session_plan(s.session, SM_PHASE_PREFILL);
    worked(sm_session_prefill(s.session, ids, 2, SM_PAD_RIGHT, why, sizeof why));
    assert_int_equal(sm_session_past(s.session), 2);
    assert_memory_equal(sm_session_logits(s.session), m.embedding[6], sizeof m.embedding[6]);
    assert_int_equal(((const struct sm_rmsnorm *)step_args(plan, "rmsnorm", 0))->rows, 4);
    assert_int_equal(((const struct sm_matmul_f32 *)step_args(plan, "matmul_f32", -1))->rows, 1);
    assert_string_equal(columns_seen(plan, 0, 0, -120), "0");
    assert_string_equal(columns_seen(plan, 0, 1, -120), "0-1");
    assert_string_equal(columns_seen(plan, 0, 2, -120), "");
    assert_string_equal(columns_seen(plan, 0, 3, -120), "");
    worked(sm_session_prefill(s.session, ids, 2, SM_PAD_LEFT, why, sizeof why));
    assert_string_equal(columns_seen(plan, 0, 1, -120), "");
    assert_string_equal(columns_seen(plan, 0, 2, -120), "2");
    assert_string_equal(columns_seen(plan, 0, 3, -120), "2-3");
    worked(sm_session_prefill(s.session, three, 3, SM_PAD_RIGHT, why, sizeof why));
    assert_memory_equal(sm_session_logits(s.session), m.embedding[5], sizeof m.embedding[5]);
    assert_null(sm_session_token_logits(s.session, 1)); /* only one row reached the head */
    close_session(&s);
}

static void check_slots(struct sm_session *s, const float *k, const float *v, size_t count)
{
    float slot[ECHO];
    for (size_t p = 0; p < count; p++)
        for (int value = 0; value <= 1; value++) {
            sm_cache_read(sm_session_cache(s), 0, value, p, slot);
            for (size_t i = 0; i < ECHO; i++) assert_true(slot[i] == (value ? v[p] : k[p]));
        }
}

static void test_append_write(void **state)
{
    (void)state;
    struct echo_model m;
    const struct sm_session_options o = {.max_seq = 8, .append_buckets = {3}, .append_bucket_count = 1};
    const int32_t first[] = {3, 4}, second[] = {1, 2};
    struct session s = open_echo(&m, &o);
    worked(sm_session_prefill(s.session, first, 2, SM_PAD_LEFT, why, sizeof why));
    const struct sm_layer_cache *c = &sm_session_cache(s.session)->layer[0];
    for (size_t i = 2 * ECHO; i < 7 * ECHO; i++) {
        ((float *)c->k)[sm_cache_at(sm_session_cache(s.session), 0, 0, 0, i / ECHO, i % ECHO)] = -1;
        ((float *)c->v)[i] = -2;
    }
    worked(sm_session_append(s.session, second, 2, why, sizeof why));
    const float k[] = {10, 11, 30, 31, -1, -1, -1}, v[] = {20, 21, 40, 41, -2, -2, -2};
    check_slots(s.session, k, v, 7); /* and 99 and 98 of the padded row are nowhere */
    assert_int_equal(sm_session_past(s.session), 4);
    const struct sm_plan *plan = sm_session_plan(s.session, SM_PHASE_APPEND);
    assert_string_equal(columns_seen(plan, 0, 0, -120), "0-1 5");
    assert_string_equal(columns_seen(plan, 0, 1, -120), "0-1 5-6");
    assert_string_equal(columns_seen(plan, 0, 2, -120), "");
    const struct sm_attention *a = step_args(plan, "attention_f32", 0);
    assert_true(a->past == 5 && a->now == 3 && a->rows == 3 && a->mask_stride == 8);
    assert_ptr_equal(a->k_past.data, c->k);
    assert_int_equal(((const struct sm_rope *)step_args(plan, "rope", 0))->rows, 3);
    assert_int_equal(((const struct sm_rmsnorm *)step_args(plan, "rmsnorm", 0))->rows, 3);
    assert_int_equal(((const struct sm_matmul_f32 *)step_args(plan, "matmul_f32", -1))->rows, 1);
    assert_int_equal(sm_plan_last_row(plan), 1);
    assert_memory_equal(sm_session_logits(s.session), m.embedding[2], sizeof m.embedding[2]);
    close_session(&s);
}

static void test_chunks(void **state)
{
    (void)state;
    struct echo_model m;
    size_t count;
    const struct sm_session_options o = {.max_seq = 16, .append_buckets = {3}, .append_bucket_count = 1};
    const int32_t first[] = {6}, turn[] = {1, 2, 3, 4, 5};
    struct session s = open_echo(&m, &o);
    worked(sm_session_prefill(s.session, first, 1, SM_PAD_RIGHT, why, sizeof why));
    worked(sm_session_append(s.session, turn, 5, why, sizeof why));
    const struct sm_chunk *c = sm_session_chunks(s.session, &count);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < 2; i++)
        assert_true(c[i].phase == SM_PHASE_APPEND && c[i].rows == 3 && c[i].count == 3 - i && c[i].past == 1 + 3 * i &&
                    !c[i].policy);
    const float k[] = {6, 30, 31, 10, 11, 5}, v[] = {2, 40, 41, 20, 21, 3};
    check_slots(s.session, k, v, 6);
    assert_memory_equal(sm_session_logits(s.session), m.embedding[5], sizeof m.embedding[5]);
    close_session(&s);
}

static void test_shapes(void **state)
{
    (void)state;
    struct echo_model m;
    const struct sm_session_options o = {.max_seq = 32, .append_buckets = {4}, .append_bucket_count = 1};
    struct session s = open_echo(&m, &o);
    const struct sm_attention *append = step_args(sm_session_plan(s.session, SM_PHASE_APPEND), "attention_f32", 0),
                              *decode = step_args(sm_session_plan(s.session, SM_PHASE_DECODE), "attention_f32", 0);
    assert_true(append->past == 28 && append->now == 4 && append->rows == 4 && append->mask_stride == 32);
    assert_true(decode->past == 31 && decode->now == 1 && decode->rows == 1 && decode->mask_stride == 32);
    const enum sm_keys keys = sm_session_cache(s.session)->keys;
    assert_true(append->v_now.head_stride == 4 * ECHO && decode->v_now.head_stride == ECHO);
    assert_true(append->v_past.head_stride == 31 * ECHO && decode->v_past.head_stride == 31 * ECHO);
    assert_true(append->k_now.head_stride == sm_keys_slots(keys, 4) * ECHO);
    assert_true(decode->k_now.head_stride == sm_keys_slots(keys, 1) * ECHO);
    assert_true(append->k_past.head_stride == sm_keys_slots(keys, 31) * ECHO);
    assert_true(decode->k_past.head_stride == sm_keys_slots(keys, 31) * ECHO);
    close_session(&s);
}

/* cos and sin of H = 4 and theta = 10000 at position 1; and rotating by them is x cos + swap(x) sin' with a sine whose
 * first half is negated. */
static void test_rotation(void **state)
{
    (void)state;
    struct echo_model m;
    struct sm_positions *p;
    echo_model_make(&m, 1, echo_keys, echo_values);
    m.model.shape.layer[0].rope_pairs = 2;
    m.model.shape.layer[0].rope_theta = 1e8; /* 1e8^(-2/8) is 10000^(-2/4) */
    worked(sm_positions_create(&p, &m.model, 2, why, sizeof why));
    const float *cos = p->rotation[0].cos + 4, *sin = p->rotation[0].sin + 4;
    const float want_cos[] = {0.540302f, 0.999950f, 1, 1}, want_sin[] = {0.841471f, 0.0099998f, 0, 0};
    assert_true(difference(cos, want_cos, 4) < 1e-6 && difference(sin, want_sin, 4) < 1e-6);
    float x[8] = {1, -2, 3, 4, -5, 6, 7, 8}, want[8];
    for (size_t i = 0; i < 8; i++) {
        const float negated = i < 4 ? -sin[i % 4] : sin[i % 4];
        want[i] = x[i] * cos[i % 4] + x[(i + 4) % 8] * negated;
    }
    const struct sm_rope args = {.x = x, .x_stride = 8, .cos = cos, .sin = sin, .rows = 1, .heads = 1, .head_dim = 8};
    sm_rope_ref(&args, sm_part_whole(1, 1));
    assert_true(difference(x, want, 8) < 1e-5);
    sm_positions_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_padded_row),   cmocka_unit_test(test_last_row), cmocka_unit_test(test_prefill),
        cmocka_unit_test(test_append_write), cmocka_unit_test(test_chunks),   cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_rotation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
