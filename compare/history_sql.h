/* history_sql.h - the handle of a history, and what its files share. Private to history*.c. */
#ifndef SM_HISTORY_SQL_H
#define SM_HISTORY_SQL_H

#include <sqlite3.h>
#include <stddef.h>

#include "history.h"

#define SM_HISTORY_VERSION 2
#define SM_HISTORY_EFFECT_MOST 50 /* ln: what is larger was not measured, and overflows in sums */

/* A launch that another process's lock kept out of the file; it is tried again with every later one. */
struct sm_history_waiting {
    char id[sizeof((struct sm_comparison *)0)->id], family[64], variant[2][64];
    long long ordinal, n;
    bool control, anew;
    double d, ns[2];
};

struct sm_history {
    sqlite3 *db;
    char session[13];
    int patience_ms;
    struct sm_history_waiting *waiting;
    size_t waiting_count, waiting_room;
    size_t lost; /* launches of the session that there was no memory to keep waiting */
};

/* Runs statements without values. 0, or -1 and a sentence that begins with `doing`. */
int sm_history_run(struct sm_history *history, const char *sql, const char *doing, char *why, size_t why_bytes);

/* Runs one statement with values, by the letters of `kinds`: t text (NULL: null), i integer (long long), d double (not
 * finite: null). 0 or -1. */
int sm_history_put(struct sm_history *history, const char *sql, const char *kinds, ...);

/* Why SQLite failed, as a sentence that begins with `doing`. Returns -1. */
int sm_history_refuse(struct sm_history *history, const char *doing, char *why, size_t why_bytes);

/* Columns of a row: "" for null, NAN for null. */
const char *sm_history_text(sqlite3_stmt *row, int column);
double sm_history_real(sqlite3_stmt *row, int column);

/* The version of the schema of an attached database ("main", "other"): 0: it is empty; -1: it is none of ours, or
 * cannot be read. */
int sm_history_version(sqlite3 *db, const char *schema);

#endif
