/* Names in a history: kernels that were renamed, and revisions that series are recorded against. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "history.h"
#include "history_sql.h"

/* "family/variant", each of letters, digits and "_". */
static bool is_kernel(const char *name)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const size_t family = strspn(name, word);
    const size_t variant = name[family] == '/' ? strspn(name + family + 1, word) : 0;
    return family && variant && !name[family + 1 + variant] && strlen(name) < SM_ALIAS_NAME;
}

int sm_history_alias(struct sm_history *h, const char *old, const char *now, char *why, size_t why_bytes)
{
    struct sm_aliases aliases;
    if (!is_kernel(old) || !is_kernel(now)) {
        snprintf(why, why_bytes, "'%.60s' is no kernel: say FAMILY/VARIANT", is_kernel(old) ? now : old);
        return -1;
    }
    if (strncmp(old, now, strcspn(old, "/") + 1)) {
        snprintf(why, why_bytes, "%s and %s are not of one family: variants are followed, families are not", old, now);
        return -1;
    }
    if (sm_history_aliases(h, &aliases, why, why_bytes)) return -1;
    const bool circle = !strcmp(sm_alias_now(&aliases, now), old) || !strcmp(old, now);
    sm_aliases_free(&aliases);
    if (circle) {
        snprintf(why, why_bytes, "%s would become a name of itself", old);
        return -1;
    }
    return sm_history_put(h, "INSERT OR REPLACE INTO alias(old, new, since) VALUES (?, ?, ?)", "tti", old, now,
                          (long long)time(NULL))
               ? sm_history_refuse(h, "writing the history", why, why_bytes)
               : 0;
}

int sm_history_aliases(struct sm_history *h, struct sm_aliases *aliases, char *why, size_t why_bytes)
{
    sqlite3_stmt *s;
    int code = SQLITE_DONE;
    *aliases = (struct sm_aliases){0};
    if (sqlite3_prepare_v2(h->db, "SELECT old, new FROM alias ORDER BY old LIMIT 10000", -1, &s, NULL))
        return sm_history_refuse(h, "reading the history", why, why_bytes);
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        struct sm_alias *list = realloc(aliases->list, (aliases->count + 1) * sizeof *list);
        if (!list) break;
        aliases->list = list;
        struct sm_alias *a = &list[aliases->count++];
        snprintf(a->old, sizeof a->old, "%s", sm_history_text(s, 0));
        snprintf(a->now, sizeof a->now, "%s", sm_history_text(s, 1));
    }
    sqlite3_finalize(s);
    if (code == SQLITE_DONE) return 0;
    sm_aliases_free(aliases);
    return sm_history_refuse(code == SQLITE_ROW ? NULL : h, "reading the history", why, why_bytes);
}

int sm_history_set_anchor(struct sm_history *h, const char *glob, const char *spec, char *why, size_t why_bytes)
{
    return sm_history_put(h, "INSERT OR REPLACE INTO anchor(glob, spec, since) VALUES (?, ?, ?)", "tti",
                          glob ? glob : "*", spec, (long long)time(NULL))
               ? sm_history_refuse(h, "writing the history", why, why_bytes)
               : 0;
}

int sm_history_anchor(struct sm_history *h, const char *glob, char *spec, size_t bytes, char *why, size_t why_bytes)
{
    sqlite3_stmt *s;
    if (sqlite3_prepare_v2(h->db, "SELECT spec FROM anchor WHERE glob = ?1 OR glob = '*' ORDER BY glob = '*' LIMIT 1",
                           -1, &s, NULL))
        return sm_history_refuse(h, "reading the history", why, why_bytes);
    sqlite3_bind_text(s, 1, glob ? glob : "*", -1, SQLITE_TRANSIENT);
    const int code = sqlite3_step(s);
    if (code == SQLITE_ROW) snprintf(spec, bytes, "%s", sm_history_text(s, 0));
    if (code == SQLITE_DONE)
        snprintf(why, why_bytes, "no anchor is set: slotmark history anchor REVISION sets one for all kernels");
    if (code != SQLITE_DONE && code != SQLITE_ROW) sm_history_refuse(h, "reading the history", why, why_bytes);
    sqlite3_finalize(s);
    return code == SQLITE_ROW ? 0 : -1;
}

int sm_history_names(struct sm_history *h, const char *what, FILE *out, char *why, size_t why_bytes)
{
    sqlite3_stmt *s;
    int code;
    const bool anchors = !strcmp(what, "anchor");
    if (sqlite3_prepare_v2(h->db,
                           anchors ? "SELECT glob, spec, since FROM anchor ORDER BY glob"
                                   : "SELECT old, new, since FROM alias ORDER BY old",
                           -1, &s, NULL))
        return sm_history_refuse(h, "reading the history", why, why_bytes);
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        char when[32];
        fprintf(out, "%-40s %s %-40s since %s\n", sm_history_text(s, 0), anchors ? "against" : "is now",
                sm_history_text(s, 1), sm_history_time(sqlite3_column_int64(s, 2), "%Y-%m-%d", when, sizeof when));
    }
    sqlite3_finalize(s);
    return code == SQLITE_DONE ? 0 : sm_history_refuse(h, "reading the history", why, why_bytes);
}
