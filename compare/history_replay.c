/* A stored session's verdicts, worked out again from its launches alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "history_replay.h"
#include "history_sql.h"

void sm_stored_free(struct sm_stored *s)
{
    sm_pairing_free(&s->pairing);
    free(s->verdict);
}

static int read_options(sqlite3 *db, const char *session, struct sm_stored *to)
{
    sqlite3_stmt *s;
    int found = -1;
    if (sqlite3_prepare_v2(db,
                           "SELECT tolerance, floor, alpha, discovery, spending, compared, (SELECT count(*) FROM "
                           "comparison WHERE session = ?1) FROM session WHERE id = ?1 AND ended IS NOT NULL",
                           -1, &s, NULL))
        return -1;
    sqlite3_bind_text(s, 1, session, -1, SQLITE_TRANSIENT);
    if (sqlite3_step(s) == SQLITE_ROW) {
        to->options =
            (struct sm_rounds_options){.tolerance = sqlite3_column_double(s, 0),
                                       .floor = sqlite3_column_double(s, 1),
                                       .alpha = sqlite3_column_double(s, 2),
                                       .discovery = sqlite3_column_double(s, 3),
                                       .spending = sqlite3_column_int(s, 4) ? SM_SPENDING_THOROUGH : SM_SPENDING_QUICK};
        to->compared = (size_t)sqlite3_column_int64(s, 5);
        const sqlite3_int64 count = sqlite3_column_int64(s, 6);
        if (count >= 0 && count < 1 << 20) {
            to->pairing.list = calloc((size_t)count + 1, sizeof *to->pairing.list);
            to->verdict = calloc((size_t)count + 1, sizeof *to->verdict);
            to->pairing.count = (size_t)count;
            found = to->pairing.list && to->verdict ? 0 : -1;
        }
    }
    sqlite3_finalize(s);
    return found;
}

static int read_comparisons(sqlite3 *db, const char *session, struct sm_stored *to)
{
    sqlite3_stmt *s;
    size_t i = 0;
    if (sqlite3_prepare_v2(
            db, "SELECT ordinal, control, verdict, kernel, reason FROM comparison WHERE session = ? ORDER BY ordinal",
            -1, &s, NULL))
        return -1;
    sqlite3_bind_text(s, 1, session, -1, SQLITE_TRANSIENT);
    while (sqlite3_step(s) == SQLITE_ROW && i < to->pairing.count) {
        const char *verdict = (const char *)sqlite3_column_text(s, 2);
        to->pairing.list[i].ordinal = (size_t)sqlite3_column_int64(s, 0);
        to->pairing.list[i].control = sqlite3_column_int(s, 1);
        snprintf(to->verdict[i], sizeof to->verdict[i], "%s", verdict ? verdict : "");
        snprintf(to->pairing.list[i].id, sizeof to->pairing.list[i].id, "%s", sm_history_text(s, 3));
        snprintf(to->pairing.list[i].reason, sizeof to->pairing.list[i].reason, "%s", sm_history_text(s, 4));
        i++;
    }
    sqlite3_finalize(s);
    return i == to->pairing.count ? 0 : -1;
}

int sm_stored_replay(sqlite3_stmt *s, const char *session, struct sm_comparison *c, const struct sm_stored *to,
                     sm_stored_look *look, void *state)
{
    sqlite3_reset(s);
    sqlite3_bind_text(s, 1, session, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int64(s, 2, (sqlite3_int64)c->ordinal);
    while (sqlite3_step(s) == SQLITE_ROW) {
        const bool anew = sqlite3_column_int(s, 0);
        if (anew && !c->randomised) sm_rounds_randomise(c);
        const double d = sqlite3_column_double(s, 1);
        if (c->launches == SM_LAUNCHES_MOST || !(fabs(d) <= SM_HISTORY_EFFECT_MOST)) return -1;
        c->d[c->launches++] = d;
        if (c->looks == SM_LOOKS || c->launches != sm_look_launches[c->looks]) continue;
        const size_t looks = c->looks;
        sm_rounds_look(c, &to->options, to->compared);
        if (look && c->looks > looks) look(state, c); /* options that make no sense make no look */
    }
    return 0;
}

int sm_stored_read(struct sm_history *h, const char *session, struct sm_stored *to, char *why, size_t why_bytes)
{
    *to = (struct sm_stored){0};
    if (read_options(h->db, session, to)) {
        snprintf(why, why_bytes, "reading the history: it has no finished session %s", session);
        return -1;
    }
    if (!read_comparisons(h->db, session, to)) return 0;
    snprintf(why, why_bytes, "reading the history: the session %s makes no sense", session);
    return -1;
}

const char sm_stored_launches[] = "SELECT anew, d FROM launch WHERE session = ? AND ordinal = ? ORDER BY anew, n";

static long count_differences(sqlite3 *db, const char *session, struct sm_stored *to)
{
    struct sm_rounds_result result = {0};
    sqlite3_stmt *s;
    long differ = 0;
    if (sqlite3_prepare_v2(db, sm_stored_launches, -1, &s, NULL)) return -1;
    for (size_t i = 0; i < to->pairing.count; i++)
        if (sm_stored_replay(s, session, &to->pairing.list[i], to, NULL, NULL)) differ = -1;
    sqlite3_finalize(s);
    if (differ < 0) return -1;
    sm_rounds_decide(&to->pairing, &to->options, &result);
    for (size_t i = 0; i < to->pairing.count; i++) {
        const struct sm_comparison *c = &to->pairing.list[i];
        /* what was never launched, or failed, was not decided by launches */
        if (c->control || (!c->launches && !c->randomised) || !strcmp(to->verdict[i], "failed") ||
            !strcmp(to->verdict[i], "refused"))
            continue;
        differ += strcmp(to->verdict[i], sm_verdict_word(c->verdict)) != 0;
    }
    return differ;
}

long sm_history_check(struct sm_history *h, const char *session, char *why, size_t why_bytes)
{
    struct sm_stored to;
    long differ = -1;
    if (!sm_stored_read(h, session, &to, why, why_bytes)) {
        differ = count_differences(h->db, session, &to);
        if (differ < 0) snprintf(why, why_bytes, "reading the history: the session %s makes no sense", session);
    }
    sm_stored_free(&to);
    return differ;
}
