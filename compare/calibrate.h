/* calibrate.h - how good this machine's verdicts are: comparisons of known truth, and the goals that they are held to.
 *
 * Trials are of three kinds: a build against a copy of itself; against itself with its code placed elsewhere; and
 * against itself with a share of its work really executed once more. The goals are comparison: 4.2. */
#ifndef SM_CALIBRATE_H
#define SM_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cases.h"
#include "replay.h"
#include "rounds.h"

/* What binds a kernel. */
enum sm_class { SM_IN_CACHES, SM_TWO_THREADS, SM_STREAMED, SM_CLASSES };
extern const char *const sm_class_names[SM_CLASSES];

enum { SM_PLANTED = 5 };
extern const double sm_planted[SM_PLANTED]; /* shares of the work: 0, 0.005, ... */

/* One comparison and how it ended. */
struct sm_trial {
    enum sm_class class;
    size_t planted; /* index of sm_planted */
    bool placed;    /* the two have their code in different places */
    struct sm_comparison comparison;
    double seconds; /* NAN: nothing was run */
};

/* Trials of one kind, and how they ended. */
struct sm_cell {
    size_t count, faster, slower; /* called so, within the tolerance or beyond */
    size_t same_quickly;          /* proved the same within 12 launches */
    size_t excludes_zero, holds;  /* reported intervals: without 0; with the truth */
    size_t plain, plain_holds;    /* intervals (95 %) of the first 8 launches, whatever came after */
    size_t flagged;               /* called faster or slower as built, before the code was placed anew */
};

struct sm_calibration {
    struct sm_cell cell[SM_CLASSES][SM_PLANTED], placed;
    size_t failed;
    double *seconds; /* of each verdict */
    size_t verdicts, room;
    double seconds_same; /* sum over builds against themselves that are in caches or of two threads */
    size_t count_same;
    struct sm_replay_history history;
    struct sm_replay_bisect bisect;
    size_t suites, suite_alarms;  /* runs of 200 kernels where nothing changed, and their false alarms */
    double load_least, load_most; /* of the machine */
    size_t elsewhere;             /* records of other machines, left out */
    const char *source;           /* of the launches: a sentence for the foot of the table */
};

/* -1: no memory. */
int sm_calibration_add(struct sm_calibration *c, const struct sm_trial *trial);

/* The options that every trial is judged with: those that compare has for everybody. */
struct sm_rounds_options sm_calibrate_options(void);

/* The exact upper limit (95 %) of a share of which `hits` of `count` were seen (Clopper and Pearson 1934). */
double sm_upper_limit(size_t hits, size_t count);

/* Markdown. Returns how many goals were missed; a goal without a trial is neither met nor missed. */
size_t sm_calibration_print(const struct sm_calibration *c, FILE *out);
/* 0, or -1: it could not be written. */
int sm_calibration_json(const struct sm_calibration *c, FILE *out);

/* Measured trials as cases: `run` and its context are what sm_cases_run wants. */
struct sm_subjects;
struct sm_subjects *sm_subjects_create(size_t trials, uint64_t seed, struct sm_cases *cases, char *why,
                                       size_t why_bytes);
void sm_subjects_destroy(struct sm_subjects *subjects);
sm_case_fn sm_subjects_run;
const char *sm_subjects_out(const struct sm_subjects *subjects); /* the result file, once a trial ran; else "" */

/* Hands over the trials of a result file, their verdicts worked out again from their launches. `next` returns 0 to go
 * on, -1: out of memory. Those of another machine, and failed ones, are only counted in `to`; where `to` is NULL,
 * trials of any machine are handed over. 0, or -1 and a sentence. */
typedef int sm_trial_next(void *state, const struct sm_trial *trial);
int sm_trials_read(const char *path, sm_trial_next *next, void *state, struct sm_calibration *to, char *why,
                   size_t why_bytes);

/* Launches that nobody runs: those of the builds against themselves in a result file, in their order and with the
 * planted effect added; without a file (NULL), drawn ones with heavy tails. On them go whole suites, a thousand
 * commits, and with `trials` everything else that is not a time. 0, or -1 and a sentence. */
int sm_calibrate_replay(const char *path, uint64_t seed, bool trials, struct sm_calibration *to, char *why,
                        size_t why_bytes);

int calibrate_main(int argc, char **argv);

#endif
