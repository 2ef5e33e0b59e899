/* SQL statements of others, run in a database of their own in memory, where they may make tables and fill them with
 * constants: no query, no function, no other file. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "import_rows.h"

static int allow(void *state, int action, const char *a, const char *b, const char *schema, const char *trigger)
{
    const int *reading = state; /* our own queries come after theirs */
    (void)a;
    (void)b;
    (void)schema;
    if (trigger) return SQLITE_DENY;
    switch (action) {
    case SQLITE_CREATE_TABLE:
    case SQLITE_CREATE_INDEX: /* of a PRIMARY KEY */
    case SQLITE_INSERT:
    case SQLITE_UPDATE: /* of the schema, by CREATE TABLE */
    case SQLITE_READ:
    case SQLITE_TRANSACTION: return SQLITE_OK;
    case SQLITE_SELECT: return *reading ? SQLITE_OK : SQLITE_DENY;
    default: return SQLITE_DENY;
    }
}

static int refuse(struct sm_import_rows *r, sqlite3 *db, const char *doing)
{
    snprintf(r->why, r->why_bytes, "%s: %s", doing, sqlite3_errmsg(db));
    return -1;
}

/* A row as the object that the same test is in JSON. */
static int add_row(struct sm_import_rows *r, sqlite3_stmt *s, size_t number)
{
    char where[32];
    json_t *o = json_object();
    for (int i = 0; i < sqlite3_column_count(s); i++) {
        const char *text = (const char *)sqlite3_column_text(s, i);
        json_object_set_new(o, sqlite3_column_name(s, i), text ? json_string(text) : json_null());
    }
    snprintf(where, sizeof where, "row %zu", number);
    const int bad = sm_import_object(r, o, where);
    json_decref(o);
    return bad;
}

static int read_table(struct sm_import_rows *r, sqlite3 *db, const char *name)
{
    sqlite3_stmt *s;
    int bad = 0, code;
    char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", name);
    const int failed = !sql || sqlite3_prepare_v2(db, sql, -1, &s, NULL);
    sqlite3_free(sql);
    if (failed) return refuse(r, db, "reading its table");
    for (size_t n = 1; !bad && (code = sqlite3_step(s)) == SQLITE_ROW; n++) bad = add_row(r, s, n);
    sqlite3_finalize(s);
    return bad ? bad : code == SQLITE_DONE ? 0 : refuse(r, db, "reading its table");
}

static int read_tables(struct sm_import_rows *r, sqlite3 *db)
{
    sqlite3_stmt *s;
    int bad = 0;
    size_t tables = 0;
    if (sqlite3_prepare_v2(db, "SELECT name FROM sqlite_schema WHERE type = 'table'", -1, &s, NULL))
        return refuse(r, db, "reading its tables");
    while (!bad && sqlite3_step(s) == SQLITE_ROW) {
        bad = read_table(r, db, (const char *)sqlite3_column_text(s, 0));
        tables++;
    }
    sqlite3_finalize(s);
    if (tables) return bad;
    snprintf(r->why, r->why_bytes, "it is no JSON, and makes no table as SQL");
    return -1;
}

int sm_import_sql(struct sm_import_rows *r, const char *text)
{
    sqlite3 *db = NULL;
    int reading = 0, bad = sqlite3_open(":memory:", &db);
    if (bad) {
        refuse(r, db, "making a place for it");
    } else {
        sqlite3_set_authorizer(db, allow, &reading);
        bad = sqlite3_exec(db, text, NULL, NULL, NULL);
        if (bad) refuse(r, db, "it is no JSON, and as SQL");
    }
    reading = 1;
    if (!bad) bad = read_tables(r, db);
    sqlite3_close(db);
    return bad ? -1 : 0;
}
