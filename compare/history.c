#include "history.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "history_sql.h"
#include "machine.h"

struct sm_history {
    sqlite3 *db;
    char session[13];
};

sqlite3 *sm_history_db(struct sm_history *h)
{
    return h->db;
}

static int refuse(sqlite3 *db, const char *doing, char *why, size_t why_bytes)
{
    snprintf(why, why_bytes, "%s: %s", doing, db ? sqlite3_errmsg(db) : "out of memory");
    return -1;
}

int sm_history_run(struct sm_history *h, const char *sql, const char *doing, char *why, size_t why_bytes)
{
    return sqlite3_exec(h->db, sql, NULL, NULL, NULL) ? refuse(h->db, doing, why, why_bytes) : 0;
}

/* The version of the schema in the file; 0: it is new. -1: it is not ours. */
static int version_of(sqlite3 *db)
{
    sqlite3_stmt *s;
    int version = -1, application = -1, tables = -1;
    if (!sqlite3_prepare_v2(db,
                            "SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM "
                            "pragma_application_id), (SELECT count(*) FROM sqlite_schema)",
                            -1, &s, NULL) &&
        sqlite3_step(s) == SQLITE_ROW) {
        version = sqlite3_column_int(s, 0);
        application = sqlite3_column_int(s, 1);
        tables = sqlite3_column_int(s, 2);
    }
    sqlite3_finalize(s);
    if (application == SM_HISTORY_APPLICATION) return version;
    return tables == 0 ? 0 : -1;
}

static int prepare_file(struct sm_history *h, const char *path, char *why, size_t why_bytes)
{
    const int version = version_of(h->db);
    if (version < 0 || version > SM_HISTORY_VERSION) {
        const int damaged = sqlite3_errcode(h->db) != SQLITE_OK && sqlite3_errcode(h->db) != SQLITE_ROW &&
                            sqlite3_errcode(h->db) != SQLITE_DONE;
        snprintf(why, why_bytes, "opening the history %s: %s", path,
                 damaged       ? sqlite3_errmsg(h->db)
                 : version < 0 ? "it is a database of something else"
                               : "it was written by a newer slotmark");
        return -1;
    }
    if (sm_history_run(h, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;", "opening the history", why,
                       why_bytes))
        return -1;
    return version == SM_HISTORY_VERSION ? 0
                                         : sm_history_run(h, sm_history_schema, "making the history", why, why_bytes);
}

int sm_history_open(struct sm_history **history, const char *path, char *why, size_t why_bytes)
{
    struct sm_history *h = calloc(1, sizeof *h);
    if (!h) return refuse(NULL, "opening the history", why, why_bytes);
    if (sqlite3_open_v2(path, &h->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL)) {
        snprintf(why, why_bytes, "opening the history %s: %s", path, h->db ? sqlite3_errmsg(h->db) : "out of memory");
        sm_history_close(h);
        return -1;
    }
    sqlite3_busy_timeout(h->db, 10000); /* others write a launch at a time */
    if (prepare_file(h, path, why, why_bytes)) {
        sm_history_close(h);
        return -1;
    }
    *history = h;
    return 0;
}

void sm_history_close(struct sm_history *h)
{
    if (!h) return;
    sqlite3_close(h->db);
    free(h);
}

const char *sm_history_session(const struct sm_history *h)
{
    return h->session;
}

/* Binds by the letters of `kinds`: t text (NULL: null), i integer (long long), d double (not finite: null). Runs it. */
static int put(struct sm_history *h, const char *sql, const char *kinds, ...)
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

int sm_history_begin(struct sm_history *h, const char *purpose, const struct sm_arm arm[2],
                     const struct sm_rounds_options *o, char *why, size_t why_bytes)
{
    unsigned char drawn[6];
    if (getrandom(drawn, sizeof drawn, 0) != sizeof drawn) memset(drawn, 0, sizeof drawn);
    for (size_t i = 0; i < sizeof drawn; i++) snprintf(h->session + 2 * i, 3, "%02x", drawn[i]);
    json_t *machine = sm_machine_json();
    char *facts = machine ? json_dumps(machine, JSON_COMPACT) : NULL;
    const int bad = put(h,
                        "INSERT INTO session(id, started, purpose, a_spec, a_identity, a_built, b_spec, b_identity, "
                        "b_built, seed, tolerance, floor, alpha, discovery, spending, machine) VALUES "
                        "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        "tittttttt"
                        "iddddit",
                        h->session, (long long)time(NULL), purpose, arm[0].spec, arm[0].identity, arm[0].built,
                        arm[1].spec, arm[1].identity, arm[1].built, (long long)o->seed, o->tolerance, o->floor,
                        o->alpha, o->discovery, (long long)o->spending, facts);
    free(facts);
    json_decref(machine);
    return bad ? refuse(h->db, "writing the history", why, why_bytes) : 0;
}

/* In one transaction: the comparison if it is new, and the launch. */
bool sm_history_launch(struct sm_history *h, const struct sm_comparison *c)
{
    const size_t n = c->launches - 1;
    if (sqlite3_exec(h->db, "BEGIN IMMEDIATE", NULL, NULL, NULL)) return false;
    const int bad =
        put(h,
            "INSERT OR IGNORE INTO comparison(session, ordinal, kernel, family, a_variant, b_variant, control) VALUES "
            "(?, ?, ?, ?, ?, ?, ?)",
            "titttti", h->session, (long long)c->ordinal, c->id, c->family, c->variant[0], c->variant[1],
            (long long)c->control) ||
        put(h, "INSERT INTO launch(session, ordinal, anew, n, d, a_ns, b_ns) VALUES (?, ?, ?, ?, ?, ?, ?)", "tiiiddd",
            h->session, (long long)c->ordinal, (long long)c->randomised, (long long)n, c->d[n], c->ns[0][n],
            c->ns[1][n]);
    if (sqlite3_exec(h->db, bad ? "ROLLBACK" : "COMMIT", NULL, NULL, NULL)) return false;
    return !bad;
}

static int put_verdict(struct sm_history *h, const struct sm_comparison *c)
{
    const bool looked = c->looks > 0;
    return put(h,
               "INSERT INTO comparison(session, ordinal, kernel, family, a_variant, b_variant, control) VALUES "
               "(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
               "titttti", h->session, (long long)c->ordinal, c->id, c->family, c->variant[0], c->variant[1],
               (long long)c->control) ||
           put(h,
               "UPDATE comparison SET verdict = ?, reason = ?, effect = ?, low = ?, high = ?, level = ?, p = ? WHERE "
               "session = ? AND ordinal = ?",
               "ttdddddti", sm_verdict_word(c->verdict), c->reason[0] ? c->reason : NULL,
               looked ? c->estimate.effect : NAN, looked ? c->estimate.low : NAN, looked ? c->estimate.high : NAN,
               looked ? c->estimate.level : NAN, looked ? c->p_overall : NAN, h->session, (long long)c->ordinal);
}

int sm_history_end(struct sm_history *h, const struct sm_report *r, char *why, size_t why_bytes)
{
    char end[200];
    int bad = sqlite3_exec(h->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    sm_report_end(r, end, sizeof end);
    for (size_t i = 0; !bad && i < r->pairing->count; i++) bad = put_verdict(h, &r->pairing->list[i]);
    if (!bad)
        bad = put(
            h,
            "UPDATE session SET ended = ?, floor_used = ?, control_worst = ?, verdict = ?, compared = ? WHERE id = ?",
            "iddtit", (long long)time(NULL), r->result->floor, r->result->control_worst, end,
            (long long)r->result->compared, h->session);
    if (bad) {
        refuse(h->db, "writing the history", why, why_bytes);
        sqlite3_exec(h->db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    return sqlite3_exec(h->db, "COMMIT", NULL, NULL, NULL) ? refuse(h->db, "writing the history", why, why_bytes) : 0;
}
