/* Stores that were damaged or made to harm, each opened and asked everything: a sentence or an answer, and a good store
 * that takes them in stays good. 300 of them; `test_history_damaged all`: 6000. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "history_fixture.h"
#include "random.h"
#include "trend.h"

enum { WHOLE_MOST = 1 << 18 };

static int rounds = 225; /* of damaged bytes; a third as many of damaged rows */

static unsigned char whole[WHOLE_MOST], mutated[WHOLE_MOST];
static size_t whole_bytes;
static char session[13];
static FILE *nowhere;

/* Pages of 512 bytes, so that a byte that changes is likely one that matters. */
static void make_whole(void)
{
    static const char figure[] = "{\"benchmarks\":[{\"name\":\"a\",\"real_time\":5}]}";
    sqlite3 *db;
    char why[256], format[24];
    fixture_remove_store(fixture_store);
    assert_int_equal(sqlite3_open(fixture_store, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA page_size = 512; VACUUM", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    struct sm_history *h = fixture_open(fixture_store);
    for (uint64_t i = 0; i < 2; i++) assert_int_equal(fixture_session(h, "record", i, 0, why, sizeof why), 0);
    snprintf(session, sizeof session, "%s", sm_history_session(h));
    fixture_write(figure, strlen(figure));
    assert_int_equal(sm_history_import(h, fixture_file, "v1", format, sizeof format, why, sizeof why), 1);
    assert_int_equal(sm_history_alias(h, "family/old", "family/variant", why, sizeof why), 0);
    assert_int_equal(sm_history_set_anchor(h, NULL, "a", why, sizeof why), 0);
    sm_history_close(h);
    FILE *f = fopen(fixture_store, "rb");
    assert_non_null(f);
    whole_bytes = fread(whole, 1, sizeof whole, f);
    fclose(f);
    assert_true(whole_bytes > 10000 && whole_bytes < sizeof whole);
    nowhere = fopen("/dev/null", "w");
    assert_non_null(nowhere);
}

static void write_store(const unsigned char *bytes, size_t count)
{
    fixture_remove_store(fixture_other);
    FILE *f = fopen(fixture_other, "wb");
    assert_true(f && fwrite(bytes, 1, count, f) == count);
    fclose(f);
}

/* Everything that reads. False: it was refused when it was opened. */
static bool ask_everything(void)
{
    struct sm_history *h;
    struct sm_trend t = {0};
    struct sm_aliases aliases = {0};
    char why[512] = "", spec[96];
    if (sm_history_open(&h, fixture_other, why, sizeof why)) {
        assert_true(strlen(why) > 10);
        return false;
    }
    (void)sm_history_list(h, 50, nowhere, why, sizeof why);
    (void)sm_history_show(h, session, nowhere, why, sizeof why);
    (void)sm_history_check(h, session, why, sizeof why);
    (void)sm_history_explain(h, session, NULL, nowhere, why, sizeof why);
    for (int form = 0; form < 4; form++) (void)sm_history_export(h, form, form % 2, nowhere, why, sizeof why);
    if (!sm_trend_read(&t, h, "a", NULL, 0.001, why, sizeof why)) {
        sm_trend_text(&t, false, nowhere);
        (void)sm_trend_json(&t, h, NULL, nowhere, why, sizeof why);
    }
    sm_trend_free(&t);
    (void)sm_trend_imported(h, NULL, nowhere, why, sizeof why);
    (void)sm_history_anchor(h, NULL, spec, sizeof spec, why, sizeof why);
    (void)sm_history_names(h, "alias", nowhere, why, sizeof why);
    if (!sm_history_aliases(h, &aliases, why, sizeof why)) (void)sm_alias_now(&aliases, "family/old");
    sm_aliases_free(&aliases);
    sm_history_close(h);
    return true;
}

/* The good store takes in what it can of the damaged one, and its own session still checks. */
static void merge_into_good(struct sm_history *good)
{
    char why[512] = "";
    if (sm_history_merge(good, fixture_other, why, sizeof why) < 0) assert_true(strlen(why) > 10);
    assert_int_equal(sm_history_check(good, session, why, sizeof why), 0);
}

static struct sm_history *copy_of_good(void)
{
    write_store(whole, whole_bytes);
    fixture_remove_store(fixture_store);
    assert_int_equal(rename(fixture_other, fixture_store), 0);
    return fixture_open(fixture_store);
}

static void damaged_bytes(void **state)
{
    (void)state;
    struct sm_random random = {9};
    size_t refused = 0;
    make_whole();
    struct sm_history *good = copy_of_good();
    for (int i = 0; i < rounds; i++) {
        memcpy(mutated, whole, whole_bytes);
        size_t length = whole_bytes;
        if (i % 7 == 0) length = sm_random_below(&random, (uint32_t)whole_bytes);
        if (i % 7 == 1) { /* a page where another should be */
            const size_t pages = whole_bytes / 512, from = sm_random_below(&random, (uint32_t)pages),
                         to = 1 + sm_random_below(&random, (uint32_t)pages - 1);
            memmove(mutated + 512 * to, mutated + 512 * from, 512);
        }
        for (uint32_t k = 0; k < 1 + sm_random_below(&random, 20) && length; k++)
            mutated[sm_random_below(&random, (uint32_t)(i % 3 == 2 && length > 200 ? 200 : length))] =
                (unsigned char)sm_random_u64(&random);
        write_store(mutated, length);
        refused += !ask_everything();
        if (i % 50 == 0) merge_into_good(good);
    }
    sm_history_close(good);
    assert_true(refused > (size_t)rounds / 10 && refused < (size_t)rounds * 98 / 100);
}

/* A sound file with rows that make no sense: values of other kinds and sizes in any column. */
static void damaged_rows(void **state)
{
    (void)state;
    static const char *const columns[] = {"session SET started",
                                          "session SET ended",
                                          "session SET a_identity",
                                          "session SET seed",
                                          "session SET tolerance",
                                          "session SET floor",
                                          "session SET alpha",
                                          "session SET discovery",
                                          "session SET spending",
                                          "session SET compared",
                                          "session SET threads",
                                          "session SET verdict",
                                          "session SET machine",
                                          "comparison SET kernel",
                                          "comparison SET control",
                                          "comparison SET verdict",
                                          "comparison SET effect",
                                          "comparison SET low",
                                          "comparison SET high",
                                          "comparison SET reason",
                                          "launch SET d",
                                          "launch SET a_ns",
                                          "launch SET anew",
                                          "figure SET value",
                                          "figure SET name",
                                          "figure SET samples",
                                          "import SET started",
                                          "import SET build",
                                          "alias SET new",
                                          "anchor SET spec",
                                          "session SET purpose",
                                          "launch SET n = n +",
                                          "comparison SET ordinal = ordinal +",
                                          "launch SET ordinal = ordinal +"};
    static const char *const values[] = {"NULL",
                                         "-1",
                                         "0",
                                         "1e308",
                                         "9e999",
                                         "-9e999",
                                         "'x'",
                                         "''",
                                         "x'00ff00'",
                                         "9223372036854775807",
                                         "1e-320",
                                         "printf('%.5000c', 'y')",
                                         "'family/old'",
                                         "'%s%n/%'"};
    struct sm_random random = {10};
    size_t changed = 0;
    make_whole();
    struct sm_history *good = copy_of_good();
    for (int i = 0; i < rounds / 3; i++) {
        sqlite3 *db;
        write_store(whole, whole_bytes);
        assert_int_equal(sqlite3_open(fixture_other, &db), SQLITE_OK);
        sqlite3_exec(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", NULL, NULL, NULL);
        for (uint32_t k = 0; k < 1 + sm_random_below(&random, 3); k++) {
            char sql[200];
            const char *column = columns[sm_random_below(&random, sizeof columns / sizeof *columns)];
            snprintf(sql, sizeof sql, "UPDATE %s %s %s WHERE abs(random()) %% 3 = 0", column,
                     strchr(column, '=') ? "" : "=", values[sm_random_below(&random, sizeof values / sizeof *values)]);
            changed += sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK && sqlite3_changes(db) > 0;
        }
        sqlite3_close(db);
        assert_true(ask_everything());
        if (i % 50 == 0) merge_into_good(good);
    }
    sm_history_close(good);
    assert_true(changed > (size_t)rounds / 6);
}

/* A file that would act when it is written to or read. */
static void a_file_runs_nothing_of_its_own(void **state)
{
    (void)state;
    sqlite3 *db;
    char why[256];
    make_whole();
    write_store(whole, whole_bytes);
    assert_int_equal(sqlite3_open(fixture_other, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db,
                     "ALTER TABLE alias RENAME TO hidden; CREATE VIEW alias AS SELECT load_extension('x') AS "
                     "old, 'b' AS new, 0 AS since;"
                     "PRAGMA journal_mode = DELETE",
                     NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    struct sm_history *h = fixture_open(fixture_other);
    struct sm_aliases aliases;
    assert_int_equal(sm_history_aliases(h, &aliases, why, sizeof why), -1);
    assert_non_null(strstr(why, "unsafe use"));
    sm_history_close(h);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "all")) rounds = 4500;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_bytes),
        cmocka_unit_test(damaged_rows),
        cmocka_unit_test(a_file_runs_nothing_of_its_own),
    };
    return cmocka_run_group_tests(tests, fixture_make, fixture_remove);
}
