/* history.h - comparisons kept in one SQLite file: every launch as it happens, every verdict, every build.
 *
 * Several processes may use a file at once (WAL); a killed one loses the launch in flight, and those that waited for
 * another's lock. The file carries a schema version: older ones are migrated when opened, in one transaction, newer
 * ones are refused. A verdict can always be worked out again from its launches. */
#ifndef SM_HISTORY_H
#define SM_HISTORY_H

#include "alias.h"
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

/* Launches that a gate of the same two, on the same kind of machine and less than a day old, has left here are taken
 * over into the open comparisons and into the session under way, as if they had been made in it: what they decide is
 * decided, and the rest goes on from there. Returns how many, and whose they were. */
long sm_history_pool(struct sm_history *history, const struct sm_arm arm[2], const struct sm_rounds_options *options,
                     struct sm_pairing *pairing, char session[13]);

/* The verdicts of all, and the launches that wait. 0, or -1 and a sentence that counts what is not in the file. */
int sm_history_end(struct sm_history *history, const struct sm_report *report, char *why, size_t why_bytes);

/* The name of the session under way or just ended: 12 hex digits. */
const char *sm_history_session(const struct sm_history *history);

/* A recorded comparison of a kernel: a build against an anchor. */
struct sm_history_point {
    char kernel[200]; /* family/variant/shape, as it was called then */
    char anchor[96], build[96];
    char session[13];
    char machine[80]; /* its CPU: a ratio of one machine says little of another */
    int threads;
    long long started;
    double effect, low, high; /* ln(build / anchor); of identical code 0, 0, 0 */
    size_t launches;
};

/* All of them ("record" only), in the order of recording. `next` returns false to stop. 0, or -1 and a sentence. */
typedef bool sm_history_next(void *state, const struct sm_history_point *point);
int sm_history_points(struct sm_history *history, sm_history_next *next, void *state, char *why, size_t why_bytes);

/* The identity of what series are recorded against, from a revision as it was given to record ("v1.0") or the identity
 * itself. 0; 1: nothing was recorded against it; -1 and a sentence. */
int sm_history_anchor_identity(struct sm_history *history, const char *spec, char *identity, size_t bytes, char *why,
                               size_t why_bytes);

/* The newest comparison that was made on such a machine to confirm a step ("confirm"). 1, 0 when there is none, or -1
 * and a sentence. */
struct sm_history_proof {
    char session[13], verdict[24];
    double effect, low, high;
};
int sm_history_proof(struct sm_history *history, const char *kernel, const char *machine, const char *before,
                     const char *after, struct sm_history_proof *proof, char *why, size_t why_bytes);

/* Takes the figures of a file (import.h), all or none of them, and says its format; `build` says which code was
 * measured where the file does not (NULL: as it says). How many; 0: this very file was taken before; -1 and a sentence.
 */
long sm_history_import(struct sm_history *history, const char *path, const char *build, char *format,
                       size_t format_bytes, char *why, size_t why_bytes);

/* What others measured and `history import` took: a value of its own, not a pair. By name and unit, in the order of
 * their time. 0, or -1 and a sentence. */
struct sm_history_figure {
    char name[200], unit[24], build[96], import[13];
    long long started; /* 0: not known */
    double value, spread;
    size_t samples;
};
typedef bool sm_history_next_figure(void *state, const struct sm_history_figure *figure);
int sm_history_figures(struct sm_history *history, sm_history_next_figure *next, void *state, char *why,
                       size_t why_bytes);
bool sm_history_has_figures(struct sm_history *history);

/* A kernel "family/variant" that is called otherwise since. The family must be the same. 0, or -1 and a sentence. */
int sm_history_alias(struct sm_history *history, const char *old, const char *now, char *why, size_t why_bytes);
/* All of them; free them after 0. */
int sm_history_aliases(struct sm_history *history, struct sm_aliases *aliases, char *why, size_t why_bytes);

/* What `record anchor` compares with, of the kernels that a --bench asks for in these words (NULL: of all). The second
 * gives that of all kernels when these words have none. 0, or -1 and a sentence. */
int sm_history_set_anchor(struct sm_history *history, const char *glob, const char *spec, char *why, size_t why_bytes);
int sm_history_anchor(struct sm_history *history, const char *glob, char *spec, size_t bytes, char *why,
                      size_t why_bytes);

/* Prints the "alias"es or the "anchor"s. 0, or -1 and a sentence. */
int sm_history_names(struct sm_history *history, const char *what, FILE *out, char *why, size_t why_bytes);

/* Seconds since 1970 as UTC, by strftime's form; "?" for what is no time. Returns `text`. */
const char *sm_history_time(long long seconds, const char *form, char *text, size_t bytes);

/* Prints the sessions, newest first, or one of them with its verdicts. 0; -1 and a sentence: there is none. */
int sm_history_list(struct sm_history *history, size_t most, FILE *out, char *why, size_t why_bytes);
int sm_history_show(struct sm_history *history, const char *session, FILE *out, char *why, size_t why_bytes);

/* Says in sentences why the kernels of a finished session that match the glob (family/variant or with the shape; NULL:
 * all) have their verdicts: looks, floor, controls, placement, and where the launches lie. 0, or -1 and a sentence. */
int sm_history_explain(struct sm_history *history, const char *session, const char *glob, FILE *out, char *why,
                       size_t why_bytes);

/* Writes all comparisons and figures of others as rows, or all launches; form: an index of these words. 0, or -1 and a
 * sentence. */
extern const char *const sm_history_forms[];
int sm_history_export(struct sm_history *history, int form, bool launches, FILE *out, char *why, size_t why_bytes);

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
