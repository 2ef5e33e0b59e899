/* history.h - comparisons kept in one SQLite file: every launch as it happens, every verdict, every build.
 *
 * Several processes may use a file at once (WAL); a killed one loses the launch in flight. The file carries a schema
 * version: older ones are migrated when opened, newer ones are refused. A verdict can always be worked out again from
 * its launches. */
#ifndef SM_HISTORY_H
#define SM_HISTORY_H

#include "report.h"

struct sm_history;

/* Creates it when it is not there. 0, or -1 and a sentence: not a history, newer than this program, damaged. */
int sm_history_open(struct sm_history **history, const char *path, char *why, size_t why_bytes);
void sm_history_close(struct sm_history *history);

/* A session of one base and one other. `purpose`: "compare", "gate", "record", "bisect". 0 or -1 and a sentence. */
int sm_history_begin(struct sm_history *history, const char *purpose, const struct sm_arm arm[2],
                     const struct sm_rounds_options *options, char *why, size_t why_bytes);

/* The launch that was just added to `c` (its last one). False when it could not be written; the session goes on. */
bool sm_history_launch(struct sm_history *history, const struct sm_comparison *c);

/* The verdicts of all. 0 or -1 and a sentence. */
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

/* Takes the sessions of another file that this one lacks. Returns how many, or -1 and a sentence. */
long sm_history_merge(struct sm_history *history, const char *path, char *why, size_t why_bytes);

/* Forgets sessions that began more than `days` ago. Returns how many, or -1 and a sentence. */
long sm_history_prune(struct sm_history *history, double days, char *why, size_t why_bytes);

/* Works every stored verdict of a session out again from its launches. Returns how many differ, or -1. */
long sm_history_check(struct sm_history *history, const char *session, char *why, size_t why_bytes);

#endif
