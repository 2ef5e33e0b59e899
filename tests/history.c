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
#include <jansson.h>
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

/* Where every launch was placed anew nothing was seen as built, and nothing is a matter of placement. */
static void what_was_placed_anew_from_the_start_is_judged_by_that(void **state)
{
    (void)state;
    const struct sm_rounds_options o = {.tolerance = 0.01, .floor = 0.0025, .alpha = 0.05, .discovery = 1};
    static const double spread[] = {0.0005, 0.1};
    static const enum sm_verdict expected[] = {SM_VERDICT_SAME, SM_VERDICT_INCONCLUSIVE};
    struct sm_history *h = fixture_open(fixture_store);
    for (int i = 0; i < 2; i++) {
        struct sm_comparison c = {.id = "f/v/n=1", .family = "f", .randomised = true};
        struct sm_pairing p = {&c, 1};
        struct sm_rounds_result r = {.compared = 1};
        char why[256];
        assert_int_equal(sm_history_begin(h, "confirm", fixture_arms, &o, why, sizeof why), 0);
        while (c.launches < 8) {
            c.d[c.launches] = spread[i] * ((double)c.launches - 3.5);
            c.launches++;
            assert_true(sm_history_launch(h, &c));
        }
        sm_rounds_look(&c, &o, 1);
        sm_rounds_decide(&p, &o, &r);
        assert_int_equal(c.verdict, expected[i]);
        const struct sm_report report = {
            .command = "confirm", .arm = fixture_arms, .pairing = &p, .options = &o, .result = &r};
        assert_int_equal(sm_history_end(h, &report, why, sizeof why), 0);
        assert_int_equal(sm_history_check(h, sm_history_session(h), why, sizeof why), 0);
    }
    sm_history_close(h);
}

static void a_verdict_is_explained(void **state)
{
    (void)state;
    char why[256], *text = NULL;
    size_t bytes;
    struct sm_history *h = fixture_open(fixture_store);
    assert_int_equal(fixture_session(h, "compare", 1, 0, why, sizeof why), 0);
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(sm_history_explain(h, sm_history_session(h), NULL, out, why, sizeof why), 0);
    fclose(out);
    assert_non_null(strstr(text, "1 copies of the base were compared with itself"));
    assert_non_null(strstr(text, "11 kernels were compared: a change is claimed only"));
    const char *slower = strstr(text, "family/variant/rows=3\n"), *layout = strstr(text, "family/variant/rows=5\n");
    assert_true(slower && layout);
    const char *anew = strstr(slower, "both builds linked anew"), *hence = strstr(slower, "  Hence ");
    assert_true(anew && hence && anew < hence);
    assert_int_equal(strncmp(hence, "  Hence slower: the whole interval lies beyond", 46), 0);
    assert_non_null(strstr(slower, "as built:    +"));
    assert_int_equal(strncmp(strstr(layout, "  Hence "), "  Hence layout: what was seen as built (+5.", 43), 0);
    assert_null(strstr(text, "rows=11\n")); /* the control is not a kernel */
    free(text);
    out = fopen("/dev/null", "w");
    assert_int_equal(sm_history_explain(h, sm_history_session(h), "nosuch/*", out, why, sizeof why), -1);
    assert_non_null(strstr(why, "has no kernel nosuch"));
    assert_int_equal(sm_history_explain(h, "nosuch", NULL, out, why, sizeof why), -1);
    fclose(out);
    sm_history_close(h);
}

/* The rows of a form as text. */
static char *exported(struct sm_history *h, int form, bool launches)
{
    char why[256], *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(sm_history_export(h, form, launches, out, why, sizeof why), 0);
    fclose(out);
    return text;
}

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++) n += *text == '\n';
    return n;
}

static void rows_are_exported(void **state)
{
    (void)state;
    char why[256], format[24];
    static const char figure[] = "{\"benchmarks\":[{\"name\":\"a,\\\"b'c\",\"real_time\":5}]}";
    fixture_remove_store(fixture_store);
    struct sm_history *h = fixture_open(fixture_store);
    assert_int_equal(fixture_session(h, "compare", 1, 0, why, sizeof why), 0);
    fixture_write(figure, strlen(figure));
    assert_int_equal(sm_history_import(h, fixture_file, NULL, format, sizeof format, why, sizeof why), 1);
    char *csv = exported(h, 0, false), *json = exported(h, 1, false), *lines = exported(h, 2, false),
         *sql = exported(h, 3, false), *launches = exported(h, 2, true), *empty;
    assert_int_equal(count_lines(csv), 1 + FIXTURE_KERNELS + 1);
    assert_non_null(strstr(csv, "\"a,\"\"b'c\""));
    json_t *all = json_loads(json, 0, NULL), *slower = NULL;
    assert_int_equal(json_array_size(all), FIXTURE_KERNELS + 1);
    for (size_t i = 0; i < json_array_size(all); i++) {
        json_t *row = json_array_get(all, i);
        const char *kernel = json_string_value(json_object_get(row, "kernel"));
        if (!strcmp(kernel, "family/variant/rows=3")) slower = row;
        if (!strcmp(kernel, "a,\"b'c")) assert_true(json_is_null(json_object_get(row, "verdict")));
    }
    assert_string_equal(json_string_value(json_object_get(slower, "verdict")), "slower");
    assert_true(fabs(json_number_value(json_object_get(slower, "change_percent")) - 100 * expm1(0.05)) < 0.3);
    json_decref(all);
    assert_int_equal(count_lines(lines), FIXTURE_KERNELS + 1);
    assert_true(count_lines(launches) >= 8 * FIXTURE_KERNELS);
    sqlite3 *db; /* the SQL makes the same rows */
    sqlite3_stmt *s;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT count(*), sum(kernel = 'a,\"b''c') FROM slotmark_history", -1, &s, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(s, 0), FIXTURE_KERNELS + 1);
    assert_int_equal(sqlite3_column_int(s, 1), 1);
    sqlite3_finalize(s);
    sqlite3_close(db);
    assert_int_equal(sm_history_prune(h, -1, why, sizeof why), 1);
    assert_int_equal(sm_history_forget(h, "nosuch", why, sizeof why), -1);
    empty = exported(h, 1, true);
    assert_string_equal(empty, "[]\n");
    for (char **text = (char *[]){csv, json, lines, sql, launches, empty, NULL}; *text; text++) free(*text);
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
        cmocka_unit_test(what_was_placed_anew_from_the_start_is_judged_by_that),
        cmocka_unit_test(a_verdict_is_explained),
        cmocka_unit_test(rows_are_exported),
        cmocka_unit_test(histories_merge_and_forget),
        cmocka_unit_test(a_merge_completes_what_was_copied_half_way),
    };
    return cmocka_run_group_tests(tests, fixture_make, fixture_remove);
}
