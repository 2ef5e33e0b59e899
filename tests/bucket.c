/* Which bucket takes the next tokens: a table of cases, the limits of the cache and of the window, and every turn of a
 * small cache under every policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bucket.h"

static char why[256];

static struct sm_buckets buckets_of(const size_t *rows, size_t count, size_t max_seq)
{
    struct sm_buckets b;
    if (sm_buckets_set(&b, rows, count, max_seq, why, sizeof why)) fail_msg("%s", why);
    return b;
}

enum { S = SM_WHEN_FULL_SMALLER, D = SM_WHEN_FULL_DECODE, R = SM_WHEN_FULL_REFUSE };

static void test_table(void **state)
{
    (void)state;
    static const size_t lists[][4] = {{8, 16, 32, 0}, {16, 0}, {1, 4, 16, 0}, {0}, {256, 0}};
    static const struct {
        size_t list, left, past, max_seq;
        int when_full;
        struct sm_bucket_choice want;
    } cases[] = {
        /* the smallest that holds the tokens */
        {0, 1, 20, 256, R, {8, 1, false, false}},
        {0, 8, 20, 256, R, {8, 8, false, false}},
        {0, 9, 20, 256, R, {16, 9, false, false}},
        {0, 32, 20, 256, R, {32, 32, false, false}},
        /* more than the largest: chunks of the largest */
        {0, 33, 20, 256, R, {32, 32, false, false}},
        {1, 41, 20, 256, R, {16, 16, false, false}},
        {1, 9, 52, 256, R, {16, 9, false, false}},
        /* P + Q = K is taken, K + 1 is not */
        {1, 10, 240, 256, R, {16, 10, false, false}},
        {1, 10, 241, 256, R, {0, 0, false, true}},
        {1, 10, 241, 256, D, {1, 1, true, true}},
        {1, 10, 241, 256, S, {1, 1, true, true}},
        {0, 10, 241, 256, S, {8, 8, false, true}},
        {0, 10, 241, 256, D, {1, 1, true, true}},
        {0, 2, 249, 256, R, {0, 0, false, true}},
        {0, 6, 248, 256, R, {8, 6, false, false}},
        /* 245 + 5 tokens would fit the cache, 245 + 16 columns do not */
        {1, 5, 245, 256, R, {0, 0, false, true}},
        {2, 5, 245, 256, S, {4, 4, false, true}},
        {2, 1, 249, 256, S, {1, 1, false, false}},
        {2, 3, 252, 256, S, {4, 3, false, false}},
        {2, 2, 253, 256, S, {1, 1, false, true}},
        {2, 2, 253, 256, D, {1, 1, true, true}},
        /* P + T = K - 1 is taken, K is not, whatever the policy */
        {2, 1, 254, 256, R, {1, 1, false, false}},
        {2, 2, 254, 256, S, {0, 0, false, false}},
        {2, 2, 254, 256, D, {0, 0, false, false}},
        {2, 1, 255, 256, S, {0, 0, false, false}},
        {3, 1, 254, 256, R, {1, 1, true, false}},  /* decode at K - 2 */
        {3, 1, 255, 256, R, {0, 0, false, false}}, /* and at K - 1 */
        {3, 5, 20, 256, R, {1, 1, true, false}},
        /* Q = K: an empty past only */
        {4, 255, 0, 256, R, {256, 255, false, false}},
        {4, 3, 1, 256, R, {0, 0, false, true}},
        {0, 0, 20, 256, S, {0, 0, false, false}},
        {0, 1, SIZE_MAX, 256, S, {0, 0, false, false}},
        {0, SIZE_MAX, 3, 256, S, {0, 0, false, false}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t count = 0;
        while (lists[cases[i].list][count]) count++;
        const struct sm_buckets b = buckets_of(lists[cases[i].list], count, 256);
        const struct sm_bucket_choice got =
            sm_bucket_choose(&b, cases[i].left, cases[i].past, cases[i].max_seq, (enum sm_when_full)cases[i].when_full);
        const struct sm_bucket_choice want = cases[i].want;
        if (got.rows != want.rows || got.count != want.count || got.decode != want.decode || got.policy != want.policy)
            fail_msg("case %zu: %zu rows for %zu tokens, decode %d, policy %d", i, got.rows, got.count, got.decode,
                     got.policy);
    }
}

static void test_lists(void **state)
{
    (void)state;
    const size_t rows[] = {32, 8, 32, 1, 8, 256}, sorted[] = {1, 8, 32, 256}, zero[] = {8, 0}, long_[] = {257};
    size_t many[SM_MAX_BUCKETS + 1];
    struct sm_buckets b = buckets_of(rows, 6, 256);
    assert_int_equal(b.count, 4);
    assert_memory_equal(b.rows, sorted, sizeof sorted);
    assert_int_equal(sm_buckets_set(&b, zero, 2, 256, why, sizeof why), -1);
    assert_non_null(strstr(why, "0 rows; they must be 1 to max_seq, 256"));
    assert_int_equal(sm_buckets_set(&b, long_, 1, 256, why, sizeof why), -1);
    assert_non_null(strstr(why, "257 rows"));
    assert_int_equal(b.count, 4); /* as it was */
    for (size_t i = 0; i <= SM_MAX_BUCKETS; i++) many[i] = 2 * (SM_MAX_BUCKETS + 1 - i);
    assert_int_equal(sm_buckets_set(&b, many, SM_MAX_BUCKETS + 1, 256, why, sizeof why), -1);
    assert_non_null(strstr(why, "more than 16"));
    many[3] = many[4];
    b = buckets_of(many, SM_MAX_BUCKETS + 1, 256);
    assert_int_equal(b.count, SM_MAX_BUCKETS);
    b = buckets_of(NULL, 0, 256);
    assert_int_equal(b.count, 0);
    assert_int_equal(sm_bucket_holding(&b, 3), 0);
    for (int i = 0; i < SM_WHEN_FULL_POLICIES; i++) {
        enum sm_when_full read;
        assert_int_equal(sm_when_full_named(sm_when_full_name((enum sm_when_full)i), &read), 0);
        assert_int_equal(read, i);
        assert_int_equal(sm_when_full_named("never", &read), -1);
    }
}

/* Every turn that fits a cache of 24 ends, with every token taken once and no call over the edge; only REFUSE refuses;
 * and a policy is named exactly where the bucket that should take the tokens does not fit. */
static void test_every_turn(void **state)
{
    (void)state;
    static const size_t all[] = {1, 2, 3, 5, 8, 13, 24};
    const size_t max_seq = 24;
    for (unsigned set = 0; set < 1u << 7; set++) {
        size_t rows[7], count = 0;
        for (size_t i = 0; i < 7; i++)
            if (set >> i & 1) rows[count++] = all[i];
        const struct sm_buckets b = buckets_of(rows, count, max_seq);
        for (int policy = 0; policy < SM_WHEN_FULL_POLICIES; policy++)
            for (size_t start = 0; start < max_seq - 1; start++)
                for (size_t turn = 1; start + turn <= max_seq - 1; turn++) {
                    size_t past = start, left = turn;
                    while (left) {
                        const struct sm_bucket_choice c =
                            sm_bucket_choose(&b, left, past, max_seq, (enum sm_when_full)policy);
                        const size_t wanted = sm_bucket_holding(&b, left);
                        assert_int_equal(c.policy, past + wanted > max_seq);
                        if (!c.rows) {
                            assert_int_equal(policy, SM_WHEN_FULL_REFUSE);
                            assert_true(past + wanted > max_seq);
                            break;
                        }
                        assert_true(c.count >= 1 && c.count <= left && c.count <= c.rows);
                        assert_true(past + c.rows <= max_seq && past + c.count <= max_seq - 1);
                        if (!c.decode) assert_true(sm_bucket_holding(&b, c.rows) == c.rows);
                        past += c.count;
                        left -= c.count;
                    }
                }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_lists),
                                       cmocka_unit_test(test_every_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
