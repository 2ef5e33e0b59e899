/* trend.h - series of a history against an anchor, where they changed, and what a comparison said of that.
 *
 * A series holds one kernel at one shape and number of threads on one kind of machine, under its newest name: points
 * that were recorded under a name it had before (alias.h) belong to it. Points that were recorded against another
 * anchor belong to it as well where a recorded comparison links the two anchors: the logarithms are chained and the
 * widths added as variances.
 *
 * `slotmark trend -o json`, schema "slotmark-trend", version 1; what is not known is null:
 *
 *     {"schema":"slotmark-trend", "version":1, "anchor":"3d1e07a", "least_percent":0.25,
 *      "series":[{"kernel":"rmsnorm/avx2/rows=1,cols=2048,residual=0", "threads":1, "machine":"AMD EPYC",
 *                 "now_percent":2.1,                       the last level, against the anchor; above 0 is slower
 *                 "points":[{"build":"8be1f03", "started":"2026-01-31T12:00:00Z", "session":"0123456789ab",
 *                            "change_percent":..., "low_percent":..., "high_percent":..., "launches":8}],
 *                 "levels":[{"first":0, "last":19, "level_percent":0.02}],   indices of points, from 0
 *                 "changes":[{"first":20,                  the first point of the new level
 *                             "step_percent":2.1,
 *                             "before":"1c5d2aa", "after":"8be1f03",   what is compared: builds on either side of it
 *                             "state":"candidate"|"confirmed"|"rejected"|"undecided",
 *                             "confirmation":null | {"session":..., "verdict":"slower", "change_percent":...,
 *                                                    "low_percent":..., "high_percent":...}}]}],
 *      "imported":[{"name":"BM_dot/4096", "unit":"ns",     measured by others, alone and not in pairs: no verdicts
 *                   "points":[{"build":..., "started":..., "import":"0f3a...", "value":..., "spread":...,
 * "samples":3}]}]}
 *
 * Points stand in the order of their recording. Every change of the levels is in "changes", also those below "least".
 */
#ifndef SM_TREND_H
#define SM_TREND_H

#include "history.h"

/* Where a small step is nominated may be off by one or two points, and a comparison across the wrong pair finds
 * nothing: it is made from a little before to a little after. bisect then says which commit it was. */
#define SM_TREND_MARGIN 3

enum sm_trend_state {
    SM_TREND_CANDIDATE, /* nominated by the history, not compared */
    SM_TREND_CONFIRMED, /* a comparison of builds before and after it proves a change of that sign */
    SM_TREND_REJECTED,  /* it proves none, or one of the other sign */
    SM_TREND_UNDECIDED, /* it could not tell */
    SM_TREND_STATES
};
const char *sm_trend_word(enum sm_trend_state state);

struct sm_trend_change {
    size_t first;         /* index of the first point of the new level */
    size_t before, after; /* points whose builds are compared: SM_TREND_MARGIN on either side, within the two levels */
    double step;          /* ln */
    enum sm_trend_state state;
    struct sm_history_proof proof; /* when it was compared */
};

struct sm_trend_series {
    char kernel[200];
    char machine[80];
    int threads;
    struct sm_history_point *points;
    size_t count;
    struct sm_trend_change *changes;
    size_t change_count;
    bool cut; /* more points than SM_SERIES_MOST: the oldest are left out */
};

struct sm_trend {
    char anchor[96];
    double least; /* ln: changes below are not shown as text, and not confirmed */
    struct sm_trend_series *series;
    size_t count;
    struct sm_history_point *points; /* all of them, in the order of the series */
};

/* The steps that a series of ln values shows by itself, first, before, after and step; no more than `most`. (size_t)-1:
 * no memory, or more than SM_SERIES_MOST values. */
size_t sm_trend_nominate(const double *z, size_t n, struct sm_trend_change *changes, size_t most);

/* The series of kernels that match the glob (NULL: all). 0, or -1 and a sentence. Free it either way. */
int sm_trend_read(struct sm_trend *trend, struct sm_history *history, const char *anchor, const char *glob,
                  double least, char *why, size_t why_bytes);
void sm_trend_free(struct sm_trend *trend);

/* The median of level 0 to change_count, in ln. */
double sm_trend_level(const struct sm_trend_series *series, size_t level);

/* The state that a verdict's word gives a step. */
enum sm_trend_state sm_trend_judge(double step, const char *verdict);

/* Compares the builds before and after every candidate of at least `least`, as layouts drawn anew, and keeps it in the
 * history as a session "confirm"; the states follow. What cannot be compared (it does not build, it is a WORKTREE of
 * the past) is complained of and stays a candidate. 0, or SM_EXIT_INTERRUPTED. */
struct sm_trend_confirm {
    double floor;
    uint64_t seed;
    FILE *words, *complaints; /* progress; sentences; or NULL */
};
int sm_trend_confirm(struct sm_trend *trend, struct sm_history *history, const struct sm_trend_confirm *how, char *why,
                     size_t why_bytes);

/* Series as text and what was imported as text; `only_changes` leaves out series without a
 * change of at least `least`. As JSON both are in one object. 0, or -1 and a sentence. */
void sm_trend_text(const struct sm_trend *trend, bool only_changes, FILE *out);
int sm_trend_imported(struct sm_history *history, const char *glob, FILE *out, char *why, size_t why_bytes);
int sm_trend_json(const struct sm_trend *trend, struct sm_history *history, const char *glob, FILE *out, char *why,
                  size_t why_bytes);

#endif
