/* slotmark trend: where a history changed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "compare.h"
#include "trend.h"

struct wish {
    const char *store, *glob, *anchor;
    double least;
    int64_t seed;
    bool only_changes, confirm, quiet, json;
};

static int tell(const char *why)
{
    fprintf(stderr, "slotmark trend: %s\n", why);
    return SM_EXIT_USAGE;
}

static int show(const struct wish *w, struct sm_history *h, struct sm_trend *t)
{
    char why[512];
    int code = 0;
    if (w->confirm) {
        const struct sm_trend_confirm how = {
            .floor = 0.0025, .seed = (uint64_t)w->seed, .words = w->quiet ? NULL : stderr, .complaints = stderr};
        code = sm_trend_confirm(t, h, &how, why, sizeof why);
    }
    if (w->json) return sm_trend_json(t, h, w->glob, stdout, why, sizeof why) ? tell(why) : code;
    sm_trend_text(t, w->only_changes, stdout);
    if (w->only_changes) return code; /* figures of others are not judged */
    return sm_trend_imported(h, w->glob, stdout, why, sizeof why) ? tell(why) : code;
}

/* Against the anchor that was named, else the one that is set; without either there may be figures of others. */
static int trend(const struct wish *w)
{
    struct sm_history *h;
    struct sm_trend t = {.least = log1p(w->least / 100)};
    char why[512], spec[96];
    if (sm_history_open_existing(&h, w->store, why, sizeof why)) return tell(why);
    int code = 0;
    const char *anchor = w->anchor;
    if (!anchor && !sm_history_anchor(h, w->glob, spec, sizeof spec, why, sizeof why)) anchor = spec;
    if (anchor && sm_trend_read(&t, h, anchor, w->glob, log1p(w->least / 100), why, sizeof why)) code = tell(why);
    if (!anchor && !sm_history_has_figures(h)) code = tell(why);
    if (!code) code = show(w, h, &t);
    if (!code && anchor && !t.count && !w->json)
        fprintf(stderr,
                "slotmark trend: no comparison against %s has come to an interval yet: record again with a longer "
                "--budget, or while the machine is idle\n",
                anchor);
    sm_trend_free(&t);
    sm_history_close(h);
    return code;
}

int trend_main(int argc, char **argv)
{
    static const char *const forms[] = {"text", "json", NULL};
    struct wish w = {.store = "results/history.sqlite", .least = 0.25, .seed = 1};
    int form = 0;
    char why[512];
    struct sm_arguments_rest rest;
    const struct sm_argument options[] = {
        {"store", 0, SM_ARGUMENT_STRING, &w.store, NULL, "FILE", "the history (default results/history.sqlite)"},
        {"bench", 0, SM_ARGUMENT_STRING, &w.glob, NULL, "GLOB", "kernels, family/variant/shape (default: all)"},
        {"least", 0, SM_ARGUMENT_NUMBER, &w.least, NULL, "%", "smaller steps are not shown (default 0.25)"},
        {"changes", 0, SM_ARGUMENT_FLAG, &w.only_changes, NULL, NULL, "only series with a change"},
        {"confirm", 0, SM_ARGUMENT_FLAG, &w.confirm, NULL, NULL, "compare the builds before and after each candidate"},
        {"seed", 0, SM_ARGUMENT_INTEGER, &w.seed, NULL, "N", "of these comparisons (default 1)"},
        {"quiet", 0, SM_ARGUMENT_FLAG, &w.quiet, NULL, NULL, "no progress of these comparisons"},
        {"output", 'o', SM_ARGUMENT_CHOICE, &form, forms, "FORM", "text (default), json"},
        SM_ARGUMENTS_END,
    };
    const struct sm_arguments spec = {
        "trend",
        "[OPTION]... [ANCHOR]",
        "The series that record made against an anchor (default: the one that `history anchor` set): each kernel's\n"
        "change since then, and candidates for where it changed. --confirm compares the two builds of each\n"
        "candidate and keeps what it finds; imported figures of others stand below and are not judged.",
        options,
        "slotmark trend 3d1e07a --store results/history.sqlite --changes",
        0,
        1,
        false};
    switch (sm_arguments_parse(&spec, argc, argv, &rest, why, sizeof why)) {
    case SM_ARGUMENTS_HELP: sm_arguments_help(&spec, stdout); return 0;
    case SM_ARGUMENTS_BAD: return tell(why);
    case SM_ARGUMENTS_OK: break;
    }
    if (!(w.least >= 0 && w.least < 100)) return tell("--least must be 0 to 100");
    if (rest.operand_count) w.anchor = rest.operands[0];
    w.json = form == 1;
    return trend(&w);
}
