/* A session as it happens: its beginning, every launch, its verdicts. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "history.h"
#include "history_sql.h"
#include "machine.h"

#define HURRY_MS 50 /* while others hold the lock for long: a measurement does not wait ten seconds a launch */

const char *sm_history_session(const struct sm_history *h)
{
    return h->session;
}

int sm_history_begin(struct sm_history *h, const char *purpose, const struct sm_arm arm[2],
                     const struct sm_rounds_options *o, char *why, size_t why_bytes)
{
    unsigned char drawn[6];
    if (getrandom(drawn, sizeof drawn, 0) != sizeof drawn) memset(drawn, 0, sizeof drawn);
    for (size_t i = 0; i < sizeof drawn; i++) snprintf(h->session + 2 * i, 3, "%02x", drawn[i]);
    h->waiting_count = h->lost = 0;
    json_t *machine = sm_machine_json();
    char *facts = machine ? json_dumps(machine, JSON_COMPACT) : NULL;
    const int bad =
        sm_history_put(h,
                       "INSERT INTO session(id, started, purpose, a_spec, a_identity, a_built, b_spec, b_identity, "
                       "b_built, seed, tolerance, floor, alpha, discovery, spending, machine) VALUES "
                       "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                       "tittttttt"
                       "idddditi",
                       h->session, (long long)time(NULL), purpose, arm[0].spec, arm[0].identity, arm[0].built,
                       arm[1].spec, arm[1].identity, arm[1].built, (long long)o->seed, o->tolerance, o->floor, o->alpha,
                       o->discovery, (long long)o->spending, facts, (long long)o->threads);
    free(facts);
    json_decref(machine);
    return bad ? sm_history_refuse(h, "writing the history", why, why_bytes) : 0;
}

static bool wait_for_turn(struct sm_history *h, const struct sm_comparison *c)
{
    if (h->waiting_count == h->waiting_room) {
        const size_t room = h->waiting_room ? 2 * h->waiting_room : 16;
        struct sm_history_waiting *waiting = realloc(h->waiting, room * sizeof *waiting);
        if (!waiting) return false;
        h->waiting = waiting;
        h->waiting_room = room;
    }
    struct sm_history_waiting *w = &h->waiting[h->waiting_count++];
    const size_t n = c->launches - 1;
    *w = (struct sm_history_waiting){.ordinal = (long long)c->ordinal,
                                     .n = (long long)n,
                                     .control = c->control,
                                     .anew = c->randomised,
                                     .d = c->d[n],
                                     .ns = {c->ns[0][n], c->ns[1][n]}};
    memcpy(w->id, c->id, sizeof w->id);
    memcpy(w->family, c->family, sizeof w->family);
    memcpy(w->variant, c->variant, sizeof w->variant);
    return true;
}

/* The comparison if it is new, and the launch. */
static int put_launch(struct sm_history *h, const struct sm_history_waiting *w)
{
    return sm_history_put(
               h,
               "INSERT OR IGNORE INTO comparison(session, ordinal, kernel, family, a_variant, b_variant, control) "
               "VALUES (?, ?, ?, ?, ?, ?, ?)",
               "titttti", h->session, w->ordinal, w->id, w->family, w->variant[0], w->variant[1],
               (long long)w->control) ||
           sm_history_put(h,
                          "INSERT INTO launch(session, ordinal, anew, n, d, a_ns, b_ns) VALUES (?, ?, ?, ?, ?, ?, ?)",
                          "tiiiddd", h->session, w->ordinal, (long long)w->anew, w->n, w->d, w->ns[0], w->ns[1]);
}

/* All that wait, within a transaction. */
static int put_waiting(struct sm_history *h)
{
    int bad = 0;
    for (size_t i = 0; !bad && i < h->waiting_count; i++) bad = put_launch(h, &h->waiting[i]);
    return bad;
}

bool sm_history_launch(struct sm_history *h, const struct sm_comparison *c)
{
    if (!wait_for_turn(h, c)) {
        h->lost++;
        return false;
    }
    if (!sqlite3_exec(h->db, "BEGIN IMMEDIATE", NULL, NULL, NULL)) {
        const int bad = put_waiting(h);
        if (!sqlite3_exec(h->db, bad ? "ROLLBACK" : "COMMIT", NULL, NULL, NULL) && !bad) {
            h->waiting_count = 0;
            sqlite3_busy_timeout(h->db, h->patience_ms);
            return true;
        }
        sqlite3_exec(h->db, "ROLLBACK", NULL, NULL, NULL); /* of a COMMIT that failed */
    }
    sqlite3_busy_timeout(h->db, h->patience_ms < HURRY_MS ? h->patience_ms : HURRY_MS);
    return false;
}

static int put_verdict(struct sm_history *h, const struct sm_comparison *c)
{
    const bool looked = c->looks > 0;
    return sm_history_put(h,
                          "INSERT INTO comparison(session, ordinal, kernel, family, a_variant, b_variant, control) "
                          "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                          "titttti", h->session, (long long)c->ordinal, c->id, c->family, c->variant[0], c->variant[1],
                          (long long)c->control) ||
           sm_history_put(
               h,
               "UPDATE comparison SET verdict = ?, reason = ?, effect = ?, low = ?, high = ?, level = ?, p = ? WHERE "
               "session = ? AND ordinal = ?",
               "ttdddddti", sm_verdict_word(c->verdict), c->reason[0] ? c->reason : NULL,
               looked ? c->estimate.effect : NAN, looked ? c->estimate.low : NAN, looked ? c->estimate.high : NAN,
               looked ? c->estimate.level : NAN, looked ? c->p_overall : NAN, h->session, (long long)c->ordinal);
}

static int put_end(struct sm_history *h, const struct sm_report *r)
{
    char end[200];
    sm_report_end(r, end, sizeof end);
    return sm_history_put(
        h, "UPDATE session SET ended = ?, floor_used = ?, control_worst = ?, verdict = ?, compared = ? WHERE id = ?",
        "iddtit", (long long)time(NULL), r->result->floor, r->result->control_worst, end,
        (long long)r->result->compared, h->session);
}

int sm_history_end(struct sm_history *h, const struct sm_report *r, char *why, size_t why_bytes)
{
    sqlite3_busy_timeout(h->db, h->patience_ms);
    int bad = sqlite3_exec(h->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (!bad) bad = put_waiting(h);
    for (size_t i = 0; !bad && i < r->pairing->count; i++) bad = put_verdict(h, &r->pairing->list[i]);
    /* with launches missing its verdicts do not follow from what is stored: it stays unfinished */
    if (!bad && !h->lost) bad = put_end(h, r);
    if (!bad) bad = sqlite3_exec(h->db, "COMMIT", NULL, NULL, NULL);
    if (bad) {
        snprintf(why, why_bytes, "writing the history: %s: %zu launches and the verdicts of session %s are not in it",
                 sqlite3_errmsg(h->db), h->waiting_count + h->lost, h->session);
        sqlite3_exec(h->db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    h->waiting_count = 0;
    if (h->lost)
        snprintf(why, why_bytes, "writing the history: out of memory: %zu launches of session %s are not in it",
                 h->lost, h->session);
    return h->lost ? -1 : 0;
}
