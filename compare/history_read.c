/* What a history holds: its sessions, series, and verdicts worked out again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "history.h"
#include "history_sql.h"

static int refuse(struct sm_history *h, char *why, size_t why_bytes)
{
    snprintf(why, why_bytes, "reading the history: %s", sqlite3_errmsg(sm_history_db(h)));
    return -1;
}

static const char *text(sqlite3_stmt *s, int column)
{
    const char *t = (const char *)sqlite3_column_text(s, column);
    return t ? t : "";
}

static double real(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_NULL ? NAN : sqlite3_column_double(s, column);
}

static void print_time(FILE *out, long long seconds)
{
    const time_t t = (time_t)seconds;
    struct tm parts;
    char word[32] = "?";
    if (gmtime_r(&t, &parts)) strftime(word, sizeof word, "%Y-%m-%d %H:%M", &parts);
    fprintf(out, "%s", word);
}

int sm_history_series(struct sm_history *h, const char *anchor, const char *glob, sm_history_next *next, void *state,
                      char *why, size_t why_bytes)
{
    sqlite3_stmt *s;
    int code;
    if (sqlite3_prepare_v2(sm_history_db(h),
                           "SELECT c.kernel, s.b_identity, s.started, c.effect, c.low, c.high, (SELECT count(*) FROM "
                           "launch l WHERE l.session = c.session AND l.ordinal = c.ordinal) FROM comparison c JOIN "
                           "session s ON s.id = c.session WHERE NOT c.control AND s.a_identity = ?1 AND s.purpose = "
                           "'record' AND (c.effect IS NOT NULL OR c.verdict = 'identical') AND (?2 IS NULL OR c.kernel "
                           "GLOB ?2 OR c.kernel GLOB ?2 || '/*') ORDER BY c.kernel, s.started, s.rowid",
                           -1, &s, NULL))
        return refuse(h, why, why_bytes);
    sqlite3_bind_text(s, 1, anchor, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(s, 2, glob, -1, SQLITE_TRANSIENT);
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        struct sm_history_point p = {.started = sqlite3_column_int64(s, 2),
                                     .effect = sqlite3_column_double(s, 3), /* identical code: null, which reads as 0 */
                                     .low = real(s, 4),
                                     .high = real(s, 5),
                                     .launches = (size_t)sqlite3_column_int64(s, 6)};
        snprintf(p.build, sizeof p.build, "%s", text(s, 1));
        if (!next(state, text(s, 0), &p)) break;
    }
    sqlite3_finalize(s);
    return code == SQLITE_DONE || code == SQLITE_ROW ? 0 : refuse(h, why, why_bytes);
}

int sm_history_list(struct sm_history *h, size_t most, FILE *out, char *why, size_t why_bytes)
{
    sqlite3_stmt *s;
    int code;
    if (sqlite3_prepare_v2(sm_history_db(h),
                           "SELECT id, started, purpose, a_identity, b_identity, verdict, (SELECT count(*) FROM launch "
                           "l WHERE l.session = session.id) FROM session ORDER BY started DESC, rowid DESC LIMIT ?",
                           -1, &s, NULL))
        return refuse(h, why, why_bytes);
    sqlite3_bind_int64(s, 1, (long long)most);
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        fprintf(out, "%s  ", text(s, 0));
        print_time(out, sqlite3_column_int64(s, 1));
        fprintf(out, "  %-8s %s -> %s  %lld launches  %s\n", text(s, 2), text(s, 3), text(s, 4),
                sqlite3_column_int64(s, 6), sqlite3_column_type(s, 5) == SQLITE_NULL ? "not finished" : text(s, 5));
    }
    sqlite3_finalize(s);
    return code == SQLITE_DONE ? 0 : refuse(h, why, why_bytes);
}

static void print_comparison(sqlite3_stmt *s, FILE *out)
{
    const double effect = real(s, 2), low = real(s, 3), high = real(s, 4);
    fprintf(out, "%-60s  ", text(s, 0));
    if (isfinite(effect)) fprintf(out, "%+7.2f %%", 100 * expm1(effect));
    if (isfinite(low) && isfinite(high)) fprintf(out, "  [%+.2f, %+.2f]", 100 * expm1(low), 100 * expm1(high));
    fprintf(out, "  %s%s%s%s\n", sqlite3_column_type(s, 1) == SQLITE_NULL ? "not finished" : text(s, 1),
            sqlite3_column_int(s, 6) ? " (control)" : "", *text(s, 5) ? ": " : "", text(s, 5));
}

int sm_history_show(struct sm_history *h, const char *session, FILE *out, char *why, size_t why_bytes)
{
    sqlite3_stmt *s;
    int code, rows = 0;
    if (sqlite3_prepare_v2(sm_history_db(h),
                           "SELECT kernel, verdict, effect, low, high, reason, control FROM comparison WHERE session = "
                           "? ORDER BY control, ordinal",
                           -1, &s, NULL))
        return refuse(h, why, why_bytes);
    sqlite3_bind_text(s, 1, session, -1, SQLITE_TRANSIENT);
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        print_comparison(s, out);
        rows++;
    }
    sqlite3_finalize(s);
    if (code == SQLITE_DONE && !rows) {
        snprintf(why, why_bytes, "reading the history: it has no session %s", session);
        return -1;
    }
    return code == SQLITE_DONE ? 0 : refuse(h, why, why_bytes);
}

long sm_history_merge(struct sm_history *h, const char *path, char *why, size_t why_bytes)
{
    struct sm_history *other; /* opened once, so that a file that is no history is refused as one */
    sqlite3_stmt *s;
    if (sm_history_open(&other, path, why, why_bytes)) return -1;
    sm_history_close(other);
    if (sqlite3_prepare_v2(sm_history_db(h), "ATTACH ? AS other", -1, &s, NULL)) return refuse(h, why, why_bytes);
    sqlite3_bind_text(s, 1, path, -1, SQLITE_TRANSIENT);
    const int attached = sqlite3_step(s);
    sqlite3_finalize(s);
    if (attached != SQLITE_DONE) return refuse(h, why, why_bytes);
    long taken = -1;
    if (!sm_history_run(h,
                        "BEGIN IMMEDIATE;"
                        "CREATE TEMP TABLE lacking AS SELECT id FROM other.session EXCEPT SELECT id FROM main.session;"
                        "INSERT INTO main.session SELECT * FROM other.session WHERE id IN lacking ORDER BY rowid;"
                        "INSERT INTO main.comparison SELECT * FROM other.comparison WHERE session IN lacking;"
                        "INSERT INTO main.launch SELECT * FROM other.launch WHERE session IN lacking;"
                        "COMMIT;",
                        "merging histories", why, why_bytes) &&
        !sqlite3_prepare_v2(sm_history_db(h), "SELECT count(*) FROM lacking", -1, &s, NULL)) {
        if (sqlite3_step(s) == SQLITE_ROW) taken = (long)sqlite3_column_int64(s, 0);
        sqlite3_finalize(s);
    } else {
        sqlite3_exec(sm_history_db(h), "ROLLBACK", NULL, NULL, NULL);
    }
    sqlite3_exec(sm_history_db(h), "DROP TABLE IF EXISTS lacking; DETACH other", NULL, NULL, NULL);
    return taken;
}

long sm_history_prune(struct sm_history *h, double days, char *why, size_t why_bytes)
{
    sqlite3 *db = sm_history_db(h);
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
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    return (long)sqlite3_changes(db);
}
