/* What others measured, kept beside what was measured here. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "history.h"
#include "history_sql.h"
#include "import.h"

/* Figures of one build: an import of its own, since it has its own place in a series. */
static int put_build(struct sm_history *h, const struct sm_import *import, const struct sm_import_figure *f, size_t n,
                     const char *id, const char *path, const char *build)
{
    long long started = 0;
    for (size_t i = 0; i < n; i++)
        if (f[i].started && (!started || f[i].started < started)) started = f[i].started;
    const char *named = build ? build : f->build;
    int bad = sm_history_put(
        h,
        "INSERT INTO import(id, taken, started, path, format, build, machine) VALUES (?, ?, NULLIF(?, 0), ?, ?, ?, ?)",
        "tiitttt", id, (long long)time(NULL), started, path, import->format, *named ? named : NULL, import->machine);
    for (size_t i = 0; !bad && i < n; i++)
        bad = sm_history_put(
            h, "INSERT INTO figure(import, ordinal, name, unit, value, spread, samples) VALUES (?, ?, ?, ?, ?, ?, ?)",
            "tittddi", id, (long long)i, f[i].name, f[i].unit, f[i].value, f[i].spread, (long long)f[i].samples);
    return bad;
}

static bool has_import(struct sm_history *h, const char *id)
{
    sqlite3_stmt *s;
    bool has = false;
    if (sqlite3_prepare_v2(h->db, "SELECT 1 FROM import WHERE id = ?", -1, &s, NULL)) return false;
    sqlite3_bind_text(s, 1, id, -1, SQLITE_TRANSIENT);
    has = sqlite3_step(s) == SQLITE_ROW;
    sqlite3_finalize(s);
    return has;
}

/* The first build has the file's id, the others the same with their number in its last digits. */
static void name_import(const struct sm_import *import, size_t number, char *id, size_t bytes)
{
    if (number)
        snprintf(id, bytes, "%.8s%04zx", import->id, number & 0xffff);
    else
        snprintf(id, bytes, "%s", import->id);
}

static long put_all(struct sm_history *h, const struct sm_import *import, const char *path, const char *build)
{
    size_t number = 0;
    for (size_t begin = 0, end; begin < import->count; begin = end) {
        const struct sm_import_figure *f = import->figures;
        char id[13];
        for (end = begin + 1; end < import->count && (build || !strcmp(f[begin].build, f[end].build));) end++;
        name_import(import, number++, id, sizeof id);
        if (put_build(h, import, &f[begin], end - begin, id, path, build)) return -1;
    }
    return (long)import->count;
}

long sm_history_import(struct sm_history *h, const char *path, const char *build, char *format, size_t format_bytes,
                       char *why, size_t why_bytes)
{
    struct sm_import import;
    long taken = -1;
    if (sm_import_read(&import, path, why, why_bytes)) {
        sm_import_free(&import);
        return -1;
    }
    snprintf(format, format_bytes, "%s", import.format);
    if (sqlite3_exec(h->db, "BEGIN IMMEDIATE", NULL, NULL, NULL)) {
        sm_history_refuse(h, "importing", why, why_bytes);
    } else {
        taken = has_import(h, import.id) ? 0 : put_all(h, &import, path, build);
        if (taken < 0) sm_history_refuse(h, "importing", why, why_bytes);
        if (taken >= 0 && sqlite3_exec(h->db, "COMMIT", NULL, NULL, NULL)) {
            sm_history_refuse(h, "importing", why, why_bytes);
            taken = -1;
        }
        if (taken < 0) sqlite3_exec(h->db, "ROLLBACK", NULL, NULL, NULL);
    }
    sm_import_free(&import);
    return taken;
}
