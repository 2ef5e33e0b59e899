/* Histories taken together, and what is old forgotten. */
#include <time.h>

#include "history.h"
#include "history_sql.h"

/* Of a session that both have, an unfinished copy gets what the other knows more. */
#define SESSION                                                                                                        \
    "id, started, ended, purpose, a_spec, a_identity, a_built, b_spec, b_identity, b_built, seed, tolerance, floor, "  \
    "alpha, discovery, spending, machine, compared, floor_used, control_worst, verdict"
#define COMPARISON                                                                                                     \
    "session, ordinal, kernel, family, a_variant, b_variant, control, verdict, reason, effect, low, high, level, p"

static const char take_sessions[] =
    "CREATE TEMP TABLE lacking AS SELECT o.id AS id FROM other.session o LEFT JOIN main.session m ON m.id = o.id WHERE "
    "m.id IS NULL OR (m.ended IS NULL AND o.ended IS NOT NULL);"
    "INSERT INTO main.session(" SESSION ") SELECT " SESSION " FROM other.session WHERE true ORDER BY rowid "
    "ON CONFLICT(id) DO UPDATE SET ended = excluded.ended, compared = excluded.compared, "
    "floor_used = excluded.floor_used, control_worst = excluded.control_worst, verdict = excluded.verdict "
    "WHERE session.ended IS NULL;"
    "INSERT INTO main.comparison(" COMPARISON ") SELECT " COMPARISON " FROM other.comparison WHERE true "
    "ON CONFLICT(session, ordinal) DO UPDATE SET verdict = excluded.verdict, reason = excluded.reason, "
    "effect = excluded.effect, low = excluded.low, high = excluded.high, level = excluded.level, p = excluded.p "
    "WHERE comparison.verdict IS NULL;"
    "INSERT OR IGNORE INTO main.launch(session, ordinal, anew, n, d, a_ns, b_ns) SELECT session, ordinal, anew, n, d, "
    "a_ns, b_ns FROM other.launch;";

/* What version 1 did not have. A name or anchor that both have stays as it is here. */
static const char take_names[] =
    "INSERT INTO lacking SELECT id FROM other.import EXCEPT SELECT id FROM main.import;"
    "INSERT OR IGNORE INTO main.import(id, taken, started, path, format, build, machine) SELECT id, taken, started, "
    "path, format, build, machine FROM other.import;"
    "INSERT OR IGNORE INTO main.figure(import, ordinal, name, unit, value, spread, samples) SELECT import, ordinal, "
    "name, unit, value, spread, samples FROM other.figure;"
    "INSERT OR IGNORE INTO main.alias(old, new, since) SELECT old, new, since FROM other.alias;"
    "INSERT OR IGNORE INTO main.anchor(glob, spec, since) SELECT glob, spec, since FROM other.anchor;"
    "UPDATE main.session SET threads = o.threads FROM other.session o WHERE o.id = main.session.id AND "
    "main.session.threads IS NULL;";

/* The sessions and imports that came. The other file is read and not migrated: it is not ours to change. */
static long take(struct sm_history *h, const char *path, char *why, size_t why_bytes)
{
    const int version = sm_history_version(h->db, "other");
    sqlite3_stmt *s;
    long taken = -1;
    if (version < 1 || version > SM_HISTORY_VERSION) {
        snprintf(why, why_bytes, "merging %s: %s", path,
                 version > 0 ? "it was written by a newer slotmark" : "it is no history");
        return -1;
    }
    if (!sm_history_run(h, "BEGIN IMMEDIATE", "merging histories", why, why_bytes) &&
        !sm_history_run(h, take_sessions, "merging histories", why, why_bytes) &&
        (version < 2 || !sm_history_run(h, take_names, "merging histories", why, why_bytes)) &&
        !sqlite3_prepare_v2(h->db, "SELECT count(*) FROM lacking", -1, &s, NULL)) {
        if (sqlite3_step(s) == SQLITE_ROW) taken = (long)sqlite3_column_int64(s, 0);
        sqlite3_finalize(s);
        if (sm_history_run(h, "DROP TABLE lacking; COMMIT;", "merging histories", why, why_bytes)) taken = -1;
    }
    if (taken < 0) sqlite3_exec(h->db, "ROLLBACK", NULL, NULL, NULL);
    return taken;
}

long sm_history_merge(struct sm_history *h, const char *path, char *why, size_t why_bytes)
{
    sqlite3_stmt *s;
    FILE *there = fopen(path, "rb"); /* SQLite would make what is not there */
    if (!there) {
        snprintf(why, why_bytes, "merging %s: there is no such file, or it cannot be read", path);
        return -1;
    }
    fclose(there);
    if (sqlite3_prepare_v2(h->db, "ATTACH ? AS other", -1, &s, NULL))
        return sm_history_refuse(h, "merging histories", why, why_bytes);
    sqlite3_bind_text(s, 1, path, -1, SQLITE_TRANSIENT);
    const int attached = sqlite3_step(s);
    sqlite3_finalize(s);
    if (attached != SQLITE_DONE) return sm_history_refuse(h, "merging histories", why, why_bytes);
    const long taken = take(h, path, why, why_bytes);
    sqlite3_exec(h->db, "DETACH other", NULL, NULL, NULL);
    return taken;
}

long sm_history_prune(struct sm_history *h, double days, char *why, size_t why_bytes)
{
    char sql[512];
    const long long before = (long long)time(NULL) - (long long)(days * 86400);
    snprintf(sql, sizeof sql,
             "BEGIN IMMEDIATE;"
             "DELETE FROM launch WHERE session IN (SELECT id FROM session WHERE started < %lld);"
             "DELETE FROM comparison WHERE session IN (SELECT id FROM session WHERE started < %lld);"
             "DELETE FROM session WHERE started < %lld;"
             "COMMIT;",
             before, before, before);
    if (sm_history_run(h, sql, "pruning the history", why, why_bytes)) {
        sqlite3_exec(h->db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    return (long)sqlite3_changes(h->db);
}

long sm_history_forget(struct sm_history *h, const char *id, char *why, size_t why_bytes)
{
    static const char *const from[] = {
        "DELETE FROM launch WHERE session = ?", "DELETE FROM comparison WHERE session = ?",
        "DELETE FROM session WHERE id = ?",     "DELETE FROM figure WHERE import = ?",
        "DELETE FROM import WHERE id = ?",
    };
    long gone = 0;
    int bad = sqlite3_exec(h->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (size_t i = 0; !bad && i < sizeof from / sizeof *from; i++) {
        bad = sm_history_put(h, from[i], "t", id);
        gone += bad ? 0 : sqlite3_changes(h->db);
    }
    if (!bad) bad = sqlite3_exec(h->db, "COMMIT", NULL, NULL, NULL);
    if (bad) {
        sm_history_refuse(h, "forgetting", why, why_bytes);
        sqlite3_exec(h->db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    if (gone) return gone;
    snprintf(why, why_bytes, "forgetting %s: the history has no such session or import", id);
    return -1;
}
