/* What a history holds: its sessions, series, and verdicts worked out again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "history.h"
#include "history_sql.h"

static int refuse(struct sm_history *h, char *why, size_t why_bytes)
{
    return sm_history_refuse(h, "reading the history", why, why_bytes);
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
    if (sqlite3_prepare_v2(h->db,
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
                                     .low = sm_history_real(s, 4),
                                     .high = sm_history_real(s, 5),
                                     .launches = (size_t)sqlite3_column_int64(s, 6)};
        snprintf(p.build, sizeof p.build, "%s", sm_history_text(s, 1));
        if (!next(state, sm_history_text(s, 0), &p)) break;
    }
    sqlite3_finalize(s);
    return code == SQLITE_DONE || code == SQLITE_ROW ? 0 : refuse(h, why, why_bytes);
}

int sm_history_list(struct sm_history *h, size_t most, FILE *out, char *why, size_t why_bytes)
{
    sqlite3_stmt *s;
    int code;
    if (sqlite3_prepare_v2(h->db,
                           "SELECT id, started, purpose, a_identity, b_identity, verdict, (SELECT count(*) FROM launch "
                           "l WHERE l.session = session.id) FROM session ORDER BY started DESC, rowid DESC LIMIT ?",
                           -1, &s, NULL))
        return refuse(h, why, why_bytes);
    sqlite3_bind_int64(s, 1, (long long)most);
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        fprintf(out, "%s  ", sm_history_text(s, 0));
        print_time(out, sqlite3_column_int64(s, 1));
        fprintf(out, "  %-8s %s -> %s  %lld launches  %s\n", sm_history_text(s, 2), sm_history_text(s, 3),
                sm_history_text(s, 4), sqlite3_column_int64(s, 6),
                sqlite3_column_type(s, 5) == SQLITE_NULL ? "not finished" : sm_history_text(s, 5));
    }
    sqlite3_finalize(s);
    return code == SQLITE_DONE ? 0 : refuse(h, why, why_bytes);
}

static void print_comparison(sqlite3_stmt *s, FILE *out)
{
    const double effect = sm_history_real(s, 2), low = sm_history_real(s, 3), high = sm_history_real(s, 4);
    fprintf(out, "%-60s  ", sm_history_text(s, 0));
    if (isfinite(effect)) fprintf(out, "%+7.2f %%", 100 * expm1(effect));
    if (isfinite(low) && isfinite(high)) fprintf(out, "  [%+.2f, %+.2f]", 100 * expm1(low), 100 * expm1(high));
    fprintf(out, "  %s%s%s%s\n", sqlite3_column_type(s, 1) == SQLITE_NULL ? "not finished" : sm_history_text(s, 1),
            sqlite3_column_int(s, 6) ? " (control)" : "", *sm_history_text(s, 5) ? ": " : "", sm_history_text(s, 5));
}

int sm_history_show(struct sm_history *h, const char *session, FILE *out, char *why, size_t why_bytes)
{
    sqlite3_stmt *s;
    int code, rows = 0;
    if (sqlite3_prepare_v2(h->db,
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
