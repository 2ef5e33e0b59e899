/* What a history holds: its sessions, series, and verdicts worked out again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "history.h"
#include "history_sql.h"

#define CPU "coalesce(CASE WHEN json_valid(s.machine) THEN json_extract(s.machine, '$.cpu') END, '')"

static int refuse(struct sm_history *h, char *why, size_t why_bytes)
{
    return sm_history_refuse(h, "reading the history", why, why_bytes);
}

const char *sm_history_time(long long seconds, const char *form, char *text, size_t bytes)
{
    const time_t t = (time_t)seconds;
    struct tm parts;
    if (!gmtime_r(&t, &parts) || !strftime(text, bytes, form, &parts)) snprintf(text, bytes, "?");
    return text;
}

int sm_history_points(struct sm_history *h, sm_history_next *next, void *state, char *why, size_t why_bytes)
{
    sqlite3_stmt *s;
    int code;
    if (sqlite3_prepare_v2(h->db,
                           "SELECT c.kernel, s.a_identity, s.b_identity, s.id, s.started, c.effect, c.low, c.high, "
                           "(SELECT count(*) FROM launch l WHERE l.session = c.session AND l.ordinal = c.ordinal), "
                           "s.threads, c.verdict = 'identical', " CPU
                           " FROM comparison c JOIN session s ON s.id = c.session "
                           "WHERE NOT c.control AND s.purpose = 'record' AND (c.effect IS NOT NULL OR c.verdict = "
                           "'identical') ORDER BY s.started, s.rowid",
                           -1, &s, NULL))
        return refuse(h, why, why_bytes);
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        const bool identical = sqlite3_column_int(s, 10);
        struct sm_history_point p = {.started = sqlite3_column_int64(s, 4),
                                     .effect = identical ? 0 : sqlite3_column_double(s, 5),
                                     .low = identical ? 0 : sm_history_real(s, 6),
                                     .high = identical ? 0 : sm_history_real(s, 7),
                                     .launches = (size_t)sqlite3_column_int64(s, 8),
                                     .threads = sqlite3_column_int(s, 9)};
        snprintf(p.kernel, sizeof p.kernel, "%s", sm_history_text(s, 0));
        snprintf(p.anchor, sizeof p.anchor, "%s", sm_history_text(s, 1));
        snprintf(p.build, sizeof p.build, "%s", sm_history_text(s, 2));
        snprintf(p.session, sizeof p.session, "%s", sm_history_text(s, 3));
        snprintf(p.machine, sizeof p.machine, "%s", sm_history_text(s, 11));
        if (p.threads < 1) p.threads = 1; /* version 1 did not say */
        if (fabs(p.effect) <= SM_HISTORY_EFFECT_MOST && !next(state, &p)) break;
    }
    sqlite3_finalize(s);
    return code == SQLITE_DONE || code == SQLITE_ROW ? 0 : refuse(h, why, why_bytes);
}

int sm_history_anchor_identity(struct sm_history *h, const char *spec, char *identity, size_t bytes, char *why,
                               size_t why_bytes)
{
    sqlite3_stmt *s;
    if (sqlite3_prepare_v2(h->db,
                           "SELECT a_identity FROM session WHERE purpose = 'record' AND (a_identity = ?1 OR a_spec = "
                           "?1) ORDER BY a_identity = ?1 DESC, started DESC, rowid DESC LIMIT 1",
                           -1, &s, NULL))
        return refuse(h, why, why_bytes);
    sqlite3_bind_text(s, 1, spec, -1, SQLITE_TRANSIENT);
    const int code = sqlite3_step(s);
    if (code == SQLITE_ROW) snprintf(identity, bytes, "%s", sm_history_text(s, 0));
    sqlite3_finalize(s);
    return code == SQLITE_ROW ? 0 : code == SQLITE_DONE ? 1 : refuse(h, why, why_bytes);
}

int sm_history_proof(struct sm_history *h, const char *kernel, const char *machine, const char *before,
                     const char *after, struct sm_history_proof *proof, char *why, size_t why_bytes)
{
    sqlite3_stmt *s;
    if (sqlite3_prepare_v2(h->db,
                           "SELECT s.id, c.verdict, c.effect, c.low, c.high FROM session s JOIN comparison c ON "
                           "c.session = s.id WHERE s.purpose = 'confirm' AND s.a_identity = ?1 AND s.b_identity = ?2 "
                           "AND NOT c.control AND c.kernel = ?3 AND " CPU
                           " = ?4 AND c.verdict IS NOT NULL ORDER BY s.started DESC, "
                           "s.rowid DESC LIMIT 1",
                           -1, &s, NULL))
        return refuse(h, why, why_bytes);
    sqlite3_bind_text(s, 1, before, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(s, 2, after, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(s, 3, kernel, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(s, 4, machine, -1, SQLITE_TRANSIENT);
    const int code = sqlite3_step(s);
    if (code == SQLITE_ROW) {
        snprintf(proof->session, sizeof proof->session, "%s", sm_history_text(s, 0));
        snprintf(proof->verdict, sizeof proof->verdict, "%s", sm_history_text(s, 1));
        proof->effect = sm_history_real(s, 2);
        proof->low = sm_history_real(s, 3);
        proof->high = sm_history_real(s, 4);
    }
    sqlite3_finalize(s);
    return code == SQLITE_ROW ? 1 : code == SQLITE_DONE ? 0 : refuse(h, why, why_bytes);
}

int sm_history_figures(struct sm_history *h, sm_history_next_figure *next, void *state, char *why, size_t why_bytes)
{
    sqlite3_stmt *s;
    int code;
    if (sqlite3_prepare_v2(
            h->db,
            "SELECT f.name, f.unit, i.build, i.id, i.started, f.value, f.spread, f.samples FROM figure f "
            "JOIN import i ON i.id = f.import ORDER BY f.name, f.unit, coalesce(i.started, i.taken), i.rowid, "
            "f.ordinal",
            -1, &s, NULL))
        return refuse(h, why, why_bytes);
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        struct sm_history_figure f = {.started = sqlite3_column_int64(s, 4),
                                      .value = sqlite3_column_double(s, 5),
                                      .spread = sm_history_real(s, 6),
                                      .samples = (size_t)sqlite3_column_int64(s, 7)};
        snprintf(f.name, sizeof f.name, "%s", sm_history_text(s, 0));
        snprintf(f.unit, sizeof f.unit, "%s", sm_history_text(s, 1));
        snprintf(f.build, sizeof f.build, "%s", sm_history_text(s, 2));
        snprintf(f.import, sizeof f.import, "%s", sm_history_text(s, 3));
        if (isfinite(f.value) && !next(state, &f)) break;
    }
    sqlite3_finalize(s);
    return code == SQLITE_DONE || code == SQLITE_ROW ? 0 : refuse(h, why, why_bytes);
}

static bool stop_at_once(void *state, const struct sm_history_figure *figure)
{
    (void)figure;
    *(bool *)state = true;
    return false;
}

bool sm_history_has_figures(struct sm_history *h)
{
    bool has = false;
    char why[64];
    return !sm_history_figures(h, stop_at_once, &has, why, sizeof why) && has;
}

static int list_imports(struct sm_history *h, size_t most, FILE *out, char *why, size_t why_bytes)
{
    sqlite3_stmt *s;
    int code;
    if (sqlite3_prepare_v2(h->db,
                           "SELECT id, coalesce(started, taken), format, path, build, (SELECT count(*) FROM figure f "
                           "WHERE f.import = import.id) FROM import ORDER BY taken DESC, rowid DESC LIMIT ?",
                           -1, &s, NULL))
        return refuse(h, why, why_bytes);
    sqlite3_bind_int64(s, 1, (long long)most);
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        char when[32];
        const char *build = sm_history_text(s, 4);
        fprintf(out, "%s  %s  imported %s from %s%s%.12s  %lld figures\n", sm_history_text(s, 0),
                sm_history_time(sqlite3_column_int64(s, 1), "%Y-%m-%d %H:%M", when, sizeof when), sm_history_text(s, 2),
                sm_history_text(s, 3), *build ? " of " : "", build, sqlite3_column_int64(s, 5));
    }
    sqlite3_finalize(s);
    return code == SQLITE_DONE ? 0 : refuse(h, why, why_bytes);
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
        char when[32];
        fprintf(out, "%s  %s", sm_history_text(s, 0),
                sm_history_time(sqlite3_column_int64(s, 1), "%Y-%m-%d %H:%M", when, sizeof when));
        fprintf(out, "  %-8s %s -> %s  %lld launches  %s\n", sm_history_text(s, 2), sm_history_text(s, 3),
                sm_history_text(s, 4), sqlite3_column_int64(s, 6),
                sqlite3_column_type(s, 5) == SQLITE_NULL ? "not finished" : sm_history_text(s, 5));
    }
    sqlite3_finalize(s);
    return code == SQLITE_DONE ? list_imports(h, most, out, why, why_bytes) : refuse(h, why, why_bytes);
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

/* How many figures an import has; -1: a database that is not well. */
static int show_import(struct sm_history *h, const char *import, FILE *out)
{
    sqlite3_stmt *s;
    int code, rows = 0;
    if (sqlite3_prepare_v2(h->db,
                           "SELECT name, unit, value, spread, samples FROM figure WHERE import = ? ORDER BY ordinal",
                           -1, &s, NULL))
        return -1;
    sqlite3_bind_text(s, 1, import, -1, SQLITE_TRANSIENT);
    for (; (code = sqlite3_step(s)) == SQLITE_ROW; rows++) {
        fprintf(out, "%-60s  imported %12.6g %s", sm_history_text(s, 0), sqlite3_column_double(s, 2),
                sm_history_text(s, 1));
        if (isfinite(sm_history_real(s, 3))) fprintf(out, " +- %.3g", sm_history_real(s, 3));
        fprintf(out, "  n %lld\n", sqlite3_column_int64(s, 4));
    }
    sqlite3_finalize(s);
    return code == SQLITE_DONE ? rows : -1;
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
    if (code == SQLITE_DONE && !rows) rows = show_import(h, session, out);
    if (code == SQLITE_DONE && !rows) {
        snprintf(why, why_bytes, "reading the history: it has no session or import %s", session);
        return -1;
    }
    return code == SQLITE_DONE && rows > 0 ? 0 : refuse(h, why, why_bytes);
}
