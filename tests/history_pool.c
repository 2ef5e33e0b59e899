/* A gate that is run again goes on from its launches: it gives the verdict that it gave, and is not drawn anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "copies.h"
#include "history_fixture.h"

static void change(const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(fixture_store, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* Begins a session of the fixture's kernels, takes over what there is, and ends it. Returns how many launches. */
static long begin_again(const char *purpose, const struct sm_arm arm[2], struct sm_comparison *list,
                        char taken_from[13])
{
    struct sm_history *h = fixture_open(fixture_store);
    const struct sm_rounds_options o = {
        .tolerance = 0.01, .floor = 0.0025, .alpha = 0.05, .discovery = 0.05, .place = sm_copies_place};
    struct sm_pairing p = {list, FIXTURE_KERNELS - 1};
    struct sm_rounds_result r = {.compared = FIXTURE_KERNELS - 1};
    char why[256], session[16];
    memset(list, 0, p.count * sizeof *list);
    for (size_t i = 0; i < p.count; i++) {
        snprintf(list[i].id, sizeof list[i].id, "family/variant/rows=%zu", i);
        snprintf(list[i].family, sizeof list[i].family, "family");
    }
    assert_int_equal(sm_history_begin(h, purpose, arm, &o, why, sizeof why), 0);
    const long taken = sm_history_pool(h, arm, &o, &p, taken_from);
    if (taken) {
        sm_rounds_decide(&p, &o, &r);
        const struct sm_report report = {.command = purpose, .arm = arm, .pairing = &p, .options = &o, .result = &r};
        assert_int_equal(sm_history_end(h, &report, why, sizeof why), 0);
        snprintf(session, sizeof session, "%s", sm_history_session(h));
        assert_int_equal(sm_history_check(h, session, why, sizeof why), 0); /* its own launches give its verdicts */
    }
    sm_history_close(h);
    return taken;
}

static void a_gate_run_again_gives_the_same_verdicts(void **state)
{
    (void)state;
    struct sm_comparison list[FIXTURE_KERNELS];
    char why[256], first[13], from[13];
    struct sm_history *h = fixture_open(fixture_store);
    assert_int_equal(fixture_session(h, "gate", 7, 0.004, why, sizeof why), 0);
    snprintf(first, sizeof first, "%s", sm_history_session(h));
    sm_history_close(h);
    for (int again = 0; again < 2; again++) { /* the third takes the second's, which hold the first's */
        assert_true(begin_again("gate", fixture_arms, list, from) >= 8 * (FIXTURE_KERNELS - 1));
        if (!again) assert_string_equal(from, first);
        for (size_t i = 0; i < FIXTURE_KERNELS - 1; i++) assert_int_not_equal(list[i].verdict, SM_VERDICT_OPEN);
        assert_int_equal(list[3].verdict, SM_VERDICT_SLOWER);
        assert_int_equal(list[5].verdict, SM_VERDICT_LAYOUT);
        assert_true(list[5].randomised && list[5].as_built_launches >= 8);
    }
}

static void nothing_else_is_taken(void **state)
{
    (void)state;
    struct sm_comparison list[FIXTURE_KERNELS];
    char why[256], from[13];
    const struct sm_arm other[2] = {{.spec = "a", .identity = "aaaaaaa"}, {.spec = "c", .identity = "ccccccc"}};
    fixture_remove_store(fixture_store);
    struct sm_history *h = fixture_open(fixture_store);
    assert_int_equal(fixture_session(h, "compare", 7, 0, why, sizeof why), 0); /* no gate */
    sm_history_close(h);
    assert_int_equal(begin_again("gate", fixture_arms, list, from), 0);
    h = fixture_open(fixture_store);
    assert_int_equal(fixture_session(h, "gate", 8, 0, why, sizeof why), 0);
    sm_history_close(h);
    assert_int_equal(begin_again("gate", other, list, from), 0);                    /* other builds */
    assert_int_equal(begin_again("compare", fixture_arms, list, from), 0);          /* not asked by a gate */
    change("UPDATE session SET started = started - 90000 WHERE ended IS NOT NULL"); /* a day ago */
    assert_int_equal(begin_again("gate", fixture_arms, list, from), 0);
    change("UPDATE session SET started = started + 90000 WHERE ended IS NOT NULL");
    change("UPDATE session SET machine = json_set(machine, '$.cpu', 'another') WHERE ended IS NOT NULL");
    assert_int_equal(begin_again("gate", fixture_arms, list, from), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gate_run_again_gives_the_same_verdicts),
        cmocka_unit_test(nothing_else_is_taken),
    };
    return cmocka_run_group_tests(tests, fixture_make, fixture_remove);
}
