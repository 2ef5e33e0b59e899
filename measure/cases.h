/* cases.h - the one list of cases behind every command: enumerate, plan, run, append.
 *
 *     struct sm_case_options options = SM_CASE_OPTIONS;           (arguments.h fills it: SM_CASE_ARGUMENTS)
 *     struct sm_cases *cases = sm_cases_create();
 *     sm_cases_add(cases, id, family, seconds, payload);          (once for each case)
 *     int code = sm_cases_run(cases, &options, run_one, context, why, sizeof why);
 *     sm_cases_destroy(cases);
 *
 * The records of a case are written in one piece when its function returns, so a killed run loses at most
 * the case in flight. SIGINT and SIGTERM let the case in flight finish (it may ask
 * sm_cases_interrupted and drop itself); a second one ends the process. */
#ifndef SM_CASES_H
#define SM_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "record.h"

struct sm_case {
    const char *id;    /* unique: the key of its records, or what they begin with before a '/' */
    const char *group; /* what a budget is shared out over: the family */
    double seconds;    /* estimate */
    void *payload;     /* the caller's */
};

struct sm_case_options {
    /* A file *.jsonl, appended to, or a folder for <command>.jsonl, which must not be there yet; NULL: a new folder
     * results/<time>-<command>, with -2 and so on behind it where a run of the same second has that. With resume: its
     * file, which out may name too, and nothing else. */
    const char *out;
    bool dry_run;       /* list the cases and stop */
    double budget;      /* seconds; 0: no limit */
    const char *resume; /* result file whose finished cases are left out; NULL: none */
    int order;          /* enum sm_case_order */
    int64_t seed;       /* of the random order; 0: drawn from the clock, and recorded */
    const char *command;
    FILE *listing;  /* where --dry-run goes */
    FILE *progress; /* progress and notices; NULL: silent */
    bool quiet;     /* progress is not wanted: what prints some asks sm_cases_progress */
};
enum sm_case_order { SM_CASE_ORDER_RANDOM, SM_CASE_ORDER_STATED };
extern const char *const sm_case_orders[];

#define SM_CASE_OPTIONS                                                                                                \
    {                                                                                                                  \
        NULL, false, 0, NULL, SM_CASE_ORDER_RANDOM, 0, NULL, stdout, stderr, false                                     \
    }

/* The rows of a table of options (arguments.h) that every command with cases shares. */
#define SM_CASE_ARGUMENTS(o)                                                                                            \
    {"out",                                                                                                             \
     0,                                                                                                                 \
     SM_ARGUMENT_STRING,                                                                                                \
     &(o)->out,                                                                                                         \
     NULL,                                                                                                              \
     "DIR",                                                                                                             \
     "folder of the result file, or FILE.jsonl (default: in results/)"},                                                \
        {"dry-run", 0, SM_ARGUMENT_FLAG, &(o)->dry_run, NULL, NULL, "list the cases and the time they need, run none"}, \
        {"budget",                                                                                                      \
         0,                                                                                                             \
         SM_ARGUMENT_DURATION,                                                                                          \
         &(o)->budget,                                                                                                  \
         NULL,                                                                                                          \
         "TIME",                                                                                                        \
         "run what fits in 90s, 3m; spread over families"},                                                             \
        {"resume",                                                                                                      \
         0,                                                                                                             \
         SM_ARGUMENT_STRING,                                                                                            \
         &(o)->resume,                                                                                                  \
         NULL,                                                                                                          \
         "FILE",                                                                                                        \
         "go on in FILE: what it has finished is left out"},                                                            \
        {"order", 0, SM_ARGUMENT_CHOICE, &(o)->order, sm_case_orders, "HOW", "random (default) or stated"},             \
        {"quiet", 0, SM_ARGUMENT_FLAG, &(o)->quiet, NULL, NULL, "no progress"},                                         \
    {                                                                                                                   \
        "seed", 0, SM_ARGUMENT_INTEGER, &(o)->seed, NULL, "N", "of the random order (default: drawn, and recorded)"     \
    }

/* Where progress and notices go; NULL: nowhere. */
FILE *sm_cases_progress(const struct sm_case_options *options);

struct sm_cases;

struct sm_cases *sm_cases_create(void);
void sm_cases_destroy(struct sm_cases *cases);

/* Copies id and group. -1: no memory, or an id that is there already. */
int sm_cases_add(struct sm_cases *cases, const char *id, const char *group, double seconds, void *payload);
size_t sm_cases_count(const struct sm_cases *cases);
const struct sm_case *sm_cases_at(const struct sm_cases *cases, size_t i);

/* What is left to run after --resume, which leaves out what is done and what crashed, and --budget; in the order to run
 * it. */
struct sm_case_plan {
    const struct sm_case **cases;
    size_t count;
    double seconds;         /* estimate of all */
    size_t finished;        /* left out: the resumed file has them */
    size_t dropped;         /* left out: over the budget */
    double dropped_seconds; /* what they would have taken */
    size_t torn;            /* lines of the resumed file cut short */
    int64_t seed;
};
int sm_cases_plan(const struct sm_cases *cases, const struct sm_case_options *options, struct sm_case_plan *plan,
                  char *why, size_t why_bytes);
void sm_case_plan_free(struct sm_case_plan *plan);

enum sm_case_outcome {
    SM_CASE_DONE,    /* its records are written */
    SM_CASE_WRONG,   /* written too; the run goes on, and ends in exit code 1 */
    SM_CASE_DROPPED, /* nothing is written: interrupted */
    SM_CASE_BROKEN,  /* the run cannot go on: why says so; exit code 2 */
};
struct sm_case_results;
typedef enum sm_case_outcome sm_case_fn(void *context, const struct sm_case *c, struct sm_case_results *results,
                                        char *why, size_t why_bytes);

/* Hands a record over; it is written when the case is done, and destroyed. */
void sm_case_result(struct sm_case_results *results, struct sm_record *record);

/* Plans and runs. Returns the exit code: 0, 1 (a wrong answer), 2 (why), 130 (interrupted). */
int sm_cases_run(const struct sm_cases *cases, const struct sm_case_options *options, sm_case_fn *run, void *context,
                 char *why, size_t why_bytes);

/* The result file of the run under way, or NULL. */
const char *sm_cases_out(const struct sm_case_results *results);

/* Where a run's records go, made for it unless it was there: what sm_cases_run does first, for those who need the path
 * before it, and then run with the path for out. */
#define SM_CASES_PATH_BYTES 4096
enum sm_case_place { SM_CASE_PLACE_GIVEN, SM_CASE_PLACE_FILE, SM_CASE_PLACE_FOLDER }; /* what was made */
int sm_cases_open(const struct sm_case_options *options, char *path, size_t bytes, enum sm_case_place *place, char *why,
                  size_t why_bytes);
/* Removes what was made, if nothing has been written into it. */
void sm_cases_take_back(const char *path, enum sm_case_place place);

/* True after SIGINT or SIGTERM during sm_cases_run. */
bool sm_cases_interrupted(void);

#endif
