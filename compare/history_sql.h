/* history_sql.h - the schema of a history, and its handle. Private to history*.c. */
#ifndef SM_HISTORY_SQL_H
#define SM_HISTORY_SQL_H

#include <sqlite3.h>
#include <stddef.h>

#include "history.h"

#define SM_HISTORY_APPLICATION 0x736c6f74 /* "slot" */
#define SM_HISTORY_VERSION 1

/* Makes a new file what this version expects. */
static const char sm_history_schema[] =
    "BEGIN;"
    "CREATE TABLE session(id TEXT PRIMARY KEY, started INTEGER NOT NULL, ended INTEGER, purpose TEXT NOT NULL,"
    "  a_spec TEXT NOT NULL, a_identity TEXT NOT NULL, a_built TEXT, b_spec TEXT NOT NULL, b_identity TEXT NOT NULL,"
    "  b_built TEXT, seed INTEGER NOT NULL, tolerance REAL NOT NULL, floor REAL NOT NULL, alpha REAL NOT NULL,"
    "  discovery REAL NOT NULL, spending INTEGER NOT NULL, machine TEXT, compared INTEGER, floor_used REAL,"
    "  control_worst REAL, verdict TEXT);"
    "CREATE TABLE comparison(session TEXT NOT NULL REFERENCES session(id), ordinal INTEGER NOT NULL,"
    "  kernel TEXT NOT NULL, family TEXT NOT NULL, a_variant TEXT NOT NULL, b_variant TEXT NOT NULL,"
    "  control INTEGER NOT NULL, verdict TEXT, reason TEXT, effect REAL, low REAL, high REAL, level REAL, p REAL,"
    "  PRIMARY KEY(session, ordinal)) WITHOUT ROWID;"
    "CREATE TABLE launch(session TEXT NOT NULL, ordinal INTEGER NOT NULL, anew INTEGER NOT NULL, n INTEGER NOT NULL,"
    "  d REAL NOT NULL, a_ns REAL NOT NULL, b_ns REAL NOT NULL, PRIMARY KEY(session, ordinal, anew, n)) WITHOUT ROWID;"
    "CREATE INDEX comparison_kernel ON comparison(kernel);"
    "CREATE INDEX session_started ON session(started);"
    "PRAGMA application_id = 1936486260; PRAGMA user_version = 1; COMMIT;";

sqlite3 *sm_history_db(struct sm_history *history);
int sm_history_run(struct sm_history *history, const char *sql, const char *doing, char *why, size_t why_bytes);

#endif
