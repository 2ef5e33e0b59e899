/* The file: opened, made, migrated. */
#include "history.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "history_sql.h"

#define APPLICATION 0x736c6f74 /* "slot" */
#define PATIENCE_MS 10000      /* others write a launch at a time */

/* What makes version i + 1 of a file of version i; a new file goes through all of them. */
static const char *const steps[SM_HISTORY_VERSION] = {
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
    "PRAGMA application_id = 1936486260; PRAGMA user_version = 1;",

    /* What others measured, names that changed, and the revisions that series are recorded against. */
    "CREATE TABLE import(id TEXT PRIMARY KEY, taken INTEGER NOT NULL, started INTEGER, path TEXT NOT NULL,"
    "  format TEXT NOT NULL, build TEXT, machine TEXT);"
    "CREATE TABLE figure(import TEXT NOT NULL REFERENCES import(id), ordinal INTEGER NOT NULL, name TEXT NOT NULL,"
    "  unit TEXT NOT NULL, value REAL NOT NULL, spread REAL, samples INTEGER NOT NULL,"
    "  PRIMARY KEY(import, ordinal)) WITHOUT ROWID;"
    "CREATE INDEX figure_name ON figure(name);"
    "CREATE TABLE alias(old TEXT PRIMARY KEY, new TEXT NOT NULL, since INTEGER NOT NULL);"
    "CREATE TABLE anchor(glob TEXT PRIMARY KEY, spec TEXT NOT NULL, since INTEGER NOT NULL);"
    "ALTER TABLE session ADD COLUMN threads INTEGER;"
    "PRAGMA user_version = 2;",
};

int sm_history_refuse(struct sm_history *h, const char *doing, char *why, size_t why_bytes)
{
    snprintf(why, why_bytes, "%s: %s", doing, h && h->db ? sqlite3_errmsg(h->db) : "out of memory");
    return -1;
}

int sm_history_run(struct sm_history *h, const char *sql, const char *doing, char *why, size_t why_bytes)
{
    return sqlite3_exec(h->db, sql, NULL, NULL, NULL) ? sm_history_refuse(h, doing, why, why_bytes) : 0;
}

int sm_history_put(struct sm_history *h, const char *sql, const char *kinds, ...)
{
    sqlite3_stmt *s;
    va_list args;
    if (sqlite3_prepare_v2(h->db, sql, -1, &s, NULL)) return -1;
    va_start(args, kinds);
    for (int i = 0; kinds[i]; i++) {
        if (kinds[i] == 't') {
            const char *text = va_arg(args, const char *);
            sqlite3_bind_text(s, i + 1, text, -1, SQLITE_TRANSIENT); /* a NULL pointer binds null */
        } else if (kinds[i] == 'i') {
            sqlite3_bind_int64(s, i + 1, va_arg(args, long long));
        } else {
            const double x = va_arg(args, double);
            if (isfinite(x)) sqlite3_bind_double(s, i + 1, x); /* else it stays null */
        }
    }
    va_end(args);
    const int code = sqlite3_step(s);
    sqlite3_finalize(s);
    return code == SQLITE_DONE ? 0 : -1;
}

const char *sm_history_text(sqlite3_stmt *s, int column)
{
    const char *t = (const char *)sqlite3_column_text(s, column);
    return t ? t : "";
}

double sm_history_real(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_NULL ? NAN : sqlite3_column_double(s, column);
}

/* One whole number that `form` asks a database for, or -1. */
static int number_of(sqlite3 *db, const char *form, const char *schema)
{
    sqlite3_stmt *s;
    char sql[100];
    int number = -1;
    snprintf(sql, sizeof sql, form, schema);
    if (!sqlite3_prepare_v2(db, sql, -1, &s, NULL) && sqlite3_step(s) == SQLITE_ROW) number = sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    return number;
}

/* What the schema holds is read first: another process may be making the file between the two reads, and whoever
   sees its tables must see its name as well. */
int sm_history_version(sqlite3 *db, const char *schema)
{
    const int objects = number_of(db, "SELECT count(*) FROM %s.sqlite_schema", schema);
    const int application = number_of(db, "PRAGMA %s.application_id", schema);
    if (application == APPLICATION) return number_of(db, "PRAGMA %s.user_version", schema);
    return objects == 0 ? 0 : -1;
}

/* Under the lock that keeps others from doing the same: they may have been here since the version was read. */
static int migrate(struct sm_history *h, char *why, size_t why_bytes)
{
    int bad = sm_history_run(h, "BEGIN IMMEDIATE", "making the history", why, why_bytes);
    if (bad) return bad;
    for (int v = sm_history_version(h->db, "main"); !bad && v < SM_HISTORY_VERSION; v++)
        bad = v < 0 ? -1 : sm_history_run(h, steps[v], "making the history", why, why_bytes);
    if (!bad) bad = sm_history_run(h, "COMMIT", "making the history", why, why_bytes);
    if (bad) sqlite3_exec(h->db, "ROLLBACK", NULL, NULL, NULL);
    return bad;
}

/* SQLite does not wait for another process that is changing the journal's kind. */
static int use_wal(struct sm_history *h, char *why, size_t why_bytes)
{
    int code = SQLITE_BUSY;
    for (int waited = 0; code == SQLITE_BUSY && waited <= h->patience_ms; waited += 10) {
        code = sqlite3_exec(h->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;", NULL, NULL, NULL);
        if (code == SQLITE_BUSY) sqlite3_sleep(10);
    }
    return code ? sm_history_refuse(h, "opening the history", why, why_bytes) : 0;
}

static int prepare_file(struct sm_history *h, const char *path, char *why, size_t why_bytes)
{
    const int version = sm_history_version(h->db, "main");
    if (version < 0 || version > SM_HISTORY_VERSION) {
        const int code = sqlite3_errcode(h->db);
        snprintf(why, why_bytes, "opening the history %s: %s", path,
                 code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE ? sqlite3_errmsg(h->db)
                 : version < 0                                                  ? "it is a database of something else"
                                                                                : "it was written by a newer slotmark");
        return -1;
    }
    if (use_wal(h, why, why_bytes)) return -1;
    return version == SM_HISTORY_VERSION ? 0 : migrate(h, why, why_bytes);
}

int sm_history_open(struct sm_history **history, const char *path, char *why, size_t why_bytes)
{
    struct sm_history *h = calloc(1, sizeof *h);
    if (!h) return sm_history_refuse(NULL, "opening the history", why, why_bytes);
    if (sqlite3_open_v2(path, &h->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL)) {
        snprintf(why, why_bytes, "opening the history %s: %s", path, h->db ? sqlite3_errmsg(h->db) : "out of memory");
        sm_history_close(h);
        return -1;
    }
    sm_history_patience(h, PATIENCE_MS);
    sqlite3_db_config(h->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0,
                      NULL); /* a file from elsewhere runs nothing of its own */
    sqlite3_db_config(h->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    if (prepare_file(h, path, why, why_bytes)) {
        sm_history_close(h);
        return -1;
    }
    *history = h;
    return 0;
}

int sm_history_open_existing(struct sm_history **history, const char *path, char *why, size_t why_bytes)
{
    if (!access(path, F_OK)) return sm_history_open(history, path, why, why_bytes);
    snprintf(why, why_bytes, "opening the history %s: there is no such file; --store FILE says where it is", path);
    return -1;
}

void sm_history_patience(struct sm_history *h, int ms)
{
    h->patience_ms = ms;
    sqlite3_busy_timeout(h->db, ms);
}

void sm_history_close(struct sm_history *h)
{
    if (!h) return;
    sqlite3_close(h->db);
    free(h->waiting);
    free(h);
}
