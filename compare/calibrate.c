/* slotmark calibrate: trials of known truth, and this machine's column beside the goals. */
#include "calibrate.h"

#include <math.h>
#include <stdlib.h>

#include "arguments.h"

struct wish {
    struct sm_case_options cases;
    int64_t trials;
    int form;
    bool brief;
    const char *replay;
};

/* Of trials and replays; that of the order is drawn unless it is given. */
static uint64_t seed_of(const struct wish *w)
{
    return w->cases.seed ? (uint64_t)w->cases.seed : 1;
}

/* 1: a goal was missed. */
static int print(const struct sm_calibration *c, const struct wish *w)
{
    if (w->form == 1) return sm_calibration_json(c, stdout) ? 2 : 0;
    return sm_calibration_print(c, stdout) ? 1 : 0;
}

static int tell(const char *why)
{
    fprintf(stderr, "slotmark calibrate: %s\n", why);
    return 2;
}

static int run_short(const struct wish *w)
{
    struct sm_calibration c = {.load_least = INFINITY, .load_most = -INFINITY};
    char why[512], source[600];
    snprintf(source, sizeof source, "Launches replayed: %s%s; nothing was run.",
             w->replay ? "drawn from " : "synthetic, with heavy tails", w->replay ? w->replay : "");
    c.source = source;
    const int bad = sm_calibrate_replay(w->replay, seed_of(w), true, &c, why, sizeof why);
    const int code = bad ? tell(why) : print(&c, w);
    free(c.seconds);
    return code;
}

static int add_trial(void *state, const struct sm_trial *t)
{
    return sm_calibration_add(state, t);
}

/* The table of all that the result file holds, of earlier runs too. */
static int print_file(const char *path, const struct wish *w)
{
    struct sm_calibration c = {.load_least = INFINITY, .load_most = -INFINITY};
    char why[512], source[600];
    snprintf(source, sizeof source, "Measured: %s; runs and commits replay its launches.", path);
    c.source = source;
    const int bad = sm_trials_read(path, add_trial, &c, &c, why, sizeof why) ||
                    sm_calibrate_replay(path, seed_of(w), false, &c, why, sizeof why);
    const int code = bad ? tell(why) : print(&c, w);
    free(c.seconds);
    return code;
}

/* The trials that are left, then the table of all that there are. */
static int run_long(struct wish *w)
{
    struct sm_cases *cases = sm_cases_create();
    char why[512] = "listing the trials: out of memory";
    struct sm_subjects *s = cases ? sm_subjects_create((size_t)w->trials, seed_of(w), cases, why, sizeof why) : NULL;
    w->cases.command = "calibrate";
    int code = s ? sm_cases_run(cases, &w->cases, sm_subjects_run, s, why, sizeof why) : 2;
    if (code == 2) code = tell(why);
    const char *file = s ? sm_subjects_out(s) : "";
    if (!*file && w->cases.resume) file = w->cases.resume;
    if (code != 2 && !w->cases.dry_run && *file) {
        const int table = print_file(file, w);
        if (table == 2 || !code) code = table;
    }
    sm_subjects_destroy(s);
    sm_cases_destroy(cases);
    return code;
}

static const char *refusal(const struct wish *w)
{
    if (w->trials < 1 || w->trials > 100000) return "--trials must be 1 to 100000";
    if (w->replay && !w->brief) return "--replay goes with --short";
    if (w->brief && (w->cases.resume || w->cases.out)) return "--short runs nothing: it has no result file";
    return NULL;
}

int calibrate_main(int argc, char **argv)
{
    static const char *const forms[] = {"md", "json", NULL};
    struct wish w = {.cases = SM_CASE_OPTIONS, .trials = 100};
    char why[512];
    w.cases.budget = 1800;
    const struct sm_argument options[] = {
        {"short", 0, SM_ARGUMENT_FLAG, &w.brief, NULL, NULL, "run nothing: judge synthetic launches, in seconds"},
        {"replay", 0, SM_ARGUMENT_STRING, &w.replay, NULL, "FILE", "with --short: launches of a calibration's file"},
        {"trials", 0, SM_ARGUMENT_INTEGER, &w.trials, NULL, "N", "of each kernel against itself (default 100)"},
        {"output", 'o', SM_ARGUMENT_CHOICE, &w.form, forms, "FORM", "md (default), json"},
        SM_CASE_ARGUMENTS(&w.cases),
        SM_ARGUMENTS_END,
    };
    const struct sm_arguments spec = {
        .command = "calibrate",
        .usage = "[OPTION]...",
        .summary =
            "Measures how good this machine's verdicts are: this build against itself must not be called faster or\n"
            "slower, nor with its code placed elsewhere, and planted work (really executed) must be found. Prints the\n"
            "goals and what was met; exit code 1 when one is missed. About half an hour (--budget), in pieces by\n"
            "--resume.",
        .options = options,
        .example = "slotmark calibrate --budget 5m\n"
                   "  slotmark calibrate --budget 5m --resume results/20260131T120000Z-calibrate/calibrate.jsonl",
    };
    switch (sm_arguments_parse(&spec, argc, argv, NULL, why, sizeof why)) {
    case SM_ARGUMENTS_HELP: sm_arguments_help(&spec, stdout); return 0;
    case SM_ARGUMENTS_BAD: return tell(why);
    case SM_ARGUMENTS_OK: break;
    }
    const char *wrong = refusal(&w);
    if (wrong) return tell(wrong);
    return w.brief ? run_short(&w) : run_long(&w);
}
