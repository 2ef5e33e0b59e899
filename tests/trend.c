/* Trends: series through renamed kernels and changed anchors, their changes, what confirms them, and the JSON. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <sqlite3.h>

#include "history_fixture.h"
#include "random.h"
#include "trend.h"

enum { BUILDS = 30, STEP_AT = 20, REBASED_AT = 10, RENAMED_AT = 25 };

static struct sm_random drawn = {5};

/* A session of eight launches of one kernel about an effect. */
static void keep(struct sm_history *h, const char *purpose, const char *a, const char *b, const char *kernel,
                 double effect)
{
    const struct sm_rounds_options o = {
        .tolerance = 0.01, .floor = 0.0025, .alpha = 0.05, .discovery = 1, .threads = 1};
    struct sm_arm arm[2] = {{.variant = ""}, {.variant = ""}};
    struct sm_comparison c = {.family = "f"};
    struct sm_pairing p = {&c, 1};
    struct sm_rounds_result r = {.compared = 1};
    char why[256];
    for (int i = 0; i < 2; i++) {
        snprintf(arm[i].spec, sizeof arm[i].spec, "spec-%s", i ? b : a);
        snprintf(arm[i].identity, sizeof arm[i].identity, "%s", i ? b : a);
    }
    snprintf(c.id, sizeof c.id, "%s", kernel);
    assert_int_equal(sm_history_begin(h, purpose, arm, &o, why, sizeof why), 0);
    while (c.launches < 8) {
        c.d[c.launches] = effect + 0.002 * (double)sm_random_normal(&drawn);
        c.ns[0][c.launches] = c.ns[1][c.launches] = 100;
        c.launches++;
        assert_true(sm_history_launch(h, &c));
    }
    sm_rounds_look(&c, &o, 1);
    sm_rounds_decide(&p, &o, &r);
    const struct sm_report report = {.command = purpose, .arm = arm, .pairing = &p, .options = &o, .result = &r};
    if (sm_history_end(h, &report, why, sizeof why)) fail_msg("%s", why);
}

static void build_name(char *name, int i)
{
    snprintf(name, 24, "build%02d", i);
}

/* +2 % at STEP_AT, under a new name from RENAMED_AT on, and against another anchor from REBASED_AT on: build09, which
 * is itself 0.5 % slower than the first. */
static struct sm_history *history_of_builds(void)
{
    fixture_remove_store(fixture_store);
    struct sm_history *h = fixture_open(fixture_store);
    for (int i = 0; i < BUILDS; i++) {
        char name[24];
        build_name(name, i);
        const double shared = i < STEP_AT ? 0 : 0.02, rebased = i < REBASED_AT ? 0.005 : 0;
        keep(h, "record", i < REBASED_AT ? "old" : "build09", name, i < RENAMED_AT ? "f/plain/n=4" : "f/renamed/n=4",
             shared + rebased);
        keep(h, "record", i < REBASED_AT ? "old" : "build09", name, "f/other/n=4", 0);
    }
    keep(h, "compare", "old", "build29", "f/plain/n=4", 0.5); /* not recorded: no point */
    return h;
}

static void read_trend(struct sm_trend *t, struct sm_history *h, const char *anchor, const char *glob)
{
    char why[256] = "";
    if (sm_trend_read(t, h, anchor, glob, log1p(0.0025), why, sizeof why)) fail_msg("%s", why);
}

/* The one that is large enough to be shown: an anchor's link shifts what comes after it by its own small error. */
static const struct sm_trend_change *the_change(const struct sm_trend *t, const struct sm_trend_series *s)
{
    const struct sm_trend_change *shown = NULL;
    for (size_t k = 0; k < s->change_count; k++) {
        if (fabs(s->changes[k].step) < t->least) continue;
        assert_null(shown);
        shown = &s->changes[k];
    }
    assert_non_null(shown);
    return shown;
}

static void series_follow_names_and_anchors(void **state)
{
    (void)state;
    char why[256];
    struct sm_trend t;
    struct sm_history *h = history_of_builds();
    read_trend(&t, h, "old", "f/plain");
    assert_int_equal(t.count, 1);
    assert_int_equal(t.series[0].count, RENAMED_AT); /* the chain holds without the alias, the name does not */
    sm_trend_free(&t);
    assert_int_equal(sm_history_alias(h, "f/plain", "f/renamed", why, sizeof why), 0);
    assert_int_equal(sm_history_alias(h, "f/renamed", "f/plain", why, sizeof why), -1); /* a circle */
    assert_int_equal(sm_history_alias(h, "f/plain", "g/plain", why, sizeof why), -1);
    assert_int_equal(sm_history_alias(h, "f/plain/n=4", "f/renamed", why, sizeof why), -1);
    read_trend(&t, h, "spec-old", NULL); /* as it was given to record */
    assert_string_equal(t.anchor, "old");
    assert_int_equal(t.count, 2);
    const struct sm_trend_series *s = &t.series[1];
    assert_string_equal(s->kernel, "f/renamed/n=4");
    assert_int_equal(s->count, BUILDS);
    assert_int_equal(the_change(&t, s)->first, STEP_AT);
    assert_true(fabs(the_change(&t, s)->step - 0.02) < 0.003);
    assert_true(fabs(sm_trend_level(s, 0) - 0.005) < 0.002); /* not 0: chained to the first anchor */
    assert_true(s->points[15].high - s->points[15].low > 1.2 * (s->points[5].high - s->points[5].low));
    for (size_t k = 0; k < t.series[0].change_count; k++) assert_true(fabs(t.series[0].changes[k].step) < t.least);
    sm_trend_free(&t);
    read_trend(&t, h, "build09", "f/renamed"); /* the other way round */
    assert_int_equal(t.series[0].count, BUILDS);
    assert_true(fabs(sm_trend_level(&t.series[0], 0)) < 0.002);
    sm_trend_free(&t);
    assert_int_equal(sm_trend_read(&t, h, "nosuch", NULL, 0, why, sizeof why), -1);
    assert_non_null(strstr(why, "nothing was recorded against nosuch"));
    sm_trend_free(&t);
    sm_history_close(h);
}

static enum sm_trend_state state_now(struct sm_history *h)
{
    struct sm_trend t;
    read_trend(&t, h, "old", "f/renamed");
    const enum sm_trend_state now = the_change(&t, &t.series[0])->state;
    sm_trend_free(&t);
    return now;
}

static void comparisons_confirm_or_reject(void **state)
{
    (void)state;
    char why[256];
    struct sm_history *h = history_of_builds();
    assert_int_equal(sm_history_alias(h, "f/plain", "f/renamed", why, sizeof why), 0);
    assert_int_equal(state_now(h), SM_TREND_CANDIDATE);
    keep(h, "confirm", "build17", "build22", "f/renamed/n=4", 0);
    assert_int_equal(state_now(h), SM_TREND_REJECTED);
    keep(h, "confirm", "build17", "build22", "f/renamed/n=4", -0.02);
    assert_int_equal(state_now(h), SM_TREND_REJECTED);
    keep(h, "confirm", "build18", "build19", "f/renamed/n=4", 0.02); /* of another pair of builds */
    keep(h, "confirm", "build17", "build22", "f/other/n=4", 0.02);   /* of another kernel */
    assert_int_equal(state_now(h), SM_TREND_REJECTED);
    keep(h, "confirm", "build17", "build22", "f/renamed/n=4", 0.02);
    assert_int_equal(state_now(h), SM_TREND_CONFIRMED);
    assert_int_equal(sm_trend_judge(0.01, "inconclusive"), SM_TREND_UNDECIDED);
    assert_int_equal(sm_trend_judge(-0.01, "faster<delta"), SM_TREND_CONFIRMED);
    assert_int_equal(sm_trend_judge(0.01, "layout"), SM_TREND_REJECTED);
    sm_history_close(h);
}

/* Points of a merged history that come from another kind of machine are a series of their own. */
static void machines_are_not_mixed(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes;
    struct sm_trend t;
    sqlite3 *db;
    sm_history_close(history_of_builds());
    assert_int_equal(sqlite3_open(fixture_store, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db,
                     "UPDATE session SET machine = '{\"cpu\":\"Another\"}' WHERE started >= 0 AND rowid % 4 < 2;"
                     "UPDATE session SET machine = 'no JSON' WHERE rowid = 1",
                     NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    struct sm_history *h = fixture_open(fixture_store);
    read_trend(&t, h, "old", "f/other");
    size_t points = 0, others = 0;
    for (size_t i = 0; i < t.count; i++) {
        points += t.series[i].count;
        others += !strcmp(t.series[i].machine, "Another");
        for (size_t k = 0; k < t.series[i].count; k++)
            assert_string_equal(t.series[i].points[k].machine, t.series[i].machine);
    }
    assert_true(t.count >= 2 && points > 0);
    assert_int_equal(others, 1);
    FILE *out = open_memstream(&text, &bytes);
    sm_trend_text(&t, false, out);
    fclose(out);
    assert_non_null(strstr(text, "f/other/n=4 on Another  "));
    free(text);
    sm_trend_free(&t);
    sm_history_close(h);
}

static double number_at(const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void the_json_holds_it_all(void **state)
{
    (void)state;
    char why[256], *text = NULL;
    size_t bytes;
    struct sm_trend t;
    struct sm_history *h = history_of_builds();
    assert_int_equal(sm_history_alias(h, "f/plain", "f/renamed", why, sizeof why), 0);
    keep(h, "confirm", "build17", "build22", "f/renamed/n=4", 0.02);
    read_trend(&t, h, "old", NULL);
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(sm_trend_json(&t, h, NULL, out, why, sizeof why), 0);
    fclose(out);
    json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(j);
    assert_string_equal(json_string_value(json_object_get(j, "schema")), "slotmark-trend");
    assert_int_equal(json_array_size(json_object_get(j, "series")), 2);
    assert_int_equal(json_array_size(json_object_get(j, "imported")), 0);
    const json_t *s = json_array_get(json_object_get(j, "series"), 1), *points = json_object_get(s, "points"),
                 *changes = json_object_get(s, "changes"), *change = NULL;
    for (size_t k = 0; k < json_array_size(changes); k++)
        if (number_at(json_array_get(changes, k), "step_percent") > 0.25) change = json_array_get(changes, k);
    assert_int_equal(json_array_size(points), BUILDS);
    assert_int_equal(json_array_size(json_object_get(s, "levels")), json_array_size(changes) + 1);
    const json_t *last = json_array_get(points, BUILDS - 1);
    assert_string_equal(json_string_value(json_object_get(last, "build")), "build29");
    assert_true(number_at(last, "low_percent") < number_at(last, "change_percent"));
    assert_true(number_at(last, "high_percent") > number_at(last, "change_percent"));
    assert_true(fabs(number_at(s, "now_percent") - 2.5) < 0.3);
    assert_int_equal(number_at(change, "first"), STEP_AT);
    assert_string_equal(json_string_value(json_object_get(change, "state")), "confirmed");
    assert_true(number_at(json_object_get(change, "confirmation"), "low_percent") > 0.25);
    json_decref(j);
    free(text);
    text = NULL;
    out = open_memstream(&text, &bytes); /* and as text */
    sm_trend_text(&t, true, out);
    fclose(out);
    assert_non_null(strstr(text, "confirmed: +"));
    assert_non_null(strstr(text, "slotmark bisect build17 build22 --bench 'f/renamed'"));
    assert_null(strstr(text, "f/other"));
    free(text);
    sm_trend_free(&t);
    sm_history_close(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(series_follow_names_and_anchors),
        cmocka_unit_test(comparisons_confirm_or_reject),
        cmocka_unit_test(machines_are_not_mixed),
        cmocka_unit_test(the_json_holds_it_all),
    };
    return cmocka_run_group_tests(tests, fixture_make, fixture_remove);
}
