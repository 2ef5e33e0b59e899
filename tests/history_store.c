/* The file of a history under what happens to files: locks, kills, many processes, old versions, damage. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "history_fixture.h"
#include "random.h"

static long count_of(const char *path, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *s;
    long n = -1;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (!sqlite3_prepare_v2(db, sql, -1, &s, NULL) && sqlite3_step(s) == SQLITE_ROW)
        n = (long)sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    sqlite3_close(db);
    return n;
}

/* While another process holds the lock launches wait; they are all there when it lets go, and counted when not. */
static void launches_wait_for_a_lock(void **state)
{
    (void)state;
    const struct sm_rounds_options o = {0};
    struct sm_comparison c = {.id = "k", .family = "f"};
    struct sm_pairing p = {&c, 1};
    struct sm_rounds_result r = {0};
    const struct sm_report report = {
        .command = "compare", .arm = fixture_arms, .pairing = &p, .options = &o, .result = &r};
    char why[256];
    sqlite3 *holder;
    struct sm_history *h = fixture_open(fixture_store);
    sm_history_patience(h, 20);
    assert_int_equal(sqlite3_open(fixture_store, &holder), SQLITE_OK);
    for (int released = 1; released >= 0; released--) {
        c.launches = 1;
        assert_int_equal(sm_history_begin(h, "compare", fixture_arms, &o, why, sizeof why), 0);
        assert_true(sm_history_launch(h, &c));
        assert_int_equal(sqlite3_exec(holder, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
        for (c.launches = 2; c.launches <= 6; c.launches++) assert_false(sm_history_launch(h, &c));
        if (released) assert_int_equal(sqlite3_exec(holder, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
        if (released) assert_true(sm_history_launch(h, &c));
        c.launches = 7;
        assert_int_equal(sm_history_end(h, &report, why, sizeof why), released ? 0 : -1);
        char sql[160];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM launch WHERE session = '%s'", sm_history_session(h));
        assert_int_equal(count_of(fixture_store, sql), released ? 7 : 1);
    }
    assert_non_null(strstr(why, "locked: 5 launches and the verdicts of session"));
    sqlite3_exec(holder, "ROLLBACK", NULL, NULL, NULL);
    assert_int_equal(sm_history_end(h, &report, why, sizeof why), 0); /* what waits is not lost by a failed end */
    assert_int_equal(count_of(fixture_store, "SELECT count(*) FROM launch"), 13);
    sqlite3_close(holder);
    sm_history_close(h);
}

/* The file as version 1 made it, written down here: what this program makes may change. */
static const char version_1[] =
    "PRAGMA journal_mode = WAL;"
    "CREATE TABLE session(id TEXT PRIMARY KEY, started INTEGER NOT NULL, ended INTEGER, purpose TEXT NOT NULL,"
    "  a_spec TEXT NOT NULL, a_identity TEXT NOT NULL, a_built TEXT, b_spec TEXT NOT NULL, b_identity TEXT NOT NULL,"
    "  b_built TEXT, seed INTEGER NOT NULL, tolerance REAL NOT NULL, floor REAL NOT NULL, alpha REAL NOT NULL,"
    "  discovery REAL NOT NULL, spending INTEGER NOT NULL, machine TEXT, compared INTEGER, floor_used REAL,"
    "  control_worst REAL, verdict TEXT);"
    "CREATE TABLE comparison(session TEXT NOT NULL REFERENCES session(id), ordinal INTEGER NOT NULL,"
    "  kernel TEXT NOT NULL, family TEXT NOT NULL, a_variant TEXT NOT NULL, b_variant TEXT NOT NULL,"
    "  control INTEGER NOT NULL, verdict TEXT, reason TEXT, effect REAL, low REAL, high REAL, level REAL, p REAL,"
    "  PRIMARY KEY(session, ordinal)) WITHOUT ROWID;"
    "CREATE TABLE launch(session TEXT NOT NULL, ordinal INTEGER NOT NULL, anew INTEGER NOT NULL, n INTEGER NOT NULL,"
    "  d REAL NOT NULL, a_ns REAL NOT NULL, b_ns REAL NOT NULL, PRIMARY KEY(session, ordinal, anew, n)) WITHOUT ROWID;"
    "CREATE INDEX comparison_kernel ON comparison(kernel);"
    "CREATE INDEX session_started ON session(started);"
    "INSERT INTO session(id, started, purpose, a_spec, a_identity, b_spec, b_identity, seed, tolerance, floor, alpha,"
    "  discovery, spending, ended, compared, verdict) VALUES('0123456789ab', 1700000000, 'gate', 'v1', 'v1', 'v2',"
    "  'v2', 7, 0.01, 0.0025, 0.05, 0.05, 0, 1700000009, 1, 'PASS');"
    "INSERT INTO comparison VALUES('0123456789ab', 0, 'f/v/rows=1', 'f', 'v', 'v', 0, 'same', NULL, 0.0004, -0.0012,"
    "  0.0012, 0.98523, 0.9);"
    "WITH RECURSIVE i(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM i WHERE n < 7)"
    "  INSERT INTO launch SELECT '0123456789ab', 0, 0, n, 0.0001 * (n % 4 * 2 - 3), 100, 100 FROM i;"
    "PRAGMA application_id = 1936486260; PRAGMA user_version = 1;";

static void make_version_1(const char *path)
{
    sqlite3 *db;
    fixture_remove_store(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, version_1, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void version_1_is_migrated_and_a_newer_one_refused(void **state)
{
    (void)state;
    char why[256];
    struct sm_history *h;
    make_version_1(fixture_other);
    fixture_remove_store(fixture_store);
    h = fixture_open(fixture_store); /* merged as it is: its file is not touched */
    assert_int_equal(sm_history_merge(h, fixture_other, why, sizeof why), 1);
    assert_int_equal(sm_history_check(h, "0123456789ab", why, sizeof why), 0);
    sm_history_close(h);
    assert_int_equal(count_of(fixture_other, "PRAGMA user_version"), 1);
    h = fixture_open(fixture_other); /* opened, it becomes a file of this version with all that it held */
    assert_int_equal(sm_history_check(h, "0123456789ab", why, sizeof why), 0);
    assert_int_equal(fixture_session(h, "compare", 5, 0, why, sizeof why), 0);
    sm_history_close(h);
    assert_int_equal(count_of(fixture_other, "PRAGMA user_version"), 2);
    assert_int_equal(count_of(fixture_other, "SELECT count(*) FROM session"), 2);
    assert_int_equal(count_of(fixture_other, "SELECT count(*) FROM alias"), 0);
    assert_int_equal(count_of(fixture_other, "PRAGMA user_version = 3"), -1);
    assert_int_equal(sm_history_open(&h, fixture_other, why, sizeof why), -1);
    assert_non_null(strstr(why, "newer slotmark"));
    h = fixture_open(fixture_store);
    assert_int_equal(sm_history_merge(h, fixture_other, why, sizeof why), -1);
    assert_non_null(strstr(why, "newer slotmark"));
    assert_int_equal(count_of(fixture_other, "PRAGMA application_id = 5"), -1);
    assert_int_equal(sm_history_merge(h, fixture_other, why, sizeof why), -1);
    assert_non_null(strstr(why, "no history"));
    sm_history_close(h);
    assert_int_equal(sm_history_open_existing(&h, "/tmp/there/is/none", why, sizeof why), -1);
    assert_non_null(strstr(why, "no such file"));
}

/* Many processes make or migrate one file at once and write their sessions: all of them are there. */
static void processes_share_a_file(void **state)
{
    (void)state;
    enum { PROCESSES = 6, ROUNDS = 8 }; /* a race to make it is lost once in a few rounds */
    for (int round = 0; round < ROUNDS; round++) {
        const int old = round == ROUNDS - 1;
        pid_t child[PROCESSES];
        fixture_remove_store(fixture_store);
        if (old) make_version_1(fixture_store);
        for (int i = 0; i < PROCESSES; i++) {
            child[i] = fork();
            if (child[i]) continue;
            struct sm_history *h;
            char why[256];
            int bad = sm_history_open(&h, fixture_store, why, sizeof why);
            if (!bad) bad = fixture_session(h, "compare", (uint64_t)i + 10, 0, why, sizeof why);
            if (bad) fprintf(stderr, "%s\n", why);
            _exit(bad ? 1 : 0);
        }
        for (int i = 0; i < PROCESSES; i++) {
            int status = -1;
            assert_int_equal(waitpid(child[i], &status, 0), child[i]);
            assert_int_equal(status, 0);
        }
        assert_int_equal(count_of(fixture_store, "SELECT count(*) FROM session WHERE ended IS NOT NULL"),
                         PROCESSES + old);
        assert_int_equal(count_of(fixture_store, "SELECT count(*) FROM (SELECT session FROM launch GROUP BY session)"),
                         PROCESSES + old);
    }
}

/* Opens, begins, and writes launches for ever, a byte to `told` after each. */
static void write_until_killed(int told)
{
    const struct sm_rounds_options o = {0};
    struct sm_history *h;
    char why[256];
    struct sm_comparison c = {.id = "k", .family = "f"};
    if (sm_history_open(&h, fixture_other, why, sizeof why) ||
        sm_history_begin(h, "compare", fixture_arms, &o, why, sizeof why))
        _exit(1);
    for (;; c.ordinal++)
        for (c.launches = 1; c.launches <= 8; c.launches++)
            if (!sm_history_launch(h, &c) || write(told, "x", 1) != 1) _exit(1);
}

/* Killed at any point, while it is made and migrated too, the file opens, and every launch but the one in flight is
 * there. */
static void a_killed_session_keeps_its_launches(void **state)
{
    (void)state;
    for (int round = 0; round < 36; round++) {
        int fd[2];
        if (round % 2)
            make_version_1(fixture_other);
        else
            fixture_remove_store(fixture_other);
        assert_int_equal(pipe(fd), 0);
        const pid_t child = fork();
        if (!child) write_until_killed(fd[1]);
        close(fd[1]);
        long n = 0, got;
        char told[4096];
        if (round < 24) usleep(300u * (unsigned)round);
        while (round >= 24 && n < round / 4 && (got = read(fd[0], told, 1)) > 0) n += got; /* however long they take */
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        while ((got = read(fd[0], told, sizeof told)) > 0) n += got;
        close(fd[0]);
        sm_history_close(fixture_open(fixture_other));
        const long kept = count_of(fixture_other, "SELECT count(*) FROM launch WHERE session <> '0123456789ab'");
        assert_true(kept == n || kept == n + 1);
        assert_int_equal(count_of(fixture_other, "SELECT count(*) FROM session WHERE ended IS NOT NULL"), round % 2);
        assert_int_equal(count_of(fixture_other, "SELECT count(*) FROM pragma_integrity_check WHERE "
                                                 "integrity_check <> 'ok'"),
                         0);
        assert_true(round < 24 || n >= round / 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_wait_for_a_lock),
        cmocka_unit_test(version_1_is_migrated_and_a_newer_one_refused),
        cmocka_unit_test(processes_share_a_file),
        cmocka_unit_test(a_killed_session_keeps_its_launches),
    };
    return cmocka_run_group_tests(tests, fixture_make, fixture_remove);
}
