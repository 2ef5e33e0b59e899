/* The contract's masks, caches and limits: the lines marked in contract.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "attention.h"
#include "contract_fixture.h"
#include "random_model.h"
#include "runtime_fixture.h"

static const int32_t counting[] = {0, 1, 2, 3, 4, 5, 6, 7};

/* Puts `count` tokens into the cache, whose arithmetic does not matter. */
static void fill_to(struct sm_session *s, size_t count)
{
    if (count) worked(sm_session_prefill(s, counting, count < ECHO ? count : ECHO, SM_PAD_RIGHT, why, sizeof why));
    while (count && sm_session_past(s) < count) {
        const size_t left = count - sm_session_past(s);
        worked(sm_session_append(s, counting, left < ECHO ? left : ECHO, why, sizeof why));
    }
    if (count) return;
    worked(sm_session_prefill(s, counting, 1, SM_PAD_RIGHT, why, sizeof why));
    worked(sm_session_truncate(s, 0, why, sizeof why));
}

/* The scale on the scores, in q_proj and in k_proj: the same within 1e-5, of logits of order one. Where k_proj gives
 * the values too, nothing is folded into it. */
static void test_profiles(void **state)
{
    (void)state;
    size_t compared[SM_SCALE_INS] = {0};
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct random_model m;
        float logits[SM_SCALE_INS][64];
        random_model_create(&m, seed, SM_FORMAT_F32);
        const size_t vocab = m.model.shape.vocab;
        bool foldable = true;
        for (size_t l = 0; l < m.model.shape.layers; l++) foldable &= !m.model.shape.layer[l].value_is_key;
        for (int place = 0; place < SM_SCALE_INS; place++) {
            if (place == SM_SCALE_IN_K && !foldable) continue;
            struct session s =
                open_session(&m.model, &(struct sm_session_options){.max_seq = 16}, (enum sm_scale_in)place);
            worked(sm_session_prefill(s.session, counting, 8, SM_PAD_RIGHT, why, sizeof why));
            worked(sm_session_decode(s.session, 9, why, sizeof why));
            memcpy(logits[place], sm_session_logits(s.session), vocab * sizeof(float));
            close_session(&s);
            assert_true(peir(logits[SM_SCALE_IN_SCORES], logits[place], vocab) < 1e-5);
            compared[place]++;
        }
        random_model_destroy(&m);
    }
    assert_true(compared[SM_SCALE_IN_Q] == 30 && compared[SM_SCALE_IN_K] >= 10);
}

static void test_cache_geometry(void **state)
{
    (void)state;
    static const size_t head_dims[][4] = {{256, 512, 256, 512}, {256, 256, 256, 256}, {512, 512, 512, 512}};
    for (size_t i = 0; i < 3; i++) {
        static struct echo_model m;
        echo_model_make(&m, 4, echo_keys, echo_values);
        for (size_t l = 0; l < 4; l++) m.model.shape.layer[l].head_dim = head_dims[i][l];
        for (enum sm_keys keys = SM_KEYS_PLAIN; keys <= SM_KEYS_16; keys++) {
            struct sm_cache *c;
            worked(sm_cache_create(&c, &m.model.shape, 64, SM_KV_F16, keys, why, sizeof why));
            size_t bytes = 0;
            for (size_t l = 0; l < 4; l++) {
                assert_int_equal(c->layer[l].head_dim, head_dims[i][l]);
                bytes += (63 + (keys == SM_KEYS_16 ? 64u : 63u)) * head_dims[i][l] * 2; /* a slot less than max_seq */
            }
            assert_int_equal(c->bytes, bytes);
            sm_cache_destroy(c);
        }
    }
}

static void check_decode(size_t max_seq, size_t window, size_t past, bool is_short, const char *seen, size_t columns)
{
    struct echo_model m;
    struct sm_positions *positions;
    echo_model_make(&m, 1, echo_keys, echo_values);
    m.model.shape.layer[0].window = window;
    m.model.shape.layer[0].rope_pairs = ECHO / 2;
    const struct sm_session_options o = {
        .max_seq = max_seq, .append_buckets = {8, 1}, .append_bucket_count = 2, .short_sliding = is_short};
    struct session s = open_session(&m.model, &o, SM_SCALE_IN_SCORES);
    worked(sm_positions_create(&positions, &m.model, max_seq, why, sizeof why));
    fill_to(s.session, past);
    worked(sm_session_decode(s.session, 1, why, sizeof why));
    const struct sm_plan *plan = sm_session_plan(s.session, SM_PHASE_DECODE);
    assert_string_equal(columns_seen(plan, 0, 0, -120), seen);
    const struct sm_attention *a = step_args(plan, "attention_f32", 0);
    assert_int_equal(a->past + a->now, columns);
    assert_int_equal(position_of(plan, positions, 0), past);
    const struct sm_cache *c = sm_session_cache(s.session);
    const size_t shown = past > a->past ? past - a->past : 0; /* the view ends at the last valid slot */
    const size_t in_block = c->keys == SM_KEYS_16 ? shown % 16 : 0, slot = ECHO * sizeof(float);
    assert_int_equal(a->past_first, a->past ? in_block : 0);
    if (a->past) assert_ptr_equal(a->k_past.data, (const char *)c->layer[0].k + (shown - in_block) * slot);
    if (a->past) assert_ptr_equal(a->v_past.data, (const char *)c->layer[0].v + shown * slot);
    sm_positions_destroy(positions);
    close_session(&s);
}

static void test_decode_masks(void **state)
{
    (void)state;
    check_decode(64, 0, 10, false, "0-9 63", 64);
    check_decode(64, 1024, 5, false, "0-4 63", 64);
    check_decode(128, 32, 100, false, "69-99 127", 128); /* 32 columns */
    check_decode(64, 0, 0, false, "63", 64);
    check_decode(64, 0, 42, false, "0-41 63", 64);
    check_decode(8, 3, 5, false, "3-4 7", 8);
    check_decode(8, 0, 3, false, "0-2 7", 8);
    check_decode(8, 0, 6, false, "0-5 7", 8);
    /* and short: the W - 1 most recent slots, then the token itself */
    check_decode(128, 32, 100, true, "0-31", 32);
    check_decode(128, 32, 10, true, "0-9 31", 32);
    check_decode(64, 1024, 5, true, "0-4 63", 64);
    check_decode(8, 3, 5, true, "0-2", 3);
    check_decode(8, 1, 5, true, "0", 1);
}

/* Row i of an append, in the layout of all columns: [max(0, P + i - W + 1), P) and the tail from max(0, i - W + 1). */
static void test_append_masks(void **state)
{
    (void)state;
    struct echo_model m;
    for (int is_short = 0; is_short <= 1; is_short++) {
        echo_model_make(&m, 1, echo_keys, echo_values);
        m.model.shape.layer[0].window = 3;
        const struct sm_session_options o = {
            .max_seq = 16, .append_buckets = {5}, .append_bucket_count = 1, .short_sliding = is_short};
        struct session s = open_session(&m.model, &o, SM_SCALE_IN_SCORES);
        fill_to(s.session, 6);
        worked(sm_session_append(s.session, counting, 4, why, sizeof why));
        const struct sm_plan *plan = sm_session_plan(s.session, SM_PHASE_APPEND);
        assert_string_equal(columns_seen(plan, 0, 0, -120), is_short ? "0-2" : "4-5 11");
        assert_string_equal(columns_seen(plan, 0, 1, -120), is_short ? "1-3" : "5 11-12");
        assert_string_equal(columns_seen(plan, 0, 2, -120), is_short ? "2-4" : "11-13");
        assert_string_equal(columns_seen(plan, 0, 3, -120), is_short ? "3-5" : "12-14");
        assert_string_equal(columns_seen(plan, 0, 4, -120), "");
        close_session(&s);
    }
}

static void test_key_mask(void **state)
{
    (void)state;
    struct echo_model m;
    const bool valid[] = {1, 1, 1, 0};
    struct session s = open_echo(&m, &(struct sm_session_options){.max_seq = 4, .mask_fill = -100});
    const struct sm_plan *plan = sm_session_plan(s.session, SM_PHASE_PREFILL);
    worked(sm_session_prefill_padded(s.session, counting, valid, 4, SM_PAD_RIGHT, why, sizeof why));
    assert_string_equal(columns_seen(plan, 0, 0, -100), "0");
    assert_string_equal(columns_seen(plan, 0, 1, -100), "0-1");
    assert_string_equal(columns_seen(plan, 0, 2, -100), "0-2");
    assert_string_equal(columns_seen(plan, 0, 3, -100), ""); /* a padded query sees nothing (6.5) */
    close_session(&s);
}

static void test_consumer(void **state)
{
    (void)state;
    struct echo_model m;
    echo_model_make(&m, 3, echo_keys, echo_values);
    m.model.shape.layer[2].kv_source = 0;
    m.layer[2].tensor[SM_TENSOR_K] = m.layer[2].tensor[SM_TENSOR_V] = (struct sm_tensor){0};
    struct session s = open_session(&m.model, &(struct sm_session_options){.max_seq = 8}, SM_SCALE_IN_SCORES);
    const struct sm_cache *c = sm_session_cache(s.session);
    assert_true(c->layer[0].k && c->layer[1].k && !c->layer[2].k && !c->layer[2].v);
    for (int phase = 0; phase < SM_PHASES; phase += SM_PHASE_DECODE) {
        const struct sm_plan *plan = sm_session_plan(s.session, (enum sm_phase)phase);
        size_t writes[3] = {0}, projections[3] = {0};
        for (size_t i = 0; i < sm_plan_step_count(plan); i++) {
            const struct sm_step *step = &sm_plan_steps(plan)[i];
            if (step->layer == SM_NO_LAYER) continue;
            writes[step->layer] += step->label == SM_LABEL_CACHE_WRITE;
            projections[step->layer] += step->label == SM_LABEL_QKV;
        }
        assert_true(writes[0] == 4 && writes[1] == 4 && writes[2] == 0);
        assert_true(projections[0] == 3 && projections[1] == 3 && projections[2] == 1);
        const struct sm_attention *donor = step_args(plan, "attention_f32", 0),
                                  *consumer = step_args(plan, "attention_f32", 2);
        assert_memory_equal(&donor->k_past, &consumer->k_past, sizeof donor->k_past);
        assert_memory_equal(&donor->v_now, &consumer->v_now, sizeof donor->v_now);
        assert_int_equal(consumer->past + consumer->now, 8);
    }
    close_session(&s);
}

static void test_softcap(void **state)
{
    (void)state;
    struct echo_model m;
    echo_model_make(&m, 1, echo_keys, echo_values);
    for (size_t i = 0; i < ECHO; i++) m.identity[i][i] = 100;
    m.model.shape.final_softcap = 30;
    struct session s = open_session(&m.model, &(struct sm_session_options){.max_seq = 8}, SM_SCALE_IN_SCORES);
    worked(sm_session_prefill(s.session, counting, 3, SM_PAD_RIGHT, why, sizeof why));
    for (int again = 0; again <= 1; again++)
        for (size_t i = 0; i < ECHO; i++) {
            const float want = 30 * tanhf(100 * m.embedding[2][i] / 30), got = sm_session_logits(s.session)[i];
            assert_true(fabsf(got) <= 30 + 1e-5f && fabsf(got - want) < 1e-4f);
        }
    assert_null(sm_session_token_logits(s.session, 0)); /* one row */
    assert_non_null(sm_session_token_logits(s.session, 2));
    close_session(&s);
}

static void test_limits(void **state)
{
    (void)state;
    struct echo_model m;
    const int32_t none[1] = {0}, bad[2] = {1, 8};
    struct sm_session_options o = {
        .max_seq = 16, .append_buckets = {5}, .append_bucket_count = 1, .when_full = SM_WHEN_FULL_REFUSE};
    struct session s = open_echo(&m, &o);
    refused(sm_session_append(s.session, counting, 2, why, sizeof why), "prefill comes first");
    refused(sm_session_truncate(s.session, 0, why, sizeof why), "the cache holds 0");
    fill_to(s.session, 0);
    worked(sm_session_prefill(s.session, counting, 8, SM_PAD_RIGHT, why, sizeof why));
    refused(sm_session_append(s.session, none, 0, why, sizeof why), "no valid token");
    refused(sm_session_append(s.session, bad, 2, why, sizeof why), "token 1 is 8");
    worked(sm_session_append(s.session, counting, 3, why, sizeof why)); /* 8 + 5 <= 16 */
    worked(sm_session_append(s.session, counting, 3, why, sizeof why)); /* P + Q = 11 + 5 = K */
    refused(sm_session_append(s.session, counting, 1, why, sizeof why),
            "the bucket of 5 rows for the next 1 tokens does not fit after 14: it needs 19 columns of max_seq 16, and "
            "the policy is to refuse");
    assert_int_equal(sm_session_past(s.session), 14);
    worked(sm_session_truncate(s.session, 12, why, sizeof why));
    refused(sm_session_append(s.session, counting, 3, why, sizeof why),
            "does not fit after 12: it needs 17"); /* K + 1 */
    refused(sm_session_truncate(s.session, 13, why, sizeof why), "the cache holds 12");
    close_session(&s);
    o.when_full = SM_WHEN_FULL_SMALLER;
    s = open_echo(&m, &o);
    fill_to(s.session, 13);
    refused(sm_session_append(s.session, counting, 3, why, sizeof why),
            "3 tokens after 13 do not fit the 15 slots of max_seq 16"); /* P + T = K */
    worked(sm_session_append(s.session, counting, 2, why, sizeof why)); /* K - 1, by decodes */
    size_t count;
    const struct sm_chunk *c = sm_session_chunks(s.session, &count);
    assert_true(count == 2 && c[0].phase == SM_PHASE_DECODE && c[0].policy && c[1].past == 14);
    refused(sm_session_append(s.session, counting, 1, why, sizeof why), "the cache has no room");
    refused(sm_session_decode(s.session, 1, why, sizeof why), "the cache is full: 15 tokens"); /* P = K - 1 */
    worked(sm_session_truncate(s.session, 14, why, sizeof why));
    worked(sm_session_decode(s.session, 1, why, sizeof why)); /* P = K - 2 */
    close_session(&s);
    o.append_buckets[0] = 17;
    const struct sm_choice choice = {0};
    struct sm_weights *weights;
    struct sm_session *session;
    worked(sm_weights_create(&weights, &m.model, "float", &choice, why, sizeof why));
    refused(sm_session_create(&session, weights, &o, why, sizeof why), "17 rows; they must be 1 to max_seq, 16");
    o.append_bucket_count = SM_MAX_BUCKETS + 1;
    refused(sm_session_create(&session, weights, &o, why, sizeof why), "more than 16 buckets");
    sm_weights_destroy(weights);
}

/* A prompt longer than the largest prefill bucket goes on as an append, in one list of calls. */
static void test_long_prompt(void **state)
{
    (void)state;
    struct echo_model m;
    size_t count;
    const struct sm_session_options o = {.max_seq = 16,
                                         .prefill_buckets = {4, 2},
                                         .prefill_bucket_count = 2,
                                         .append_buckets = {3},
                                         .append_bucket_count = 1};
    struct session s = open_echo(&m, &o);
    worked(sm_session_prefill(s.session, counting, 8, SM_PAD_LEFT, why, sizeof why));
    const struct sm_chunk *c = sm_session_chunks(s.session, &count);
    assert_int_equal(count, 3);
    assert_true(c[0].phase == SM_PHASE_PREFILL && c[0].rows == 4 && c[0].count == 4);
    assert_true(c[1].phase == SM_PHASE_APPEND && c[1].rows == 3 && c[1].count == 3 && c[1].past == 4);
    assert_true(c[2].phase == SM_PHASE_APPEND && c[2].rows == 3 && c[2].count == 1 && c[2].past == 7);
    worked(sm_session_prefill(s.session, counting, 2, SM_PAD_LEFT, why, sizeof why));
    c = sm_session_chunks(s.session, &count);
    assert_true(count == 1 && c[0].rows == 2);
    assert_true(sm_session_bucket_plan(s.session, SM_PHASE_PREFILL, 2) == sm_session_plan(s.session, SM_PHASE_PREFILL));
    assert_null(sm_session_bucket_plan(s.session, SM_PHASE_PREFILL, 3));
    assert_int_equal(sm_session_buckets(s.session, SM_PHASE_PREFILL)->rows[0], 2);
    close_session(&s);
}

/* Every row of every call, padded ones among them, whatever the padding. */
static void test_masked_rows(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct random_model m;
        random_model_create(&m, seed, SM_FORMAT_F32);
        const struct sm_session_options o = {
            .max_seq = 24, .all_rows = true, .append_buckets = {8}, .append_bucket_count = 1};
        struct session s = open_session(&m.model, &o, SM_SCALE_IN_SCORES);
        worked(sm_session_prefill(s.session, counting, 5, seed % 2 ? SM_PAD_LEFT : SM_PAD_RIGHT, why, sizeof why));
        worked(sm_session_append(s.session, counting, 3, why, sizeof why));
        for (int phase = SM_PHASE_PREFILL; phase <= SM_PHASE_APPEND; phase++) {
            const struct sm_plan *plan = sm_session_plan(s.session, (enum sm_phase)phase);
            const size_t rows = sm_plan_options_of(plan)->rows;
            for (size_t i = 0; i < rows * m.model.shape.vocab; i++) assert_true(isfinite(sm_plan_logits(plan)[i]));
        }
        close_session(&s);
        random_model_destroy(&m);
    }
}

/* Calls that the caller lists: they are the ones made, and what they say is what a prefill of all tokens says. */
static void test_take(void **state)
{
    (void)state;
    struct echo_model m;
    float wanted[ECHO];
    size_t count;
    const struct sm_session_options o = {.max_seq = 12,
                                         .prefill_buckets = {4, 12},
                                         .prefill_bucket_count = 2,
                                         .append_buckets = {2, 5},
                                         .append_bucket_count = 2};
    const struct sm_chunk calls[] = {{.phase = SM_PHASE_PREFILL, .rows = 4, .count = 3},
                                     {.phase = SM_PHASE_APPEND, .rows = 2, .count = 2},
                                     {.phase = SM_PHASE_DECODE, .rows = 1, .count = 1},
                                     {.phase = SM_PHASE_APPEND, .rows = 5, .count = 1}};
    struct session s = open_echo(&m, &o);
    refused(sm_session_take(s.session, counting, calls + 1, 1, why, sizeof why), "prefill comes first");
    worked(sm_session_prefill(s.session, counting, 7, SM_PAD_RIGHT, why, sizeof why));
    memcpy(wanted, sm_session_logits(s.session), sizeof wanted);
    for (int again = 0; again < 2; again++) { /* it starts over */
        worked(sm_session_take(s.session, counting, calls, 4, why, sizeof why));
        const struct sm_chunk *made = sm_session_chunks(s.session, &count);
        assert_int_equal(count, 4);
        for (size_t i = 0, past = 0; i < 4; past += calls[i++].count) {
            assert_true(made[i].phase == calls[i].phase && made[i].rows == calls[i].rows);
            assert_true(made[i].count == calls[i].count && made[i].past == past);
        }
        for (size_t i = 0; i < ECHO; i++) assert_true(fabsf(sm_session_logits(s.session)[i] - wanted[i]) < 1e-4f);
    }
    assert_int_equal(sm_session_past(s.session), 7);
    struct sm_chunk bad[2] = {calls[3], calls[3]};
    refused(sm_session_take(s.session, counting, bad, 0, why, sizeof why), "there is no call");
    refused(sm_session_take(s.session, counting, bad, 2, why, sizeof why),
            "call 2, append of 5 rows with 1 tokens after 8: it does not fit"); /* P + Q = 13 */
    bad[0].count = 6;
    refused(sm_session_take(s.session, counting, bad, 1, why, sizeof why), "cannot hold its tokens");
    bad[0].rows = 3;
    refused(sm_session_take(s.session, counting, bad, 1, why, sizeof why), "there is no such bucket");
    bad[0] = calls[2];
    bad[1] = calls[0];
    refused(sm_session_take(s.session, counting, bad, 2, why, sizeof why), "only be the first");
    bad[0] = (struct sm_chunk){.phase = SM_PHASE_PREFILL, .rows = 12, .count = 12};
    refused(sm_session_take(s.session, counting, bad, 1, why, sizeof why), "does not fit max_seq");
    assert_int_equal(sm_session_past(s.session), 7);
    close_session(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profiles),     cmocka_unit_test(test_cache_geometry), cmocka_unit_test(test_decode_masks),
        cmocka_unit_test(test_append_masks), cmocka_unit_test(test_key_mask),       cmocka_unit_test(test_consumer),
        cmocka_unit_test(test_softcap),      cmocka_unit_test(test_limits),         cmocka_unit_test(test_take),
        cmocka_unit_test(test_long_prompt),  cmocka_unit_test(test_masked_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
