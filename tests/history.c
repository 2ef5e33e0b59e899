/* A history: what is stored comes back, verdicts follow from their launches, files merge and forget. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "history_fixture.h"

static void change(const char *path, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void stored_launches_give_the_stored_verdicts(void **state)
{
    (void)state;
    struct sm_history *h = fixture_open(fixture_store);
    char why[256], session[16];
    assert_int_equal(fixture_session(h, "compare", 1, 0, why, sizeof why), 0);
    snprintf(session, sizeof session, "%s", sm_history_session(h));
    assert_int_equal(sm_history_check(h, session, why, sizeof why), 0);
    sm_history_close(h);
    h = fixture_open(fixture_store); /* and after it was closed */
    assert_int_equal(sm_history_check(h, session, why, sizeof why), 0);
    assert_int_equal(sm_history_check(h, "nosuch", why, sizeof why), -1);
    assert_non_null(strstr(why, "no finished session"));
    assert_int_equal(sm_history_show(h, "nosuch", stderr, why, sizeof why), -1);
    sm_history_close(h);
    change(fixture_store, "UPDATE comparison SET verdict = 'same' WHERE ordinal = 3");
    h = fixture_open(fixture_store); /* a verdict that was tampered with is noticed */
    assert_int_equal(sm_history_check(h, session, why, sizeof why), 1);
    sm_history_close(h);
}

struct points {
    size_t n;
    double last;
};

static bool count_points(void *state, const struct sm_history_point *point)
{
    struct points *p = state;
    if (strcmp(point->kernel, "family/variant/rows=0")) return true;
    assert_string_equal(point->anchor, "aaaaaaa");
    assert_string_equal(point->build, "bbbbbbb");
    p->n++;
    p->last = point->effect;
    return true;
}

static void histories_merge_and_forget(void **state)
{
    (void)state;
    struct sm_history *a = fixture_open(fixture_store), *b = fixture_open(fixture_other);
    char why[256];
    struct points p = {0};
    assert_int_equal(fixture_session(b, "record", 2, 0, why, sizeof why), 0);
    assert_int_equal(fixture_session(b, "record", 3, 0.02, why, sizeof why), 0);
    assert_int_equal(sm_history_merge(a, fixture_other, why, sizeof why), 2);
    assert_int_equal(sm_history_merge(a, fixture_other, why, sizeof why), 0);
    assert_int_equal(sm_history_points(a, count_points, &p, why, sizeof why), 0);
    assert_int_equal(p.n, 2);
    assert_true(fabs(p.last - 0.02) < 0.002);
    assert_int_equal(sm_history_prune(a, 1, why, sizeof why), 0);
    assert_int_equal(sm_history_forget(a, sm_history_session(b), why, sizeof why) > 0, 1);
    assert_int_equal(sm_history_forget(a, sm_history_session(b), why, sizeof why), -1);
    assert_non_null(strstr(why, "no such session"));
    assert_int_equal(sm_history_merge(a, fixture_other, why, sizeof why), 1);
    assert_int_equal(sm_history_prune(b, -1, why, sizeof why), 2);
    assert_int_equal(sm_history_merge(a, "/tmp/there/is/no/such.sqlite", why, sizeof why), -1);
    assert_non_null(strstr(why, "no such file"));
    sm_history_close(a);
    sm_history_close(b);
}

/* A copy that was taken while a session went on is completed by the whole one. */
static void a_merge_completes_what_was_copied_half_way(void **state)
{
    (void)state;
    char why[256], session[16];
    fixture_remove_store(fixture_store);
    fixture_remove_store(fixture_other);
    struct sm_history *whole = fixture_open(fixture_other), *half = fixture_open(fixture_store);
    assert_int_equal(fixture_session(whole, "compare", 4, 0, why, sizeof why), 0);
    snprintf(session, sizeof session, "%s", sm_history_session(whole));
    assert_int_equal(sm_history_merge(half, fixture_other, why, sizeof why), 1);
    change(fixture_store, "DELETE FROM launch WHERE n > 4; UPDATE session SET ended = NULL, verdict = NULL;"
                          "UPDATE comparison SET verdict = NULL; DELETE FROM comparison WHERE ordinal > 8");
    assert_int_equal(sm_history_check(half, session, why, sizeof why), -1);
    assert_int_equal(sm_history_merge(half, fixture_other, why, sizeof why), 1);
    assert_int_equal(sm_history_check(half, session, why, sizeof why), 0);
    assert_int_equal(sm_history_merge(whole, fixture_store, why, sizeof why), 0);
    sm_history_close(half);
    sm_history_close(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_launches_give_the_stored_verdicts),
        cmocka_unit_test(histories_merge_and_forget),
        cmocka_unit_test(a_merge_completes_what_was_copied_half_way),
    };
    return cmocka_run_group_tests(tests, fixture_make, fixture_remove);
}
