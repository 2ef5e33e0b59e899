/* slotmark history and trend: what was kept, and where it changed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "change_points.h"
#include "compare.h"
#include "history.h"

static int tell(const char *command, const char *why)
{
    fprintf(stderr, "slotmark %s: %s\n", command, why);
    return SM_EXIT_USAGE;
}

struct action {
    const char *name;
    size_t operands; /* after the action's name */
};
static const struct action actions[] = {{"list", 0},  {"show", 1},  {"check", 1},
                                        {"merge", 1}, {"prune", 0}, {"forget", 1}};

static int act(struct sm_history *h, const char *action, char **operands, double days, char *why, size_t why_bytes)
{
    long n;
    if (!strcmp(action, "list")) return sm_history_list(h, 100, stdout, why, why_bytes) ? -1 : 0;
    if (!strcmp(action, "show")) return sm_history_show(h, operands[0], stdout, why, why_bytes) ? -1 : 0;
    if (!strcmp(action, "merge")) {
        n = sm_history_merge(h, operands[0], why, why_bytes);
        if (n >= 0) printf("%ld sessions taken from %s\n", n, operands[0]);
        return n < 0 ? -1 : 0;
    }
    if (!strcmp(action, "check")) {
        n = sm_history_check(h, operands[0], why, why_bytes);
        if (n >= 0) printf("%ld verdicts differ from what their launches say\n", n);
        return n < 0 ? -1 : n ? 1 : 0;
    }
    if (!strcmp(action, "forget")) return sm_history_forget(h, operands[0], why, why_bytes) < 0 ? -1 : 0;
    n = sm_history_prune(h, days, why, why_bytes);
    if (n >= 0) printf("%ld sessions forgotten\n", n);
    return n < 0 ? -1 : 0;
}

int history_main(int argc, char **argv)
{
    const char *store = "results/history.sqlite";
    double days = -1;
    char why[512];
    struct sm_arguments_rest rest;
    const struct sm_argument options[] = {
        {"store", 0, SM_ARGUMENT_STRING, &store, NULL, "FILE", "the history (default results/history.sqlite)"},
        {"days", 0, SM_ARGUMENT_NUMBER, &days, NULL, "N", "prune: forget what began longer ago"},
        SM_ARGUMENTS_END,
    };
    const struct sm_arguments spec = {
        "history",
        "[OPTION]... list | show SESSION | check SESSION | merge FILE | prune --days N | forget SESSION",
        "What compare, gate and record kept with --store. list: the sessions; show: the verdicts of one; check:\n"
        "works them out again from the stored launches; merge: takes another file's sessions; prune, forget: the\n"
        "old ones, or one.",
        options,
        "slotmark history list --store results/history.sqlite",
        1,
        2,
        false};
    switch (sm_arguments_parse(&spec, argc, argv, &rest, why, sizeof why)) {
    case SM_ARGUMENTS_HELP: sm_arguments_help(&spec, stdout); return 0;
    case SM_ARGUMENTS_BAD: return tell("history", why);
    case SM_ARGUMENTS_OK: break;
    }
    size_t i = 0;
    while (i < sizeof actions / sizeof *actions && strcmp(actions[i].name, rest.operands[0])) i++;
    if (i == sizeof actions / sizeof *actions || rest.operand_count != 1 + actions[i].operands)
        return tell("history", "say list, show SESSION, check SESSION, merge FILE, prune or forget SESSION");
    if (!strcmp(actions[i].name, "prune") && !(days >= 0 && days < 1e6))
        return tell("history", "prune: --days N says how old, 0 to 1000000");
    struct sm_history *h;
    if (strcmp(actions[i].name, "merge") ? sm_history_open_existing(&h, store, why, sizeof why)
                                         : sm_history_open(&h, store, why, sizeof why))
        return tell("history", why);
    const int code = act(h, actions[i].name, rest.operands + 1, days, why, sizeof why);
    sm_history_close(h);
    return code < 0 ? tell("history", why) : code;
}

struct series {
    char kernel[200];
    double effect[SM_SERIES_MOST];
    char (*build)[96];
    size_t n, printed, changes;
    double kappa, least;
    bool only_changes;
};

/* Eight heights between the least and the most of the series' last points. */
static void sparkline(const struct series *s)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const size_t from = s->n > 40 ? s->n - 40 : 0;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = from; i < s->n; i++) {
        low = fmin(low, s->effect[i]);
        high = fmax(high, s->effect[i]);
    }
    for (size_t i = from; i < s->n; i++)
        fputs(bars[high > low ? (int)(7.99 * (s->effect[i] - low) / (high - low)) : 0], stdout);
}

static void print_series(struct series *s)
{
    enum { CUTS_MOST = 64 };
    size_t cuts[CUTS_MOST + 1], count = s->n ? sm_change_points(s->effect, s->n, s->kappa, cuts, CUTS_MOST) : 0;
    if (!s->n) return;
    if (count > CUTS_MOST) count = CUTS_MOST;
    size_t begin = 0, shown = 0;
    cuts[count] = s->n;
    for (size_t k = 0; k < count; k++) { /* count first: a series without a change may be left out */
        shown += fabs(sm_level(s->effect, cuts[k], cuts[k + 1]) - sm_level(s->effect, begin, cuts[k])) >= s->least;
        begin = cuts[k];
    }
    s->changes += shown;
    if (s->only_changes && !shown) return;
    printf("%s  %zu points  ", s->kernel, s->n);
    sparkline(s);
    printf("  now %+.2f %%\n", 100 * expm1(sm_level(s->effect, count ? cuts[count - 1] : 0, s->n)));
    begin = 0;
    for (size_t k = 0; k < count; begin = cuts[k++]) {
        const double step = sm_level(s->effect, cuts[k], cuts[k + 1]) - sm_level(s->effect, begin, cuts[k]);
        if (fabs(step) < s->least) continue;
        printf("    candidate: %+.2f %% from %s to %s\n"
               "    confirm:   slotmark compare %s %s --bench '%.*s'\n",
               100 * expm1(step), s->build[cuts[k] - 1], s->build[cuts[k]], s->build[cuts[k] - 1], s->build[cuts[k]],
               (int)(strrchr(s->kernel, '/') ? strrchr(s->kernel, '/') - s->kernel : (long)strlen(s->kernel)),
               s->kernel);
    }
    s->printed++;
}

static bool next_point(void *state, const char *kernel, const struct sm_history_point *point)
{
    struct series *s = state;
    if (strcmp(s->kernel, kernel)) {
        print_series(s);
        s->n = 0;
        snprintf(s->kernel, sizeof s->kernel, "%s", kernel);
    }
    if (s->n == SM_SERIES_MOST) return true;
    s->effect[s->n] = isfinite(point->effect) ? point->effect : 0;
    memcpy(s->build[s->n++], point->build, sizeof point->build);
    return true;
}

int trend_main(int argc, char **argv)
{
    const char *store = "results/history.sqlite", *glob = NULL;
    double least = 0.25;
    bool only_changes = false;
    char why[512];
    struct sm_arguments_rest rest;
    const struct sm_argument options[] = {
        {"store", 0, SM_ARGUMENT_STRING, &store, NULL, "FILE", "the history (default results/history.sqlite)"},
        {"bench", 0, SM_ARGUMENT_STRING, &glob, NULL, "GLOB", "kernels, family/variant/shape (default: all)"},
        {"least", 0, SM_ARGUMENT_NUMBER, &least, NULL, "%", "smaller steps are not shown (default 0.25)"},
        {"changes", 0, SM_ARGUMENT_FLAG, &only_changes, NULL, NULL, "only series with a change"},
        SM_ARGUMENTS_END,
    };
    const struct sm_arguments spec = {
        "trend",
        "[OPTION]... ANCHOR",
        "The series that record made against an anchor (as record printed it, a short commit): every kernel's\n"
        "change since then, and candidates for where it changed, each with the comparison that confirms it.",
        options,
        "slotmark trend 3d1e07a --store results/history.sqlite --changes",
        1,
        1,
        false};
    switch (sm_arguments_parse(&spec, argc, argv, &rest, why, sizeof why)) {
    case SM_ARGUMENTS_HELP: sm_arguments_help(&spec, stdout); return 0;
    case SM_ARGUMENTS_BAD: return tell("trend", why);
    case SM_ARGUMENTS_OK: break;
    }
    if (!(least >= 0 && least < 100)) return tell("trend", "--least must be 0 to 100");
    struct sm_history *h;
    struct series *s = calloc(1, sizeof *s);
    if (s) s->build = calloc(SM_SERIES_MOST, sizeof *s->build);
    if (!s || !s->build) return tell("trend", "out of memory");
    s->kappa = 1;
    s->least = log1p(least / 100);
    s->only_changes = only_changes;
    int code = 0;
    if (sm_history_open_existing(&h, store, why, sizeof why)) {
        code = tell("trend", why);
    } else {
        code = sm_history_series(h, rest.operands[0], glob, next_point, s, why, sizeof why) ? tell("trend", why) : 0;
        sm_history_close(h);
        print_series(s);
        if (!code && !s->printed && !s->changes && !s->n) printf("nothing was recorded against %s\n", rest.operands[0]);
    }
    free(s->build);
    free(s);
    return code;
}
