/* history.h - comparisons kept in one SQLite file: every launch as it happens, every verdict, every build.
 *
 * Several processes may use a file at once (WAL); a killed one loses the launch in flight, and those that waited for
 * another's lock. The file carries a schema version: older ones are migrated when opened, in one transaction, newer
 * ones are refused. A verdict can always be worked out again from its launches. */
#ifndef SM_HISTORY_H
#define SM_HISTORY_H

#include "report.h"

struct sm_history;

/* Creates it when it is not there; the second refuses then. 0, or -1 and a sentence: not a history, newer than this
 * program, damaged, locked. */
int sm_history_open(struct sm_history **history, const char *path, char *why, size_t why_bytes);
int sm_history_open_existing(struct sm_history **history, const char *path, char *why, size_t why_bytes);

/* How long a write waits for other processes; 10000 ms unless told. */
void sm_history_patience(struct sm_history *history, int ms);
void sm_history_close(struct sm_history *history);

/* A session of one base and one other. `purpose`: "compare", "gate", "record", "bisect". 0 or -1 and a sentence. */
int sm_history_begin(struct sm_history *history, const char *purpose, const struct sm_arm arm[2],
                     const struct sm_rounds_options *options, char *why, size_t why_bytes);

/* The launch that was just added to `c` (its last one). False when it could not be written: the session goes on, and
 * the launch waits in memory and is tried again with each later one and at the end. */
bool sm_history_launch(struct sm_history *history, const struct sm_comparison *c);

/* The verdicts of all, and the launches that wait. 0, or -1 and a sentence that counts what is not in the file. */
int sm_history_end(struct sm_history *history, const struct sm_report *report, char *why, size_t why_bytes);

/* The name of the session under way or just ended: 12 hex digits. */
const char *sm_history_session(const struct sm_history *history);

/* One point of a series: a kernel of a build against the anchor. */
struct sm_history_point {
    char build[96]; /* identity of the other arm */
    long long started;
    double effect, low, high; /* ln(B / A) */
    size_t launches;
};

/* The kernels that were recorded against an anchor, and their points in the order of recording. `next` gets each; it
 * returns false to stop. */
typedef bool sm_history_next(void *state, const char *kernel, const struct sm_history_point *point);
int sm_history_series(struct sm_history *history, const char *anchor, const char *glob, sm_history_next *next,
                      void *state, char *why, size_t why_bytes);

/* Prints the sessions, newest first, or one of them with its verdicts. 0; -1 and a sentence: there is none. */
int sm_history_list(struct sm_history *history, size_t most, FILE *out, char *why, size_t why_bytes);
int sm_history_show(struct sm_history *history, const char *session, FILE *out, char *why, size_t why_bytes);

/* Takes from another file the sessions and imports that this one lacks or has unfinished, and its aliases and anchors;
 * the other file stays as it is. Returns how many came, or -1 and a sentence. */
long sm_history_merge(struct sm_history *history, const char *path, char *why, size_t why_bytes);

/* Forgets sessions that began more than `days` ago; imports stay. Returns how many, or -1 and a sentence. */
long sm_history_prune(struct sm_history *history, double days, char *why, size_t why_bytes);

/* Forgets one session or import. Above 0, or -1 and a sentence: there is none. */
long sm_history_forget(struct sm_history *history, const char *id, char *why, size_t why_bytes);

/* Works every stored verdict of a session out again from its launches. Returns how many differ, or -1. */
long sm_history_check(struct sm_history *history, const char *session, char *why, size_t why_bytes);

#endif
