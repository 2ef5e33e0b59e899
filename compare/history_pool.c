/* A gate that is run again goes on from the launches of the time before: it is not drawn anew until it passes. */
#include <string.h>

#include "history.h"
#include "history_sql.h"

#define POOLED_S 86400 /* a day */

/* The newest gate of the same two on the same kind of machine; "" in `session`: there is none. */
static void find_session(struct sm_history *h, const struct sm_arm arm[2], char session[13])
{
    static const char sql[] =
        "SELECT old.id FROM session old, session now WHERE now.id = ?1 AND old.id != now.id AND old.purpose = 'gate' "
        "AND "
        "now.purpose = 'gate' AND old.ended IS NOT NULL AND old.a_identity = ?2 AND old.b_identity = ?3 AND "
        "old.a_built IS now.a_built AND old.b_built IS now.b_built AND old.threads IS now.threads AND "
        "old.started >= now.started - ?4 AND "
        "json_extract(old.machine, '$.cpu') IS json_extract(now.machine, '$.cpu') "
        "ORDER BY old.started DESC, old.rowid DESC LIMIT 1";
    sqlite3_stmt *s;
    session[0] = '\0';
    if (sqlite3_prepare_v2(h->db, sql, -1, &s, NULL)) return;
    sqlite3_bind_text(s, 1, h->session, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(s, 2, arm[0].identity, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(s, 3, arm[1].identity, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int64(s, 4, POOLED_S);
    if (sqlite3_step(s) == SQLITE_ROW) snprintf(session, 13, "%s", sm_history_text(s, 0));
    sqlite3_finalize(s);
}

/* One comparison's launches in the order in which they were made, looked at where they were looked at. */
static long take(struct sm_history *h, sqlite3_stmt *s, const struct sm_rounds_options *o, size_t m,
                 struct sm_comparison *c)
{
    long taken = 0;
    while (sqlite3_step(s) == SQLITE_ROW && c->verdict == SM_VERDICT_OPEN && c->launches < SM_LAUNCHES_MOST) {
        const bool anew = sqlite3_column_int(s, 0);
        if (anew && !o->place) break;
        if (anew && !c->randomised) sm_rounds_randomise(c);
        c->d[c->launches] = sm_history_real(s, 1);
        c->ns[0][c->launches] = sm_history_real(s, 2);
        c->ns[1][c->launches] = sm_history_real(s, 3);
        c->launches++;
        taken++;
        (void)sm_history_launch(h, c); /* this session's verdicts follow from its own launches too */
        sm_rounds_settle(c, o, m);
    }
    return taken;
}

long sm_history_pool(struct sm_history *h, const struct sm_arm arm[2], const struct sm_rounds_options *o,
                     struct sm_pairing *pairing, char session[13])
{
    sqlite3_stmt *s;
    size_t m = 0;
    long taken = 0;
    find_session(h, arm, session);
    if (!session[0] ||
        sqlite3_prepare_v2(h->db,
                           "SELECT anew, d, a_ns, b_ns FROM launch JOIN comparison USING (session, ordinal) WHERE "
                           "session = ? AND kernel = ? AND NOT control AND verdict NOT IN ('failed', 'refused') "
                           "ORDER BY anew, n",
                           -1, &s, NULL))
        return 0;
    for (size_t i = 0; i < pairing->count; i++) m += pairing->list[i].verdict == SM_VERDICT_OPEN;
    for (size_t i = 0; i < pairing->count; i++) {
        struct sm_comparison *c = &pairing->list[i];
        if (c->verdict != SM_VERDICT_OPEN) continue;
        c->ordinal = i;
        sqlite3_reset(s);
        sqlite3_bind_text(s, 1, session, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(s, 2, c->id, -1, SQLITE_TRANSIENT);
        taken += take(h, s, o, m, c);
    }
    sqlite3_finalize(s);
    return taken;
}
